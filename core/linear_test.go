package core_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/history"
	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// carried are the operations that a history asks for.
var carried = map[string]*op.Descriptor{}

func init() {
	for _, d := range []*op.Descriptor{op.WorkbenchPutFileOp, op.WorkbenchAppendOp, op.WorkbenchEditOp, op.WorkbenchReadOp, op.WorkbenchSearchOp,
		op.WorkbenchCommitOp, op.WorkbenchRestoreOp} {
		carried[d.ID] = d
	}
}

// inProcess carries calls to the tools without a protocol.
func inProcess(api *op.API) history.Perform {
	return func(_ int, c history.Call) (history.Answer, error) {
		operation, arguments := c.Arguments()
		d := carried[operation]
		req, invalid := d.Decode(arguments)
		if invalid != nil {
			return history.Answer{}, fmt.Errorf("%s: %v", arguments, invalid)
		}
		res, err := d.Invoke(ctx, api, req)
		var f *fault.Error
		switch {
		case errors.As(err, &f):
			details := map[string]any{}
			for _, d := range f.Details {
				details[d.Key] = d.Value
			}
			text, err := json.Marshal(details)
			if err != nil {
				return history.Answer{}, err
			}
			return c.Refused(f.Reason.Face().Code[op.AreaWorkbench], text)
		case err != nil:
			return history.Answer{}, err
		}
		return c.Answered(res.AppendJSON(nil))
	}
}

// Clients on a few workbenches at once, which write, commit and restore:
// whatever they were told, there is one order of their calls that explains all of
// it. More rounds are played when more seeds are asked for.
func TestTheToolsAreLinearizable(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(kvtest.Draws(3, 20)) {
		o := options(kvtest.NewCrashFS())
		o.NoBackground = false
		c := open(t, o)
		w := history.Work{Clients: 32, Rounds: 80, Families: 16, Seed: seed, Root: c.WorkbenchRoot(), Seconds: kvtest.Epoch.Unix()}
		began := time.Now()
		records, err := w.Run(inProcess(c.API()))
		if err != nil {
			t.Fatal(err)
		}
		ran := time.Since(began)
		if err := w.Check(records, 2*time.Minute); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		t.Logf("seed %d: %d calls in %v, checked in %v", seed, len(records), ran, time.Since(began)-ran)
		for outcome, n := range history.Outcomes(records) {
			total[outcome] += n
		}
		shut(t, c)
	}
	for _, outcome := range []string{"commit ok", "commit again", "commit WorkbenchCommitConflict", "commit InvalidState", "restore ok", "restore again", "restore Conflict"} {
		if total[outcome] == 0 {
			t.Errorf("no call ended as %s: %v", outcome, total)
		}
	}
}

// wrong is a Workbench that is wrong in one way.
type wrong struct {
	op.Workbench
	mu    sync.Mutex
	calls int
	seen  map[string]*op.WorkbenchSearchResult

	loses, stale, forgets, live bool
}

// now and then is every seventh call.
func (w *wrong) nowAndThen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	return w.calls%7 == 0
}

// Append acknowledges what it does not keep.
func (w *wrong) Append(ctx context.Context, req *op.WorkbenchAppendRequest) (*op.WorkbenchAppendResult, error) {
	if !w.loses || !w.nowAndThen() {
		return w.Workbench.Append(ctx, req)
	}
	res, err := w.Workbench.Append(ctx, &op.WorkbenchAppendRequest{ID: req.ID, Section: req.Section, Path: req.Path, Text: ptr("")})
	if err == nil {
		res.SizeBytes += int64(len(*req.Text))
	}
	return res, err
}

// Search shows what it showed before.
func (w *wrong) Search(ctx context.Context, req *op.WorkbenchSearchRequest) (*op.WorkbenchSearchResult, error) {
	if w.stale && w.nowAndThen() {
		w.mu.Lock()
		before := w.seen[*req.ID]
		w.mu.Unlock()
		if before != nil {
			return before, nil
		}
	}
	res, err := w.Workbench.Search(ctx, req)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[*req.ID] = res
	return res, err
}

// Commit forgets that it was made before.
func (w *wrong) Commit(ctx context.Context, req *op.WorkbenchCommitRequest) (*op.WorkbenchCommitResult, error) {
	res, err := w.Workbench.Commit(ctx, req)
	if err == nil && w.forgets {
		res.IdempotentReplay = false
	}
	return res, err
}

