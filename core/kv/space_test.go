package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// diskOf sets what the file system of a test says it has free.
func diskOf(fs *vfs.MemFS, free uint64) {
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: free, TotalBytes: 1 << 40, UsedBytes: 1<<40 - free})
}

func tryPut(e *kvtest.Env, root kv.Root, value string) error {
	return e.Update(ctx, root, func(tx *kv.Tx) error {
		tx.Put(rowKey(root, "x"), []byte(value))
		return nil
	})
}

func TestAFullDiskRefusesUpdatesBeforeTheLog(t *testing.T) {
	const floor, ballast = 100 << 20, 10 << 20
	disk := vfs.NewCrashableMem()
	diskOf(disk, 1<<30)
	e := kvtest.New(t, func(o *kv.Options) { o.FS, o.FreeSpaceFloorBytes, o.BallastBytes = disk, floor, ballast })
	root := e.Root("test", "a")
	hasBallast := func() bool {
		_, err := disk.Stat("data/ballast")
		return err == nil
	}
	if !hasBallast() {
		t.Fatal("no ballast on a disk with room")
	}
	if err := tryPut(e, root, "one"); err != nil {
		t.Fatal(err)
	}

	// Somebody else fills the disk: noticed within a second.
	diskOf(disk, floor-1)
	e.Clock.Advance(time.Second)
	before := e.Stats()
	if err := tryPut(e, root, "two"); !fault.Is(err, op.ReasonResourceExhausted) {
		t.Fatalf("KV-12: below the floor: %v", err)
	}
	after := e.Stats()
	if after.BatchBytes != before.BatchBytes || !after.LowSpace || after.UpdatesNoSpace != before.UpdatesNoSpace+1 {
		t.Fatalf("KV-12: the log was touched: %+v, then %+v", before, after)
	}
	if got := dump(t, e.Store, root, 1); got != "x=one@1 " {
		t.Fatalf("KV-12: reads below the floor: %q", got)
	}
	// A refusal with a better reason, and an update that changes nothing, need no
	// space.
	if err := e.Update(ctx, root, func(*kv.Tx) error { return errTaken }); !errors.Is(err, errTaken) {
		t.Fatal(err)
	}
	if err := e.Update(ctx, root, func(*kv.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if !hasBallast() {
		t.Fatal("the ballast went too early")
	}
	// Work that frees space goes on.
	err := e.UpdateBackground(ctx, root, func(tx *kv.Tx) error { tx.Put(houseKey(root, "freed"), nil); return nil })
	if err != nil {
		t.Fatalf("KV-12: work in the background below the floor: %v", err)
	}

	diskOf(disk, floor/2-1)
	if err := tryPut(e, root, "two"); !fault.Is(err, op.ReasonResourceExhausted) || hasBallast() {
		t.Fatalf("KV-12: below half the floor: %v, ballast there: %v", err, hasBallast())
	}
	// As long as the log has room.
	diskOf(disk, 4<<20)
	err = e.UpdateBackground(ctx, root, func(tx *kv.Tx) error { tx.Put(houseKey(root, "freed"), nil); return nil })
	if !fault.Is(err, op.ReasonResourceExhausted) {
		t.Fatalf("KV-12: work in the background with 4 MiB: %v", err)
	}
	// With the ballast gone, space for the floor alone is not enough.
	diskOf(disk, floor+ballast-1)
	if err := tryPut(e, root, "two"); !fault.Is(err, op.ReasonResourceExhausted) {
		t.Fatalf("KV-12: without room for the ballast: %v", err)
	}
	diskOf(disk, floor+ballast)
	if err := tryPut(e, root, "two"); err != nil || !hasBallast() {
		t.Fatalf("KV-12: updates do not resume: %v, ballast there: %v", err, hasBallast())
	}
	if got := dump(t, e.Store, root, 3); got != "x=two@3 " {
		t.Fatalf("after it all: %q", got)
	}
}

// Writing a lot makes the store ask the disk again, however little time has passed.
func TestTheDiskIsAskedAfterEnoughWasWritten(t *testing.T) {
	disk := vfs.NewCrashableMem()
	diskOf(disk, 1<<30)
	e := kvtest.New(t, func(o *kv.Options) { o.FS, o.FreeSpaceFloorBytes, o.BallastBytes = disk, 1<<20, -1 })
	root := e.Root("test", "a")
	diskOf(disk, 1<<10)
	for n := range 100 {
		err := tryPut(e, root, string(make([]byte, 50<<10)))
		if fault.Is(err, op.ReasonResourceExhausted) {
			if n > 10 {
				t.Fatalf("KV-12: %d updates of 50 KiB went through", n)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("KV-12: never refused")
}

// smallDisk is a disk on which nothing is free but what a deleted ballast gives back, and extra.
func smallDisk(inner kv.FS, ballast uint64, extra *uint64) kv.FS {
	return kvtest.WithFreeSpace(inner, func() uint64 {
		if _, err := inner.Stat("data/ballast"); err == nil {
			return *extra
		}
		return *extra + ballast
	})
}

// KV-12: a directory is opened on a full disk, at the cost of the ballast; what is in it can be read, and updates go on when
// there is space.
func TestOpeningOnAFullDisk(t *testing.T) {
	const floor, ballast = 100 << 20, 32 << 20
	inner, extra := kvtest.NewCrashFS(), uint64(1<<30)
	e := kvtest.New(t, func(o *kv.Options) {
		o.FS, o.FreeSpaceFloorBytes, o.BallastBytes = smallDisk(inner, ballast, &extra), floor, ballast
	})
	root := e.Root("test", "a")
	if err := tryPut(e, root, "one"); err != nil {
		t.Fatal(err)
	}
	extra = 0
	e.Reopen()
	root = e.Root("test", "a")
	if _, err := inner.Stat("data/ballast"); err == nil {
		t.Error("the ballast is kept, and the disk is full")
	}
	if got := dump(t, e.Store, root, 1); got != "x=one@1 " {
		t.Errorf("reads: %q", got)
	}
	if err := tryPut(e, root, "two"); !fault.Is(err, op.ReasonResourceExhausted) {
		t.Errorf("an update: %v", err)
	}
	extra = 1 << 30
	e.Clock.Advance(time.Second)
	if err := tryPut(e, root, "two"); err != nil {
		t.Errorf("an update when there is space: %v", err)
	}
	if _, err := inner.Stat("data/ballast"); err != nil {
		t.Errorf("the ballast does not come back: %v", err)
	}
}

// Where there is no ballast to give, a new directory is not begun.
func TestADiskTooFullToBegin(t *testing.T) {
	extra := uint64(1 << 20)
	o := kv.Options{FS: kvtest.WithFreeSpace(kvtest.NewCrashFS(), func() uint64 { return extra }), Dir: "data", NoBackground: true, BallastBytes: -1, IDs: kvtest.IDs(1)}
	if _, err := kv.Open(o); !errors.Is(err, kv.ErrNoSpace) {
		t.Fatalf("opened with a MiB free: %v", err)
	}
	extra = 1 << 30
	s, err := kv.Open(o)
	if err != nil {
		t.Fatalf("with space again: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A new directory is made with those above it, on the machine's disk too.
func TestANewDirectoryIsMade(t *testing.T) {
	e := kvtest.New(t, func(o *kv.Options) {
		o.FS, o.Dir = kv.Disk(), filepath.Join(t.TempDir(), "not", "there")
		o.FreeSpaceFloorBytes, o.BallastBytes = 1<<20, 1<<20
	})
	if err := tryPut(e, e.Root("test", "a"), "one"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(e.Dir(), "ballast"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ballast: %v, %v", info, err)
	}
}

// fullDisk is a disk on which every write fails while it is full.
type fullDisk struct {
	full  atomic.Bool
	wrote atomic.Int64
}

func (d *fullDisk) of(inner kv.FS) kv.FS {
	fs := kvtest.Intercept(inner, func(o kvtest.FileOp) error {
		// Locks take no space.
		if !d.full.Load() || !o.Write || strings.HasSuffix(o.Path, "/LOCK") {
			return nil
		}
		d.wrote.Add(1)
		return syscall.ENOSPC
	})
	return kvtest.WithFreeSpace(fs, func() uint64 {
		if d.full.Load() {
			return 0
		}
		return 1 << 30
	})
}

// KV-12: a directory is opened on a disk with no space at all and no ballast to give. What was acknowledged is read from the
// log, nothing is written, and the first update that comes when there is space takes effect.
func TestOpeningForReadingOnly(t *testing.T) {
	var disk fullDisk
	var log bytes.Buffer
	left := afterKill(t, 300)
	disk.full.Store(true)
	e := kvtest.New(t, func(o *kv.Options) {
		o.FS, o.FreeSpaceFloorBytes, o.BallastBytes = disk.of(left), 100<<20, -1
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	root := e.Root("test", "a")
	want := "x=value 299@300 "
	for n := range 20 {
		e.Clock.Advance(time.Second)
		if got := dump(t, e.Store, root, 300); got != want {
			t.Fatalf("reads: %q", got)
		}
		if err := tryPut(e, root, "new"); !fault.Is(err, op.ReasonResourceExhausted) {
			t.Fatalf("update %d: %v", n, err)
		}
		if err := e.Update(ctx, root, func(*kv.Tx) error { return errTaken }); !errors.Is(err, errTaken) {
			t.Fatalf("a refusal with a better reason: %v", err)
		}
		// An instant that is told has to be kept (KV-10), and cannot be.
		if err := e.Update(ctx, root, func(tx *kv.Tx) error { tx.Now(); return nil }); !fault.Is(err, op.ReasonResourceExhausted) {
			t.Fatalf("an update that was told the time: %v", err)
		}
		if _, err := e.Store.Root(ctx, "test", "tenant", "b"); !fault.Is(err, op.ReasonResourceExhausted) {
			t.Fatalf("a new root: %v", err)
		}
	}
	for what, err := range map[string]error{
		"reaping": second(e.Reap(ctx)), "a checkpoint": e.Checkpoint(ctx, "copy"), "a file beside": e.CheckSpace(),
	} {
		if !fault.Is(err, op.ReasonResourceExhausted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if st := e.Stats(); !st.LowSpace || st.UpdatesNoSpace == 0 || disk.wrote.Load() != 0 {
		t.Errorf("%d writes; %+v", disk.wrote.Load(), st)
	}
	if err := e.Store.Check(ctx).Err(); err != nil {
		t.Error(err)
	}
	// A restart changes nothing.
	e.Reopen()
	root = e.Root("test", "a")
	if got := dump(t, e.Store, root, 300); got != want {
		t.Errorf("reads after a restart: %q", got)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 {
		t.Errorf("%d lines in the log for two starts:\n%s", lines, log.String())
	}

	disk.full.Store(false)
	e.Clock.Advance(time.Second)
	if err := tryPut(e, root, "new"); err != nil {
		t.Fatalf("KV-12: updates do not resume: %v", err)
	}
	if got := dump(t, e.Store, root, 301); got != "x=new@301 " || e.LowSpace() {
		t.Errorf("afterwards: %q, low %v", got, e.LowSpace())
	}
	if got := dump(t, e.Store, root, 300); got != want {
		t.Errorf("KV-4: the revision before: %q", got)
	}
	again := kvtest.New(t, func(o *kv.Options) { o.FS = kvtest.CrashClone(left, 1) })
	if got := dump(t, again.Store, again.Root("test", "a"), 301); got != "x=new@301 " {
		t.Errorf("KV-3: after a power cut: %q", got)
	}
}

// afterKill returns what is left of a store that was killed after n updates, all of them in its log.
func afterKill(t *testing.T, n int) kv.FS {
	fs := kvtest.NewCrashFS()
	e := kvtest.New(t, func(o *kv.Options) { o.FS, o.FreeSpaceFloorBytes = fs, -1 })
	root := e.Root("test", "a")
	for i := range n {
		if err := tryPut(e, root, fmt.Sprint("value ", i)); err != nil {
			t.Fatal(err)
		}
	}
	return kvtest.CrashClone(fs, 1)
}

func second[T any](_ T, err error) error { return err }

// Readers and writers go on over a change of engines; one that calls the store from inside a View puts the change off, and
// does not hang.
func TestTheEngineChangesUnderLoad(t *testing.T) {
	var disk fullDisk
	left := afterKill(t, 1)
	disk.full.Store(true)
	e := kvtest.New(t, func(o *kv.Options) {
		o.FS, o.FreeSpaceFloorBytes, o.BallastBytes, o.Clock = disk.of(left), 100<<20, -1, nil
	})
	root := e.Root("test", "a")
	nested := func() error {
		return e.View(ctx, root, func(*kv.View) error { return tryPut(e, root, "nested") })
	}
	if err := nested(); !fault.Is(err, op.ReasonResourceExhausted) {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got, err := tryDump(e.Store, root, 1); err != nil || got != "x=value 0@1 " {
					t.Errorf("a read: %q, %v", got, err)
					return
				}
			}
		})
	}
	disk.full.Store(false)
	for {
		err := tryPut(e, root, "two")
		if err == nil {
			break
		}
		if !fault.Is(err, op.ReasonResourceExhausted) {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	close(stop)
	group.Wait()
	if err := nested(); err != nil {
		t.Error(err)
	}
}

// A write of the log that meets a full disk takes the ballast's place, and nothing fails.
func TestTheBallastIsThereForTheLog(t *testing.T) {
	inner := kvtest.NewCrashFS()
	full := false
	fs := kvtest.Intercept(inner, func(o kvtest.FileOp) error {
		if !full || !o.Write || !strings.Contains(o.Path, "/kv/") {
			return nil
		}
		if _, err := inner.Stat("data/ballast"); err == nil {
			return syscall.ENOSPC
		}
		return nil
	})
	e := kvtest.New(t, func(o *kv.Options) {
		o.FS = kvtest.WithFreeSpace(fs, func() uint64 { return 1 << 30 })
		o.FreeSpaceFloorBytes, o.BallastBytes = 1<<20, 1<<20
	})
	root := e.Root("test", "a")
	full = true
	if err := tryPut(e, root, "one"); err != nil {
		t.Fatal(err)
	}
	full = false
	if _, err := inner.Stat("data/ballast"); err == nil {
		t.Error("the ballast is still there")
	}
	if !e.LowSpace() {
		t.Error("nobody has noticed")
	}
}
