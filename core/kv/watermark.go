package kv

import (
	"sync"
	"sync/atomic"
)

// watermark knows what is durable. Every applied update has a number, counted
// over all roots in the order of the log; the log is synced in that order, so
// one number says it all.
type watermark struct {
	// durable is the highest number whose sync has returned.
	durable atomic.Uint64

	mu sync.Mutex
	// pending holds the applied updates above durable, in order.
	pending []applied
	head    int
	// waiters wait for a number and have no update of their own to sync.
	waiters []durableWaiter
}

type applied struct {
	number uint64
	root   *rootState
	rev    Revision
}

type durableWaiter struct {
	number uint64
	ready  chan struct{}
}

// add registers an update. It is called in the update's own turn, so numbers
// arrive in order.
func (w *watermark) add(a applied) {
	w.mu.Lock()
	if w.head > 64 && w.head*2 > len(w.pending) {
		n := copy(w.pending, w.pending[w.head:])
		clear(w.pending[n:])
		w.pending, w.head = w.pending[:n], 0
	}
	w.pending = append(w.pending, a)
	w.mu.Unlock()
}

// advance says that the update with this number is synced, and with it all
// before it. When it returns, every root's watermark covers them: whoever is
// answered after that finds in a View what the answer speaks of (KV-3).
func (w *watermark) advance(number uint64) {
	if w.durable.Load() >= number {
		return
	}
	w.mu.Lock()
	for w.head < len(w.pending) && w.pending[w.head].number <= number {
		if a := w.pending[w.head]; a.root != nil {
			a.root.durable.Store(uint64(a.rev))
		}
		w.pending[w.head] = applied{}
		w.head++
	}
	if w.durable.Load() < number {
		w.durable.Store(number)
	}
	if len(w.waiters) > 0 {
		kept := w.waiters[:0]
		for _, d := range w.waiters {
			if d.number <= number {
				close(d.ready)
			} else {
				kept = append(kept, d)
			}
		}
		clear(w.waiters[len(kept):])
		w.waiters = kept
	}
	w.mu.Unlock()
}

// wait returns when the number is durable, or when dead closes.
func (w *watermark) wait(number uint64, dead <-chan struct{}) error {
	if w.durable.Load() >= number {
		return nil
	}
	w.mu.Lock()
	if w.durable.Load() >= number {
		w.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	w.waiters = append(w.waiters, durableWaiter{number, ready})
	w.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-dead:
		return ErrDead
	}
}
