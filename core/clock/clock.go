package clock

import "time"

// Clock tells the time and makes timers. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now returns the current instant.
	Now() time.Time
	// NewTimer returns a timer that fires once, d from now. A d of zero or less
	// fires at once.
	NewTimer(d time.Duration) Timer
}

// Timer is one alarm of a Clock.
type Timer interface {
	// C delivers the instant at which the timer fired. It holds one tick.
	C() <-chan time.Time
	// Stop disarms the timer and reports whether it was armed. No tick is left
	// in C afterwards.
	Stop() bool
	// Reset arms the timer anew, d from now, and reports whether it was armed.
	// A tick of the earlier arming is dropped.
	Reset(d time.Duration) bool
}

// System returns the machine's clock.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

// systemTimer relies on Go 1.23 timers: Stop and Reset leave no stale tick.
type systemTimer struct{ t *time.Timer }

func (t systemTimer) C() <-chan time.Time        { return t.t.C }
func (t systemTimer) Stop() bool                 { return t.t.Stop() }
func (t systemTimer) Reset(d time.Duration) bool { return t.t.Reset(d) }
