// Package timer keeps alarms that survive a restart.
//
// An alarm is armed by the Update that needs it, and goes off in an Update of
// its own: its row is deleted and its handler's writes are made together, so
// what it does happens once, whatever crashes in between.
//
// Invariants:
//
//	TMR-1  An armed timer has one row under its name and one among the due times;
//	       a name has at most one timer.
//	TMR-2  A timer goes off at most once per arming, never before its due time,
//	       and not after it was cancelled or set anew. What its handler wrote is
//	       there exactly when the timer is gone.
//	TMR-3  A timer that is due goes off, after a restart too, as soon as its
//	       handler succeeds. One whose handler fails is tried again, ever more
//	       seldom, and holds up no other.
//	TMR-4  Timers of a root that are due go off in the order of their due times.
package timer
