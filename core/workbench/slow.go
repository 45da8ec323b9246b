package workbench

import (
	"context"
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// slowLane queues writers of one path whose work is too long for an update and
// is void when somebody else publishes meanwhile. It is a courtesy and protects
// nothing: whether the work still holds is decided in the update.
type slowLane struct {
	mu    sync.Mutex
	lanes map[laneKey]*lane
}

type laneKey struct {
	root uint32
	id   string
	full string
}

// lane has a turn that one holds; waiting counts those who hold or want it.
type lane struct {
	turn    chan struct{}
	waiting int
}

// busy reports whether somebody has or wants the turn of a path. Who comes then
// queues up at once: tries outside of the queue could use up those of whoever
// has the turn.
func (s *slowLane) busy(t *tenant, p jail.Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[laneKey{t.root.ID(), p.ID, p.Full}] != nil
}

// enter waits for the turn of a path; the caller ends it with leave.
func (s *slowLane) enter(ctx context.Context, t *tenant, p jail.Place) (leave func(), err error) {
	key := laneKey{t.root.ID(), p.ID, p.Full}
	s.mu.Lock()
	l := s.lanes[key]
	if l == nil {
		if s.lanes == nil {
			s.lanes = make(map[laneKey]*lane)
		}
		l = &lane{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		s.lanes[key] = l
	}
	l.waiting++
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(s.lanes, key)
		}
	}
	select {
	case <-l.turn:
		return func() { l.turn <- struct{}{}; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, fault.From(context.Cause(ctx))
	}
}
