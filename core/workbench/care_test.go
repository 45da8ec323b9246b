package workbench_test

import (
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func (b *bench) check() op.WorkbenchStoreCheck {
	b.t.Helper()
	res, err := b.GetCheck(ctx, &op.WorkbenchGetCheckRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	return res.Check
}

func (b *bench) startCheck() op.WorkbenchStoreCheck {
	b.t.Helper()
	res, err := b.StartCheck(ctx, &op.WorkbenchStartCheckRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	return res.Check
}

func TestACheckOfTheStore(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one")
	if c := b.check(); c.State != "none" || c.CheckID != 0 || c.StartedAt != nil {
		t.Errorf("before the first: %+v", c)
	}
	if c := b.startCheck(); c.State != "running" || c.CheckID != 1 || c.StartedAt == nil || c.Clean != nil {
		t.Errorf("begun: %+v", c)
	}
	b.WaitForCheck()
	c := b.check()
	if c.State != "done" || c.Clean == nil || !*c.Clean || c.RowCount == 0 || len(c.Checks) < 3 || c.FinishedAt == nil || len(c.Problems) != 0 {
		t.Errorf("done: %+v", c)
	}
	if c := b.startCheck(); c.CheckID != 2 || c.State != "running" || c.RowCount != 0 {
		t.Errorf("begun again: %+v", c)
	}
	b.WaitForCheck()
}

// WB-10: what is wrong is said, and the data directory is not named.
func TestACheckThatFindsSomething(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one")
	err := b.Tamper(ctx, func(tx *kv.Tx, root uint32) error {
		tx.Put(keys.AppendWorkbenchMarker(nil, root, "ghost"), []byte{1})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.startCheck()
	b.WaitForCheck()
	c := b.check()
	if c.Clean == nil || *c.Clean || c.ProblemCount == 0 || len(c.Problems) == 0 || c.Problems[0].Invariant == "" || c.Problems[0].Text == "" {
		t.Errorf("a marker that does not decode: %+v", c)
	}
	// The store is checked once more when the test ends.
	err = b.Tamper(ctx, func(tx *kv.Tx, root uint32) error {
		tx.Delete(keys.AppendWorkbenchMarker(nil, root, "ghost"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACheckEndsWithTheWorkbench(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if c := b.startCheck(); c.State == "running" {
		t.Errorf("begun after the end: %+v", c)
	}
}

func TestFiguresOfTheStore(t *testing.T) {
	b := newBench(t)
	get := func() *op.WorkbenchGetStatsResult {
		t.Helper()
		res, err := b.GetStats(ctx, &op.WorkbenchGetStatsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	b.put("a.txt", "one")
	first := get()
	if first.WorkbenchCount != 1 || first.UpdateCount == 0 || first.RootCount == 0 || first.BodyBytes != 0 || first.HistoryWindowSeconds != 360 {
		t.Errorf("%+v", first)
	}
	large := string(make([]byte, 1<<20))
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb2", Section: "outputs", Path: "b", Text: &large}); err != nil {
		t.Fatal(err)
	}
	if again := get(); again.WorkbenchCount != 1 || again.UpdateCount <= first.UpdateCount {
		t.Errorf("what takes a walk is not counted anew at once: %+v", again)
	}
	b.env.Clock.Advance(6 * time.Second)
	if later := get(); later.WorkbenchCount != 2 || later.BodyBytes < 1<<20 {
		t.Errorf("%+v", later)
	}
}
