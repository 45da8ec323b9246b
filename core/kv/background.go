package kv

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// backgroundLoop reaps while the store is open.
type backgroundLoop struct {
	cancel context.CancelFunc
	done   chan struct{}
	begun  sync.Once
	ended  sync.Once
}

// reapEvery is how long the reaper rests; a shorter history window shortens it.
const reapEvery = 10 * time.Second

// start is called by every Update, so that the packages which register hooks when
// they open have done so before anything is reaped. The first call has an effect,
// unless the store was opened without a background.
func (l *backgroundLoop) start(s *Store) {
	if !s.opts.NoBackground {
		l.begun.Do(func() { l.run(s) })
	}
}

func (l *backgroundLoop) run(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	pause := max(time.Second, min(reapEvery, s.opts.HistoryWindow/4))
	timer := s.clk.NewTimer(pause)
	var failing clock.Spaced
	go func() {
		defer close(l.done)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C():
			}
			if !s.roomToReap() {
				timer.Reset(pause)
				continue
			}
			switch _, err := s.Reap(ctx); {
			case err == nil:
				failing.Over()
			case ctx.Err() == nil && !errors.Is(err, ErrClosed):
				s.counters.backgroundErrors.Add(1)
				if unsaid, say := failing.Say(s.clk.Now()); say {
					s.log.Error("reaping failed; it is tried again", "error", err, "like_it", unsaid)
				}
			}
			timer.Reset(pause)
		}
	}()
}

// stop ends the background, and keeps an Update that is still inside the store
// from starting it.
func (l *backgroundLoop) stop() {
	l.begun.Do(func() {})
	if l.cancel == nil {
		return
	}
	l.ended.Do(l.cancel)
	<-l.done
}
