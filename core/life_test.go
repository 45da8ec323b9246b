package core_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func commit(run string, replace bool) act {
	return act{"commit " + run, func(c *core.Core) error {
		_, err := c.API().Workbench.Commit(ctx, commitOf(run, replace))
		return err
	}, nil, ""}
}

func commitOf(run string, replace bool) *op.WorkbenchCommitRequest {
	return &op.WorkbenchCommitRequest{ID: "wb1", Manifest: op.RawJSON(`{"run":"` + run + `"}`), ContentDigestURI: "sha256:" + strings.Repeat("0a", 32), Replace: &replace}
}

func snapshot(name string) act {
	return act{"snapshot " + name, func(c *core.Core) error {
		_, err := c.API().Workbench.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1", Name: &name, Reason: ptr("for later")})
		return err
	}, nil, ""}
}

// restore makes wb2 of wb1.
func restore(name string, how func(req *op.WorkbenchRestoreRequest)) act {
	return act{"restore " + name, func(c *core.Core) error {
		req := &op.WorkbenchRestoreRequest{ID: "wb1"}
		how(req)
		_, err := c.API().Workbench.Restore(ctx, req)
		return err
	}, nil, ""}
}

// life runs the tools by which a workbench has a past: commits, replaced and
// refused and replayed, snapshots, and what reads them.
func life() []act {
	file := "<begin>" + strings.Repeat("segment ", 40_000) // 320 KB
	return []act{
		put("a", "one", false, 1),
		refusal(snapshot("early"), op.ReasonWBNotCommitted),
		commit("A", false),
		snapshot("first"),
		refusal(commit("B", false), op.ReasonWBCommitConflict),
		store("file", file, 1),
		put("a", "two", true, 2),
		commit("B", true),
		commit("A", false), // a replay
		snapshot("first"),  // the name moves
		act{"renew", func(c *core.Core) error {
			_, err := c.API().Workbench.SnapshotRenew(ctx, &op.WorkbenchSnapshotRenewRequest{ID: "wb1", SnapshotID: ptr(int64(1)), TtlDays: ptr(int32(30))})
			return err
		}, nil, ""},
		look("frozen read", func(c *core.Core) error {
			res, err := c.API().Workbench.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: "outputs", Path: "a", AtSnapshot: &op.IntOrString{Int: 1}})
			if err == nil && string(res.Items[0].Value) != `"one"` {
				return fmt.Errorf("%s", res.Items[0].Value)
			}
			return err
		}),
		look("find", func(c *core.Core) error {
			res, err := c.API().Workbench.Find(ctx, &op.WorkbenchFindRequest{Committed: ptr(true)})
			if err == nil && (len(res.Matches) == 0 || !res.Matches[0].CommitIdentityVerified) {
				return fmt.Errorf("%+v", res.Matches)
			}
			return err
		}),
		act{"tidy", func(c *core.Core) error { return c.Tidy(ctx) }, nil, ""},
		restore("snapshot", func(req *op.WorkbenchRestoreRequest) {
			req.DestinationID, req.AtSnapshot = "wb2", &op.IntOrString{Int: 2}
		}),
		restore("snapshot again", func(req *op.WorkbenchRestoreRequest) {
			req.DestinationID, req.AtSnapshot = "wb2", &op.IntOrString{Int: 2}
		}),
		act{"retire", func(c *core.Core) error {
			_, err := c.API().Workbench.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: "wb1", SnapshotID: ptr(int64(1)), Reason: ptr("done")})
			return err
		}, nil, ""},
		act{"retire again", func(c *core.Core) error {
			res, err := c.API().Workbench.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: "wb1", SnapshotID: ptr(int64(1))})
			if err == nil && res.Retired {
				return errors.New("retired twice")
			}
			return err
		}, nil, ""},
		act{"tidy", func(c *core.Core) error { return c.Tidy(ctx) }, nil, ""},
		put("last", "!", false, 1),
	}
}

// past observes what observe does, and all that the tools say of commits and
// snapshots.
func past(c *core.Core) (world, error) {
	w, err := observe(c)
	if err != nil {
		return nil, err
	}
	found, err := c.API().Workbench.Find(ctx, &op.WorkbenchFindRequest{IncludeManifest: ptr(true)})
	if err != nil {
		return nil, err
	}
	w["find"] = string(found.AppendJSON(nil))
	list, err := c.API().Workbench.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: "wb1"})
	switch {
	case fault.Is(err, op.ReasonWBSnapshotNotFound):
	case err != nil:
		return nil, err
	default:
		for _, s := range list.Snapshots {
			// The revision depends on what a crash has undone; what it shows does not.
			s.ReadVersion = 0
			w[fmt.Sprint("snapshot ", s.SnapshotID)] = string(s.AppendJSON(nil))
		}
	}
	return w, nil
}

