package workbench

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// States of a check.
const (
	checkNone    = "none"
	checkRunning = "running"
	checkDone    = "done"
	checkStopped = "stopped"
)

// shownProblems is how many problems an answer holds.
const shownProblems = 100

// statsAge is how old a count may be that an answer repeats: what takes a walk
// is not counted anew for everyone who asks.
const statsAge = 5 * time.Second

// care is what is known of the store as a whole.
type care struct {
	// background ends with Close.
	background context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	latest op.WorkbenchStoreCheck

	countMu   sync.Mutex
	countedAt time.Time
	bodyBytes int64
}

func (c *care) begin() {
	c.background, c.stop = context.WithCancel(context.Background())
	c.latest = op.WorkbenchStoreCheck{State: checkNone, Checks: []string{}, Problems: []op.WorkbenchStoreProblem{}}
}

// Close stops what runs in the background and waits for it. Calls that come
// later are answered by the store, which is closed next.
func (w *Workbench) Close() error {
	w.care.mu.Lock()
	w.care.closed = true
	w.care.mu.Unlock()
	w.care.stop()
	w.care.running.Wait()
	return nil
}

// inBackground runs fn in the background until Close, and reports false when that has
// been called.
func (w *Workbench) inBackground(fn func(ctx context.Context)) bool {
	w.care.mu.Lock()
	defer w.care.mu.Unlock()
	if w.care.closed {
		return false
	}
	w.care.running.Go(func() { fn(w.care.background) })
	return true
}

// recoverEvery is how long what could not be finished waits for another try.
const recoverEvery = 5 * time.Second

// Start begins what goes on in the background: what an earlier process has left
// unfinished comes to its end, and so does what fails on its way here, such as on
// a full disk.
func (w *Workbench) Start(log *slog.Logger) {
	w.paced.Store(true)
	w.unfinished()
	w.inBackground(func(ctx context.Context) {
		var failing clock.Spaced
		timer := w.store.Clock().NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C():
			}
			w.finish(ctx, log, &failing)
			timer.Reset(recoverEvery)
		}
	})
}

// finish takes unfinished work to its end, if there is any. What fails for long is
// logged now and then.
func (w *Workbench) finish(ctx context.Context, log *slog.Logger, failing *clock.Spaced) {
	if !w.left.Swap(false) {
		return
	}
	err := w.Recover(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.unfinished()
		if unsaid, say := failing.Say(w.store.Clock().Now()); say {
			log.Error("unfinished work is left as it is, and tried again", "error", err.Error(), "like_it", unsaid)
		}
	case failing.Over():
		log.Info("unfinished work has come to its end")
	}
}

// unfinished notes that there is work to take to its end.
func (w *Workbench) unfinished() { w.left.Store(true) }

// StartCheck begins a check of the whole store, unless one runs already, and
// reports on the one that runs. The check goes on when the caller has left.
func (w *Workbench) StartCheck(context.Context, *op.WorkbenchStartCheckRequest) (*op.WorkbenchStartCheckResult, error) {
	c := &w.care
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest.State != checkRunning && !c.closed {
		began := w.instant()
		c.latest = op.WorkbenchStoreCheck{CheckID: c.latest.CheckID + 1, State: checkRunning, StartedAt: &began,
			Checks: []string{}, Problems: []op.WorkbenchStoreProblem{}}
		c.running.Go(w.checkStore)
	}
	return &op.WorkbenchStartCheckResult{Check: c.latest}, nil
}

// GetCheck reports on the latest check of this process.
func (w *Workbench) GetCheck(context.Context, *op.WorkbenchGetCheckRequest) (*op.WorkbenchGetCheckResult, error) {
	w.care.mu.Lock()
	defer w.care.mu.Unlock()
	return &op.WorkbenchGetCheckResult{Check: w.care.latest}, nil
}

func (w *Workbench) checkStore() {
	report := w.store.Check(w.care.background)
	ended, clean := w.instant(), len(report.Problems) == 0
	problems := make([]op.WorkbenchStoreProblem, min(len(report.Problems), shownProblems))
	for i := range problems {
		p := report.Problems[i]
		// WB-10: a problem may quote an error of the file system.
		problems[i] = op.WorkbenchStoreProblem{Check: p.Check, Invariant: p.Invariant, Text: strings.ReplaceAll(p.Detail(), w.store.Dir(), "DIR")}
	}
	w.care.mu.Lock()
	defer w.care.mu.Unlock()
	c := w.care.latest
	c.State, c.FinishedAt, c.Clean = checkDone, &ended, &clean
	if w.care.background.Err() != nil {
		c.State, c.Clean = checkStopped, nil
	}
	c.Checks, c.RowCount, c.ProblemCount, c.Problems = report.Checks, report.Rows, int64(len(report.Problems)), problems
	w.care.latest = c
}

func (w *Workbench) instant() string { return w.store.Now().Format(time.RFC3339Nano) }

// GetStats reports the store's figures. The size of bodies and the number of
// workbenches may be a few seconds old.
func (w *Workbench) GetStats(ctx context.Context, _ *op.WorkbenchGetStatsRequest) (*op.WorkbenchGetStatsResult, error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	workbenches, err := w.countWorkbenches(ctx, t)
	if err != nil {
		return nil, err
	}
	bodies, err := w.countBodies()
	if err != nil {
		return nil, err
	}
	s := w.store.Stats()
	return &op.WorkbenchGetStatsResult{
		WorkbenchCount: workbenches, RootCount: int64(s.Roots), HeldRevisions: int64(s.Holds), LowSpace: s.LowSpace,
		UpdateCount: int64(s.Updates), UpdatesRefused: int64(s.UpdatesTurnedAway + s.UpdatesNoSpace), ViewCount: int64(s.Views),
		ReapedVersions: int64(s.Reaped), HistoryWindowSeconds: int64(w.store.HistoryWindow() / time.Second),
		DiskBytes: int64(s.DiskBytes), BodyBytes: bodies, CacheHits: s.CacheHits, CacheMisses: s.CacheMisses,
	}, nil
}

func (w *Workbench) countWorkbenches(ctx context.Context, t *tenant) (n int64, err error) {
	t.countMu.Lock()
	defer t.countMu.Unlock()
	now := w.store.Clock().Now()
	if !t.countedAt.IsZero() && now.Sub(t.countedAt).Abs() < statsAge {
		return t.count, nil
	}
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		lower, upper := keys.SpaceBounds(keys.SpaceWorkbenchMarker, t.root.ID())
		it := v.Scan(lower, upper, kv.ScanOptions{})
		for it.Next() {
			if n++; n%4096 == 0 && ctx.Err() != nil {
				break
			}
		}
		return it.Close()
	})
	if err != nil || ctx.Err() != nil {
		return 0, err
	}
	t.count, t.countedAt = n, now
	return n, nil
}

func (w *Workbench) countBodies() (int64, error) {
	c := &w.care
	c.countMu.Lock()
	defer c.countMu.Unlock()
	now := w.store.Clock().Now()
	if !c.countedAt.IsZero() && now.Sub(c.countedAt).Abs() < statsAge {
		return c.bodyBytes, nil
	}
	n, err := w.bodies.DiskBytes()
	if err != nil {
		return 0, err
	}
	c.bodyBytes, c.countedAt = n, now
	return n, nil
}