// Restore takes the files as they are now, and not as the commit has frozen them.
func (w *wrong) Restore(ctx context.Context, req *op.WorkbenchRestoreRequest) (*op.WorkbenchRestoreResult, error) {
	if w.live {
		if s, err := w.Workbench.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: req.ID}); err == nil {
			req.AtSnapshot, req.AtCommit = &op.IntOrString{Int: s.SnapshotID}, nil
		}
	}
	return w.Workbench.Restore(ctx, req)
}

// small is a history that even a wrong server's is soon found out in.
func small(c *core.Core) history.Work {
	return history.Work{Clients: 6, Rounds: 60, Families: 2, Seed: 3, Root: c.WorkbenchRoot(), Seconds: kvtest.Epoch.Unix()}
}

// A server that is wrong in one way is found out.
func TestWrongServersAreFoundOut(t *testing.T) {
	for name, w := range map[string]*wrong{
		"it loses an append":               {loses: true},
		"it shows what was":                {stale: true},
		"it takes a replay for a commit":   {forgets: true},
		"it restores what is there by now": {live: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, options(kvtest.NewCrashFS()))
			defer shut(t, c)
			w.Workbench, w.seen = c.API().Workbench, map[string]*op.WorkbenchSearchResult{}
			records, err := small(c).Run(inProcess(&op.API{Workbench: w}))
			if err != nil {
				t.Fatal(err)
			}
			if err := small(c).Check(records, time.Minute); err == nil || !strings.HasPrefix(err.Error(), "no order") {
				t.Errorf("found: %v", err)
			}
		})
	}
}

// A history in which one answer is doctored is refused, whichever answer it is.
func TestDoctoredHistoriesAreRefused(t *testing.T) {
	c := open(t, options(kvtest.NewCrashFS()))
	defer shut(t, c)
	records, err := small(c).Run(inProcess(c.API()))
	if err != nil {
		t.Fatal(err)
	}
	if err := small(c).Check(records, time.Minute); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(a, b history.Record) int { return cmp.Compare(a.From, b.From) })
	for outcome, doctor := range map[string]func(a *history.Answer){
		"put ok":                         func(a *history.Answer) { a.Digest = "sha256:" + strings.Repeat("00", 32) },
		"append ok":                      func(a *history.Answer) { a.Size++ },
		"edit ok":                        func(a *history.Answer) { a.Count++ },
		"replace ok":                     func(a *history.Answer) { a.Generation++ },
		"read ok":                        func(a *history.Answer) { a.Generation-- },
		"read NotFound":                  func(a *history.Answer) { *a = history.Answer{Generation: 1, Text: "x"} },
		"look ok":                        func(a *history.Answer) { a.Text += "outputs/f9 1 sha256:" },
		"head ok":                        func(a *history.Answer) { a.Identity = strings.Repeat("00", 32) },
		"commit ok":                      func(a *history.Answer) { a.Tree = "sha256:" + strings.Repeat("00", 32) },
		"commit again":                   func(a *history.Answer) { a.Flag = false },
		"restore ok":                     func(a *history.Answer) { a.Flag = true },
		"restore Conflict":               func(a *history.Answer) { *a = history.Answer{Operation: strings.Repeat("00", 16)} },
		"commit WorkbenchCommitConflict": func(a *history.Answer) { *a = history.Answer{Code: "InvalidState"} },
	} {
		t.Run(outcome, func(t *testing.T) {
			doctored := slices.Clone(records)
			at := -1
			for i := range doctored {
				if at < 0 && i > len(doctored)/4 && history.Outcomes(doctored[i : i+1])[outcome] == 1 {
					at = i
				}
			}
			if at < 0 {
				t.Fatalf("no call ended so: %v", history.Outcomes(records))
			}
			doctor(&doctored[at].Answer)
			if err := small(c).Check(doctored, time.Minute); err == nil || !strings.HasPrefix(err.Error(), "no order") {
				t.Errorf("%+v: %v", doctored[at], err)
			}
		})
	}
	// A call that is left out is missed by those that have seen what it did.
	without := slices.DeleteFunc(slices.Clone(records), func(r history.Record) bool { return r.Call.Verb == "append" && r.Answer.Generation == 2 })
	if err := small(c).Check(without, time.Minute); err == nil || !strings.HasPrefix(err.Error(), "no order") {
		t.Errorf("without the appends to the second generation: %v", err)
	}
}
