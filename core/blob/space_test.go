package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Two uploads share what a disk has left, and neither fits, while small files are written. Both are refused with their
// reason; the log, which shares the disk, is never in danger; nothing of them is left, neither on the disk nor in the
// books; and an upload that fits goes through afterwards.
func TestUploadsRunOutOfSpaceMidway(t *testing.T) {
	const floor, total = 4 * syncEvery, 10 * syncEvery
	var disk kv.FS
	e := newEnv(t, func(o *kv.Options) {
		disk = kvtest.WithCapacity(o.FS, total)
		o.FS, o.FreeSpaceFloorBytes, o.BallastBytes = disk, floor, -1
	})
	free := func() uint64 {
		usage, err := disk.GetDiskUsage("data")
		if err != nil {
			t.Fatal(err)
		}
		return usage.AvailBytes
	}
	e.put("kept", pattern(1, large))
	before := free()
	var group sync.WaitGroup
	sizes := make([]int64, 2)
	for i := range sizes {
		group.Go(func() {
			d, err := e.blobs.Put(ctx, e.root, countTo(&sizes[i], io.LimitReader(zeros{}, total)))
			if !fault.Is(err, op.ReasonResourceExhausted) {
				t.Errorf("upload %d: %v after %d bytes", i, err, sizes[i])
			}
			if d != nil {
				d.Release()
			}
		})
	}
	stop := make(chan struct{})
	small, refused := 0, 0
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			switch err := tryPut(e.Store, e.blobs, e.root, "small", fmt.Append(nil, small)); {
			case err == nil:
				small++
			case fault.Is(err, op.ReasonResourceExhausted):
				refused++
			default:
				t.Errorf("a small file meanwhile: %v", err)
				return
			}
		}
	})
	group.Wait()
	// Between two looks at the disk an upload writes syncEvery.
	if left := free(); left < floor-2*syncEvery-(1<<20) {
		t.Errorf("the uploads went on until %d bytes were left, of a floor of %d", left, floor)
	}
	if sizes[0]+sizes[1] < total-floor-2*syncEvery {
		t.Errorf("refused after %d bytes, too early", sizes)
	}
	close(stop)
	writer.Wait()
	t.Logf("%d and %d bytes went in; small files meanwhile: %d, and %d refused", sizes[0], sizes[1], small, refused)
	if small > 0 {
		e.expect("small", fmt.Append(nil, small-1))
	}
	e.expect("kept", pattern(1, large))

	// The rows that say so need space themselves: the collector finishes when there is some.
	for range 3 {
		e.Clock.Advance(time.Second)
		if _, err := e.blobs.Collect(ctx); err != nil && !fault.Is(err, op.ReasonResourceExhausted) {
			t.Fatal(err)
		}
	}
	if n := e.rows(keys.SpaceStaging) + e.rows(keys.SpaceLooseFile); n != 0 || len(e.files()) != 1 {
		t.Errorf("left behind: %d rows, files %v", n, e.files())
	}
	// Beside it, the log of the small files takes space.
	if after := free(); after+(4<<20) < before {
		t.Errorf("%d bytes free before, %d after", before, after)
	}
	if e.LowSpace() {
		t.Error("updates are still refused")
	}
	e.put("fits", pattern(2, 2*syncEvery))
	e.expect("fits", pattern(2, 2*syncEvery))
}

// countTo counts what is read through it.
func countTo(n *int64, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		m, err := r.Read(p)
		*n += int64(m)
		return m, err
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The sync of a large body takes as long as the disk wants. Small files, reads and the collector do not wait for it; an
// upload whose caller has left ends without publishing, and leaves nothing.
func TestASlowSyncHoldsUpNobodyElse(t *testing.T) {
	gate, syncing := make(chan struct{}), make(chan struct{}, 100)
	e := newEnv(t, func(o *kv.Options) {
		o.FS = kvtest.Intercept(o.FS, func(o kvtest.FileOp) error {
			if o.Sync && strings.HasSuffix(o.Path, segmentSuffix) {
				syncing <- struct{}{}
				<-gate
			}
			return nil
		})
	})
	e.put("small", pattern(1, 100))
	caller, leave := context.WithCancel(ctx)
	slow, left := make(chan error, 1), make(chan error, 1)
	go func() { slow <- tryPut(e.Store, e.blobs, e.root, "slow", pattern(2, large)) }()
	go func() {
		d, err := e.blobs.PutBytes(caller, e.root, pattern(3, large))
		if err == nil {
			defer d.Release()
			err = e.Update(caller, e.root, func(tx *kv.Tx) error { return errors.New("ran for a caller who has left") })
		}
		left <- err
	}()
	<-syncing
	<-syncing
	leave()
	for n := range 50 {
		e.put("small", pattern(n, 1000))
		e.expect("small", pattern(n, 1000))
	}
	e.collect()
	select {
	case err := <-slow:
		t.Fatalf("answered before the sync: %v", err)
	case err := <-left:
		t.Fatalf("answered before the sync: %v", err)
	default:
	}
	close(gate)
	if err := <-slow; err != nil {
		t.Error(err)
	}
	if err := <-left; !fault.Is(err, op.ReasonCancelled) {
		t.Errorf("whose caller has left: %v", err)
	}
	e.expect("slow", pattern(2, large))
	e.collect()
	if n := e.rows(keys.SpaceStaging) + e.rows(keys.SpaceLooseFile); n != 0 || len(e.files()) != 1 {
		t.Errorf("left behind: %d rows, files %v", n, e.files())
	}
}
