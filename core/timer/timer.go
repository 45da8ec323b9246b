package timer

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Fired is a timer that goes off.
type Fired struct {
	ID string
	// Due is when it was to go off; it is now that or later.
	Due time.Time
	// Payload is what it was armed with, valid until the handler returns.
	Payload []byte
}

// Handler does what a timer is for, as part of tx; it keeps to the rules of a
// closure of Update. On an error nothing of tx is kept, and the timer stays.
type Handler func(tx *kv.Tx, f Fired) error

// Options say how to open Timers.
type Options struct {
	// Logger is for handlers that fail; nil drops it.
	Logger *slog.Logger
}

// Timers are the timers of all roots of a store. All methods are safe for
// concurrent use.
type Timers struct {
	kv       *kv.Store
	clk      clock.Clock
	log      *slog.Logger
	handlers map[string]Handler

	mu sync.Mutex
	// next holds, for each root that may have timers, when to look at it.
	next map[kv.Root]time.Time
	// failing holds the timers whose handlers failed.
	failing map[timerKey]failure

	firing    sync.Mutex // held by the one Fire that runs
	kick      chan struct{}
	stop      chan struct{}
	stopped   chan struct{}
	startOnce sync.Once
	stopOnce  sync.Once
}

type timerKey struct {
	root     uint32
	kind, id string
}

// Open returns the timers over s and registers their check there. A store has
// one Timers. Nothing goes off before Start, but for what Fire sets off.
func Open(s *kv.Store, o Options) *Timers {
	t := &Timers{
		kv: s, clk: s.Clock(), log: o.Logger, handlers: make(map[string]Handler),
		next:    make(map[kv.Root]time.Time),
		failing: make(map[timerKey]failure),
		kick:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	roots, _ := s.Roots()
	for _, r := range roots {
		t.next[r] = t.clk.Now()
	}
	s.RegisterCheck("timer", check)
	return t
}

// Handle says what a kind of timer does when it goes off. It is called before
// Start, Fire and Set are, once for each kind.
func (t *Timers) Handle(kind string, h Handler) { t.handlers[kind] = h }

// Start begins to set off what is due, in the background: what fell due while no
// process ran goes off now. A test may call Fire instead.
func (t *Timers) Start() {
	t.startOnce.Do(func() { go t.background() })
}

// Close stops the background. Timers stay armed.
func (t *Timers) Close() error {
	t.startOnce.Do(func() { close(t.stopped) })
	t.stopOnce.Do(func() { close(t.stop) })
	<-t.stopped
	return nil
}

// Set arms a timer, as part of tx. A timer of the same kind and id that is armed
// already is replaced. due counts in milliseconds; one that has passed goes off
// at once.
func (t *Timers) Set(tx *kv.Tx, kind, id string, due time.Time, payload []byte) error {
	if t.handlers[kind] == nil {
		return fmt.Errorf("timer: no handler for kind %q", kind)
	}
	if _, err := t.Cancel(tx, kind, id); err != nil {
		return err
	}
	root := tx.Root()
	millis := due.UnixMilli()
	tx.Put(keys.AppendTimer(nil, root.ID(), kind, id), record.AppendTimer(nil, record.Timer{DueMillis: millis, Payload: payload}))
	tx.Put(keys.AppendTimerDue(nil, root.ID(), millis, kind, id), nil)
	tx.OnDurable(func() { t.lookAt(root, time.UnixMilli(millis)) })
	return nil
}

// Cancel disarms a timer, as part of tx, and reports whether it was armed.
func (t *Timers) Cancel(tx *kv.Tx, kind, id string) (armed bool, err error) {
	root := tx.Root().ID()
	row, armed, err := get(tx, kind, id)
	if err != nil || !armed {
		return false, err
	}
	tx.Delete(keys.AppendTimer(nil, root, kind, id))
	tx.Delete(keys.AppendTimerDue(nil, root, row.DueMillis, kind, id))
	return true, nil
}

// Due returns when a timer goes off, and false when it is not armed.
func (t *Timers) Due(tx *kv.Tx, kind, id string) (time.Time, bool, error) {
	row, armed, err := get(tx, kind, id)
	return time.UnixMilli(row.DueMillis).UTC(), armed, err
}

func get(tx *kv.Tx, kind, id string) (record.Timer, bool, error) {
	row, ok, err := tx.Get(keys.AppendTimer(nil, tx.Root().ID(), kind, id))
	if err != nil || !ok {
		return record.Timer{}, false, err
	}
	rec, err := record.DecodeTimer(row.Bytes)
	if err != nil {
		return record.Timer{}, false, fmt.Errorf("timer: row of a %s: %w", kind, err)
	}
	return rec, true, nil
}

// lookAt makes the background look at a root at a time, or earlier.
func (t *Timers) lookAt(root kv.Root, at time.Time) {
	t.mu.Lock()
	was, known := t.next[root]
	sooner := !known || at.Before(was)
	if sooner {
		t.next[root] = at
	}
	t.mu.Unlock()
	if sooner {
		select {
		case t.kick <- struct{}{}:
		default:
		}
	}
}
