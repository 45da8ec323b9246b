package kv_test

import (
	"errors"
	"strings"
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

	diskOf(disk, floor/2-1)
	if err := tryPut(e, root, "two"); !fault.Is(err, op.ReasonResourceExhausted) || hasBallast() {
		t.Fatalf("KV-12: below half the floor: %v, ballast there: %v", err, hasBallast())
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
	if got := dump(t, e.Store, root, 2); got != "x=two@2 " {
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

// Where there is no ballast to give, the engine is not begun: it would try for ever.
func TestADiskTooFullToOpen(t *testing.T) {
	inner, extra := kvtest.NewCrashFS(), uint64(1<<30)
	o := kv.Options{FS: kvtest.WithFreeSpace(inner, func() uint64 { return extra }), Dir: "data", NoBackground: true, BallastBytes: -1, IDs: kvtest.IDs(1)}
	s, err := kv.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	extra = 1 << 20
	if _, err := kv.Open(o); !errors.Is(err, kv.ErrNoSpace) {
		t.Fatalf("opened with a MiB free: %v", err)
	}
	extra = 1 << 30
	if s, err = kv.Open(o); err != nil {
		t.Fatalf("with space again: %v", err)
	}
	if err := s.Close(); err != nil {
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
