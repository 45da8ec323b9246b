package clock

import (
	"sync"
	"time"
)

// Fake is a Clock that a test moves by hand. It is safe for concurrent use.
type Fake struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*fakeTimer]struct{}
}

// NewFake returns a clock that stands at t.
func NewFake(t time.Time) *Fake {
	return &Fake{now: t, timers: make(map[*fakeTimer]struct{})}
}

// Now returns the instant at which the clock stands.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the clock forward by d and fires what fell due, earliest
// first. A negative d moves nothing.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d > 0 {
		f.moveTo(f.now.Add(d))
	}
}

// Set moves the clock forward to t; an earlier t moves nothing.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.After(f.now) {
		f.moveTo(t)
	}
}

// Armed returns how many timers wait for the clock to move. A test uses it to
// see that a goroutine has got as far as its timer.
func (f *Fake) Armed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.timers)
}

func (f *Fake) moveTo(t time.Time) {
	for {
		var next *fakeTimer
		for timer := range f.timers {
			if timer.at.After(t) {
				continue
			}
			if next == nil || timer.at.Before(next.at) {
				next = timer
			}
		}
		if next == nil {
			break
		}
		// A timer armed late may be due before now; time still never runs back.
		if next.at.After(f.now) {
			f.now = next.at
		}
		next.fire()
	}
	f.now = t
}

// NewTimer returns a timer that fires when the clock has moved by d.
func (f *Fake) NewTimer(d time.Duration) Timer {
	t := &fakeTimer{clock: f, c: make(chan time.Time, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	t.arm(d)
	return t
}

// fakeTimer's fields are protected by the clock's mutex.
type fakeTimer struct {
	clock *Fake
	c     chan time.Time
	at    time.Time
}

func (t *fakeTimer) arm(d time.Duration) {
	t.at = t.clock.now.Add(d)
	t.clock.timers[t] = struct{}{}
	if d <= 0 {
		t.fire()
	}
}

func (t *fakeTimer) fire() {
	delete(t.clock.timers, t)
	select {
	case t.c <- t.clock.now:
	default:
	}
}

func (t *fakeTimer) disarm() bool {
	_, armed := t.clock.timers[t]
	delete(t.clock.timers, t)
	select {
	case <-t.c:
	default:
	}
	return armed
}

func (t *fakeTimer) C() <-chan time.Time { return t.c }

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.disarm()
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	armed := t.disarm()
	t.arm(d)
	return armed
}
