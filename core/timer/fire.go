package timer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// failure is what is remembered, until a restart, of a timer whose handler
// failed.
type failure struct {
	retryAt time.Time
	wait    time.Duration
}

// A failing timer is tried again after firstRetry, then after twice that, and
// so on up to lastRetry.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Fire sets off every timer that is due, and returns how many went off. The
// background calls it; so does a test, after it has moved the clock.
//
// Errors: those of kv.Update. The error of a handler is logged, not returned.
func (t *Timers) Fire(ctx context.Context) (fired int, err error) {
	t.firing.Lock()
	defer t.firing.Unlock()
	for _, root := range t.dueRoots() {
		n, err := t.fireRoot(ctx, root)
		fired += n
		if err != nil {
			return fired, fmt.Errorf("timer: root %d: %w", root.ID(), err)
		}
	}
	return fired, nil
}

func (t *Timers) dueRoots() []kv.Root {
	now := t.clk.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	var due []kv.Root
	for root, at := range t.next {
		if !at.After(now) {
			due = append(due, root)
		}
	}
	slices.SortFunc(due, func(a, b kv.Root) int { return int(a.ID()) - int(b.ID()) })
	return due
}

// fireRoot sets off what is due in a root, one timer in each Update, and then
// notes when to look again.
func (t *Timers) fireRoot(ctx context.Context, root kv.Root) (fired int, err error) {
	t.mu.Lock()
	delete(t.next, root)
	t.mu.Unlock()
	var from []byte
	for {
		var a attempt
		err := t.kv.UpdateBackground(ctx, root, func(tx *kv.Tx) error {
			a = attempt{t: t, tx: tx, from: from}
			return a.run()
		})
		switch {
		case err == nil && a.fired:
			fired++
		case err == nil && a.wait:
			t.lookAt(root, a.at)
		case err == nil && a.skipped:
			t.lookAt(root, a.at)
			from = append(a.key, 0)
		case err == nil:
			return fired, nil
		case errors.Is(err, errHandler):
			retry := t.failed(a.timer, err)
			t.lookAt(root, retry)
			from = append(a.key, 0)
		default:
			t.lookAt(root, t.clk.Now().Add(firstRetry))
			return fired, err
		}
		if a.wait {
			return fired, nil
		}
	}
}

// errHandler marks the error of a handler, to tell it from those of the store.
var errHandler = errors.New("timer: handler failed")

// attempt is one Update: it takes the first timer at or after from.
type attempt struct {
	t    *Timers
	tx   *kv.Tx
	from []byte

	// key is the row among the due times, timer its name.
	key   []byte
	timer timerKey
	// Of these at most one is set: the timer went off; nothing is due before at;
	// the timer waits after a failure, until at.
	fired, wait, skipped bool
	at                   time.Time
}

func (a *attempt) run() error {
	root := a.tx.Root().ID()
	lower, upper := keys.SpaceBounds(keys.SpaceTimerDue, root)
	if a.from != nil {
		lower = a.from
	}
	it := a.tx.Scan(lower, upper, kv.ScanOptions{Limit: 1})
	defer it.Close()
	if !it.Next() {
		return it.Err()
	}
	a.key = slices.Clone(it.Key())
	_, millis, kind, id, err := keys.CutTimerDue(a.key)
	if err != nil {
		return err
	}
	a.timer = timerKey{root, kind, id}
	due := time.UnixMilli(millis).UTC()
	if due.After(a.tx.Now()) {
		a.wait, a.at = true, due
		return nil
	}
	if at, waits := a.t.waits(a.timer); waits {
		a.skipped, a.at = true, at
		return nil
	}
	row, armed, err := get(a.tx, kind, id)
	if err != nil {
		return err
	}
	if !armed || row.DueMillis != millis {
		return fmt.Errorf("timer: %s %q is among the due times and not armed for them (TMR-1)", kind, id)
	}
	return a.fire(due, row)
}

func (a *attempt) fire(due time.Time, row record.Timer) error {
	handler := a.t.handlers[a.timer.kind]
	if handler == nil {
		return fmt.Errorf("%w: kind %q has none", errHandler, a.timer.kind)
	}
	// First the rows, so that a handler can arm the same timer anew.
	a.tx.Delete(keys.AppendTimer(nil, a.timer.root, a.timer.kind, a.timer.id))
	a.tx.Delete(a.key)
	if err := handler(a.tx, Fired{ID: a.timer.id, Due: due, Payload: row.Payload}); err != nil {
		return errors.Join(errHandler, err)
	}
	a.fired = true
	t, key := a.t, a.timer
	a.tx.OnDurable(func() { t.recovered(key) })
	return nil
}

// waits reports whether a timer failed and is not to be tried yet.
func (t *Timers) waits(key timerKey) (until time.Time, waits bool) {
	now := t.clk.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.failing[key]
	return f.retryAt, ok && f.retryAt.After(now)
}

func (t *Timers) failed(key timerKey, err error) (retryAt time.Time) {
	now := t.clk.Now()
	t.mu.Lock()
	f := t.failing[key]
	f.wait = min(max(firstRetry, 2*f.wait), lastRetry)
	f.retryAt = now.Add(f.wait)
	t.failing[key] = f
	t.mu.Unlock()
	t.log.Error("a timer failed; it is tried again", "root", key.root, "kind", key.kind, "id", key.id, "wait", f.wait, "error", err)
	return f.retryAt
}

func (t *Timers) recovered(key timerKey) {
	t.mu.Lock()
	delete(t.failing, key)
	t.mu.Unlock()
}

// background fires what is due and sleeps until the next timer is.
func (t *Timers) background() {
	defer close(t.stopped)
	var failing clock.Spaced
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-t.stop
		cancel()
	}()
	for ctx.Err() == nil {
		// Of a full disk the store has spoken already.
		switch _, err := t.Fire(ctx); {
		case err == nil:
			failing.Over()
		case ctx.Err() == nil && !fault.Is(err, op.ReasonResourceExhausted):
			if unsaid, say := failing.Say(t.clk.Now()); say {
				t.log.Error("firing timers failed; it is tried again", "error", err, "like_it", unsaid)
			}
		}
		sleep, any := t.sleep()
		if !any {
			select {
			case <-t.stop:
			case <-t.kick:
			}
			continue
		}
		timer := t.clk.NewTimer(sleep)
		select {
		case <-t.stop:
		case <-t.kick:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// sleep returns how long nothing is due, and false when nothing is armed.
func (t *Timers) sleep() (d time.Duration, any bool) {
	now := t.clk.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, at := range t.next {
		if wait := at.Sub(now); !any || wait < d {
			d, any = wait, true
		}
	}
	return d, any
}
