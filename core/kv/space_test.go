package kv_test

import (
	"errors"
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
