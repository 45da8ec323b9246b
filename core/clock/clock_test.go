package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ticked(t clock.Timer) (time.Time, bool) {
	select {
	case at := <-t.C():
		return at, true
	default:
		return time.Time{}, false
	}
}

func TestFakeMovesOnlyByHandAndNeverBack(t *testing.T) {
	f := clock.NewFake(epoch)
	if !f.Now().Equal(epoch) {
		t.Fatalf("starts at %v", f.Now())
	}
	f.Advance(time.Second)
	f.Advance(-time.Hour)
	f.Set(epoch)
	if want := epoch.Add(time.Second); !f.Now().Equal(want) {
		t.Fatalf("CLK-1: now %v, want %v", f.Now(), want)
	}
	f.Set(epoch.Add(time.Minute))
	if want := epoch.Add(time.Minute); !f.Now().Equal(want) {
		t.Fatalf("Set: now %v, want %v", f.Now(), want)
	}
}

func TestFakeTimersFireInOrderAndOnce(t *testing.T) {
	f := clock.NewFake(epoch)
	late, early := f.NewTimer(2*time.Second), f.NewTimer(time.Second)
	if f.Armed() != 2 {
		t.Fatalf("armed %d", f.Armed())
	}
	f.Advance(time.Second - 1)
	if _, ok := ticked(early); ok {
		t.Fatal("CLK-2: fired before its time")
	}
	f.Advance(time.Hour)
	first, ok1 := ticked(early)
	second, ok2 := ticked(late)
	if !ok1 || !ok2 || !first.Equal(epoch.Add(time.Second)) || !second.Equal(epoch.Add(2*time.Second)) {
		t.Fatalf("CLK-3: ticks %v %v, %v %v", first, ok1, second, ok2)
	}
	f.Advance(time.Hour)
	if _, ok := ticked(early); ok {
		t.Fatal("CLK-2: fired twice")
	}
}

func TestFakeTimerStopAndReset(t *testing.T) {
	f := clock.NewFake(epoch)
	timer := f.NewTimer(time.Second)
	f.Advance(time.Second)
	if timer.Stop() {
		t.Fatal("Stop says a fired timer was armed")
	}
	if _, ok := ticked(timer); ok {
		t.Fatal("Stop left a tick behind")
	}
	if timer.Reset(time.Second) {
		t.Fatal("Reset says a stopped timer was armed")
	}
	if !timer.Reset(3 * time.Second) {
		t.Fatal("Reset says an armed timer was not")
	}
	f.Advance(2 * time.Second)
	if _, ok := ticked(timer); ok {
		t.Fatal("fired at the time of the earlier arming")
	}
	f.Advance(time.Second)
	if _, ok := ticked(timer); !ok {
		t.Fatal("did not fire after Reset")
	}
	now := f.NewTimer(0)
	if _, ok := ticked(now); !ok {
		t.Fatal("a timer of zero did not fire at once")
	}
}

func TestSystemTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.System()
		start := c.Now()
		timer := c.NewTimer(time.Minute)
		if at := <-timer.C(); at.Sub(start) != time.Minute {
			t.Fatalf("fired after %v", at.Sub(start))
		}
		if timer.Reset(time.Minute) || !timer.Stop() {
			t.Fatal("Reset or Stop reports the wrong state")
		}
	})
}
