package kv

import (
	"context"
	"errors"
	"sync"
	"time"
)

// backgroundLoop reaps while the store is open.
type backgroundLoop struct {
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
}

// reapEvery is how long the reaper rests; a shorter history window shortens it.
const reapEvery = 10 * time.Second

func (l *backgroundLoop) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	pause := max(time.Second, min(reapEvery, s.opts.HistoryWindow/4))
	timer := s.clk.NewTimer(pause)
	go func() {
		defer close(l.done)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C():
			}
			if _, err := s.Reap(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
				s.counters.backgroundErrors.Add(1)
				s.log.Error("reaping failed; it is tried again", "error", err)
			}
			timer.Reset(pause)
		}
	}()
}

func (l *backgroundLoop) stop() {
	if l.cancel == nil {
		return
	}
	l.once.Do(l.cancel)
	<-l.done
}
