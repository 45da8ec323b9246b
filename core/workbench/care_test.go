package workbench_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
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

// What a full disk keeps from its end is tried every five seconds, and said now
// and then.
func TestTroubleThatStaysIsSaidNowAndThen(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 30)
	b := &bench{t: t, env: kvtest.New(t, func(o *kv.Options) {
		o.FS, o.FreeSpaceFloorBytes, o.BallastBytes = kvtest.WithFreeSpace(kvtest.NewCrashFS(), free.Load), 100<<20, -1
	})}
	b.open()
	t.Cleanup(func() { b.closeBodies() })
	b.put("a.txt", "one")
	var out bytes.Buffer
	finish := b.Finisher(slog.New(slog.NewTextHandler(&out, nil)))
	b.OnStep(func(step string) {
		if step != "prepared" {
			return
		}
		b.OnStep(nil)
		free.Store(50 << 20)
		b.env.Clock.Advance(time.Minute)
	})
	if _, err := b.Commit(ctx, commitOf(`{"run":"A"}`, 1, false)); !fault.Is(err, op.ReasonResourceExhausted) {
		t.Fatalf("on a full disk: %v", err)
	}
	for range 2 * 3600 / 5 {
		finish()
		b.env.Clock.Advance(5 * time.Second)
	}
	if n := strings.Count(out.String(), "level=ERROR"); n < 8 || n > 12 {
		t.Errorf("said %d times in two hours: %s", n, &out)
	}
	free.Store(1 << 30)
	out.Reset()
	b.env.Clock.Advance(time.Minute)
	finish()
	finish()
	if n := strings.Count(out.String(), "come to its end"); n != 1 || strings.Contains(out.String(), "ERROR") {
		t.Errorf("afterwards: %s", &out)
	}
	if res := b.commit(`{"run":"A"}`, 1, false); !res.IdempotentReplay {
		t.Errorf("%+v", res)
	}
}

// Long work leaves room for other calls in real time: on a clock that a test
// holds, with the background on, it comes to its end all the same.
func TestLongWorkOnAClockThatStands(t *testing.T) {
	b := newBench(t)
	b.Start(slog.New(slog.DiscardHandler))
	if err := b.Fill(ctx, "wb1", "outputs/dir", 1500); err != nil {
		t.Fatal(err)
	}
	if err := b.Stamp(ctx, "wb1"); err != nil {
		t.Fatal(err)
	}
	b.snapshot("s", nil)
	if _, err := b.Restore(ctx, &op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb2", AtSnapshot: at("s")}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// WB-15: when the machine's clock goes back, a snapshot's life does not: readers
// and writers go by the store's.
func TestTheMachinesClockGoesBack(t *testing.T) {
	b := committed(t)
	s := b.snapshot("s", nil)
	b.env.Clock.Advance(24*time.Hour + time.Second)
	b.put("turns", "x") // the store is told
	b.closeBodies()
	b.env.Options.Clock = clock.NewFake(time.UnixMilli(s.LeaseExpiresAt).Add(-time.Hour))
	b.env.Reopen()
	b.open()
	if res, _, _ := b.snapshots(); res.Snapshots[0].State != "expired" {
		t.Errorf("the list says %s", res.Snapshots[0].State)
	}
	_, err := b.List(ctx, &op.WorkbenchListRequest{ID: "wb1", AtSnapshot: at("s")})
	refused(t, err, op.ReasonWBSnapshotExpired)
	_, err = b.Restore(ctx, &op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb2", AtSnapshot: at("s")})
	refused(t, err, op.ReasonWBSnapshotExpired)
	if res, err := b.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: "wb1", Name: ptr("s")}); err != nil || !res.Retired {
		t.Errorf("%+v, %v", res, err)
	}
}
