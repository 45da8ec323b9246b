// Package clock is the only place in core that asks the machine for the time.
//
// Everything that waits or stamps takes a Clock, so that a test can drive it
// with a Fake and never sleeps.
//
// Invariants:
//
//	CLK-1  A Fake's time moves only by Advance and Set, and never backwards.
//	CLK-2  A timer fires at most once per arming, and never before its time.
//	CLK-3  When Advance returns, every timer that fell due has its tick in its
//	       channel, earliest first.
package clock
