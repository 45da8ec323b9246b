package kv

import (
	"context"
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// sequencer admits one goroutine at a time, in the order of arrival (KV-5). The
// goroutine runs its own closure: the uncontended path has no hand-over between
// goroutines at all, and under contention the next one is made runnable by the
// one that leaves, just before that one blocks on its sync.
//
// Foreground and background wait in two queues; background gets a turn when no
// foreground waits, or after backgroundEvery foreground turns in a row, so that
// a store that is never idle is still reaped.
type sequencer struct {
	depth int

	mu     sync.Mutex
	busy   bool
	closed error
	fg, bg waitQueue
	// waiters is of this sequencer, not of the process: a channel made in one
	// test's bubble must not turn up in another's.
	waiters sync.Pool
	// streak counts foreground turns since background last had one.
	streak int
	// refused counts arrivals that found the queue full.
	refused uint64
}

const backgroundEvery = 256

type class bool

const (
	foreground class = false
	background class = true
)

// waiter is protected by the sequencer's mutex, except for turn.
type waiter struct {
	turn       chan error // holds one
	queued     bool
	prev, next *waiter
}

func newSequencer(depth int) *sequencer {
	return &sequencer{depth: depth, waiters: sync.Pool{New: newWaiter}}
}

func newWaiter() any { return &waiter{turn: make(chan error, 1)} }

// waitQueue is a doubly linked list, so that whoever leaves early leaves nothing
// behind.
type waitQueue struct {
	head, tail *waiter
	len        int
}

func (q *waitQueue) push(w *waiter) {
	w.prev, w.next, w.queued = q.tail, nil, true
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.len++
}

func (q *waitQueue) remove(w *waiter) {
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.len--
}

func (q *waitQueue) pop() *waiter {
	w := q.head
	if w != nil {
		q.remove(w)
	}
	return w
}

// acquire returns nil when it is the caller's turn; the caller then calls
// release. A full queue refuses with UNAVAILABLE. A caller whose context ends
// while it waits leaves, and its turn never comes.
func (s *sequencer) acquire(ctx context.Context, c class) error {
	s.mu.Lock()
	if s.closed != nil {
		s.mu.Unlock()
		return s.closed
	}
	if !s.busy {
		s.busy = true
		s.mu.Unlock()
		return nil
	}
	q := &s.fg
	if c == background {
		q = &s.bg
	}
	if q.len >= s.depth {
		s.refused++
		s.mu.Unlock()
		return fault.New(op.ReasonUnavailable, "The store has too many updates waiting; try again.")
	}
	w := s.waiters.Get().(*waiter)
	q.push(w)
	s.mu.Unlock()

	var err error
	select {
	case err = <-w.turn:
		s.waiters.Put(w)
		return err
	case <-ctx.Done():
	}
	s.mu.Lock()
	left := w.queued
	if left {
		q.remove(w)
	}
	s.mu.Unlock()
	if !left {
		// The turn came at the same moment: pass it on.
		if err = <-w.turn; err == nil {
			s.release()
		}
	}
	s.waiters.Put(w)
	return fault.From(context.Cause(ctx))
}

// release ends the caller's turn and begins the next one.
func (s *sequencer) release() {
	s.mu.Lock()
	var w *waiter
	if s.bg.len > 0 && (s.fg.len == 0 || s.streak >= backgroundEvery) {
		w, s.streak = s.bg.pop(), 0
	} else if w = s.fg.pop(); w != nil {
		s.streak++
	}
	if w == nil {
		s.busy = false
	} else {
		w.turn <- nil
	}
	s.mu.Unlock()
}

// close refuses whoever waits and whoever comes later with err. The turn that
// runs ends as usual.
func (s *sequencer) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return
	}
	s.closed = err
	for _, q := range []*waitQueue{&s.fg, &s.bg} {
		for w := q.pop(); w != nil; w = q.pop() {
			w.turn <- err
		}
	}
}

// waiting returns how many wait for their turn, and how many were refused so far.
func (s *sequencer) waiting() (n int, refused uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fg.len + s.bg.len, s.refused
}