// CORE-1, for the tools that give a workbench a past: the power is cut before every
// single operation on the file system. What was acknowledged is there; the call
// that was under way has happened or not, or happens when what it left is taken
// to its end; and an exact retry of a commit gets the answer that the first call
// would have had.
func TestPowerCutAtEveryWriteOfALife(t *testing.T) {
	acts := life()
	worlds := pastsOf(t, acts)
	fs := kvtest.NewCrashFS()
	var started, acked atomic.Int64
	var cuts, seed int
	var mu sync.Mutex
	perCut := kvtest.Draws(2, 50)
	verify := func(before string) {
		mu.Lock()
		defer mu.Unlock()
		for range perCut {
			low := acked.Load()
			seed++
			left := kvtest.CrashClone(fs, uint64(seed))
			high := started.Load()
			if t.Failed() {
				return
			}
			cuts++
			if err := lives(left, worlds[low:high+1], acts[max(0, high-1)].name); err != nil {
				t.Errorf("power cut %d before a write of %s, between act %d and %d (%s): %v", seed, before, low, high, acts[max(0, high-1)].name, err)
			}
		}
	}
	c := open(t, options(kvtest.Intercept(fs, func(op kvtest.FileOp) error {
		if op.Write {
			verify(op.Path)
		}
		return nil
	})))
	for i, a := range acts {
		started.Store(int64(i + 1))
		switch err := a.call(c); {
		case a.want != "" && !fault.Is(err, a.want):
			t.Errorf("act %d, %s: %v, want %s", i, a.name, err, a.want)
		case a.want == "" && err != nil:
			t.Errorf("act %d, %s: %v", i, a.name, err)
		}
		if t.Failed() {
			return
		}
		acked.Store(int64(i + 1))
	}
	verify("nothing")
	shut(t, c)
	if cuts < 60*perCut {
		t.Errorf("only %d power cuts", cuts)
	}
	t.Logf("%d power cuts", cuts)
}

// pastsOf plays the acts without a cut and returns the world before the first and
// after each.
func pastsOf(t *testing.T, acts []act) []world {
	t.Helper()
	c := open(t, options(kvtest.NewCrashFS()))
	defer shut(t, c)
	var worlds []world
	for i := 0; ; i++ {
		w, err := past(c)
		if err != nil {
			t.Fatal(err)
		}
		worlds = append(worlds, w)
		if i == len(acts) {
			return worlds
		}
		if err := acts[i].call(c); (err != nil) != (acts[i].want != "") {
			t.Fatalf("act %d, %s: %v", i, acts[i].name, err)
		}
	}
}

// lives opens what a power cut left: one of the worlds, before and after what is
// unfinished is taken to its end; clean; and commits are replayed.
func lives(left kv.FS, allowed []world, under string) (err error) {
	c, err := core.Open(ctx, options(left))
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, step := range []string{"opened", "recovered"} {
		if step == "recovered" {
			if err := c.Recover(ctx); err != nil {
				return fmt.Errorf("recovering: %w", err)
			}
		}
		got, err := past(c)
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		if !slices.ContainsFunc(allowed, func(w world) bool { return maps.Equal(w, got) }) {
			return fmt.Errorf("%s: it holds\n%sand should hold\n%sor\n%s", step, shorten(got), shorten(allowed[0]), shorten(allowed[len(allowed)-1]))
		}
		if report, err := c.Check(ctx); err != nil || report.Err() != nil {
			return errors.Join(err, report.Err())
		}
	}
	if run, ok := strings.CutPrefix(under, "commit "); ok {
		replace := run == "B"
		res, err := c.API().Workbench.Commit(ctx, commitOf(run, replace))
		if err != nil {
			return fmt.Errorf("the exact retry: %w", err)
		}
		again, err := c.API().Workbench.Commit(ctx, commitOf(run, replace))
		if err != nil || !again.IdempotentReplay || again.EnvelopeDigestURI != res.EnvelopeDigestURI || again.TreeDigestURI != res.TreeDigestURI {
			return fmt.Errorf("a retry of %+v: %+v %w", res, again, err)
		}
	}
	if err := c.Tidy(ctx); err != nil {
		return fmt.Errorf("tidying: %w", err)
	}
	report, err := c.Check(ctx)
	return errors.Join(err, report.Err())
}
