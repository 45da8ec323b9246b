package clock_test

import (
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// What happens every second for a day is said a few dozen times, each time with how often it happened meanwhile.
func TestSpaced(t *testing.T) {
	var s clock.Spaced
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if s.Over() {
		t.Error("over before it began")
	}
	said, counted := []int{}, 0
	for i := range 24 * 3600 {
		if unsaid, say := s.Say(now.Add(time.Duration(i) * time.Second)); say {
			said = append(said, i)
			counted += unsaid + 1
		}
	}
	if len(said) < 30 || len(said) > 36 || said[0] != 0 || said[1] != 5 || said[2] != 15 || said[3] != 35 {
		t.Errorf("said %d times, at %v", len(said), said)
	}
	if last := said[len(said)-1]; counted != last+1 || said[len(said)-1]-said[len(said)-2] != 3600 {
		t.Errorf("counted %d up to second %d", counted, last)
	}
	if !s.Over() || s.Over() {
		t.Error("over is told once")
	}
	if unsaid, say := s.Say(now); !say || unsaid != 0 {
		t.Error("it begins anew")
	}
	// So it does after an hour in which nothing happened.
	for _, after := range []time.Duration{time.Second, 2 * time.Hour, 2*time.Hour + 5*time.Second} {
		if _, say := s.Say(now.Add(after)); say != (after > time.Hour) {
			t.Errorf("after %v: %v", after, say)
		}
	}
}
