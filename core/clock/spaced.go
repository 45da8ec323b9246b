package clock

import "time"

// Bounds of Spaced.
const (
	spacedFirst = 5 * time.Second
	spacedMost  = time.Hour
)

// Spaced decides when something that goes on happening is said again: at once,
// then after five seconds, ten, twenty, and at last once an hour. What has not
// happened for an hour begins anew. The zero value has said nothing. It is used
// by one goroutine at a time.
type Spaced struct {
	last, next time.Time
	wait       time.Duration
	unsaid     int
}

// Say reports whether it is to be said that it happened at an instant, and how
// often it happened unsaid since it was said last.
func (s *Spaced) Say(now time.Time) (unsaid int, say bool) {
	if now.Sub(s.last) > spacedMost {
		s.wait = 0
	}
	s.last = now
	if s.wait > 0 && now.Before(s.next) {
		s.unsaid++
		return 0, false
	}
	unsaid = s.unsaid
	s.wait = min(max(spacedFirst, 2*s.wait), spacedMost)
	s.next, s.unsaid = now.Add(s.wait), 0
	return unsaid, true
}

// Over notes that it no longer happens: the next time is the first again. It
// reports whether it was said.
func (s *Spaced) Over() bool {
	said := s.wait > 0
	*s = Spaced{}
	return said
}
