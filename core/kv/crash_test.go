package kv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

// oracle knows, for each row, between which values a crash may leave it: what was
// acknowledged, or cited in any answer, is surely there; what was only tried may
// be; nothing else can.
type oracle struct {
	mu    sync.Mutex
	sure  map[string]uint64 // at least this
	maybe map[string]uint64 // at most this
}

func newOracle() *oracle {
	return &oracle{sure: map[string]uint64{}, maybe: map[string]uint64{}}
}

func raise(m map[string]uint64, name string, n uint64) { m[name] = max(m[name], n) }

func (o *oracle) tried(name string, n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	raise(o.maybe, name, n)
}

func (o *oracle) answered(name string, n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	raise(o.sure, name, n)
}

func (o *oracle) copyOf(m map[string]uint64) map[string]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := make(map[string]uint64, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func number(v kv.Value) uint64 {
	if len(v.Bytes) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(v.Bytes)
}

var errTaken = errors.New("taken")

// crashWorker raises its own two rows together, in every update by one, and
// refuses now and then with what it saw of another worker's rows.
func crashWorker(s *kv.Store, root kv.Root, o *oracle, id, workers int, seed uint64, stop <-chan struct{}) error {
	rng := rand.New(rand.NewPCG(seed, uint64(id)))
	own := fmt.Sprintf("w%d", id)
	for n := uint64(1); ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		o.tried(own, n)
		value := binary.BigEndian.AppendUint64(nil, n)
		value = append(value, make([]byte, rng.IntN(300))...)
		err := s.Update(ctx, root, func(tx *kv.Tx) error {
			tx.Put(rowKey(root, own+"/a"), value)
			tx.Put(rowKey(root, own+"/b"), value)
			tx.Put(houseKey(root, own), value[:8])
			return nil
		})
		if err != nil {
			return err
		}
		o.answered(own, n)

		other := fmt.Sprintf("w%d", rng.IntN(workers))
		saw := uint64(0)
		err = s.Update(ctx, root, func(tx *kv.Tx) error {
			got, _, err := tx.Get(rowKey(root, other+"/a"))
			if err != nil {
				return err
			}
			saw = number(got)
			return errTaken
		})
		if !errors.Is(err, errTaken) {
			return err
		}
		o.answered(other, saw)

		if rng.IntN(8) == 0 {
			if _, err := s.Reap(ctx); err != nil {
				return err
			}
		}
	}
}

// recovered checks a store that was opened on what a crash left.
func recovered(s *kv.Store, root kv.Root, sure, maybe map[string]uint64) error {
	var head kv.Revision
	err := s.View(ctx, root, func(v *kv.View) error {
		head = v.Revision()
		for name, most := range maybe {
			a, _, errA := v.Get(rowKey(root, name+"/a"))
			b, _, errB := v.Get(rowKey(root, name+"/b"))
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			switch n := number(a); {
			case n != number(b):
				return fmt.Errorf("%s: half an update: %d and %d", name, n, number(b))
			case n < sure[name]:
				return fmt.Errorf("KV-3: %s: %d was answered, %d is there", name, sure[name], n)
			case n > most:
				return fmt.Errorf("%s: %d is there, only %d was tried", name, n, most)
			case a.Rev > head:
				return fmt.Errorf("KV-2: %s at revision %d, head %d", name, a.Rev, head)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.Update(ctx, root, func(tx *kv.Tx) error {
		if tx.Revision() != head+1 {
			return fmt.Errorf("KV-1: the next revision is %d after %d", tx.Revision(), head)
		}
		for name := range maybe {
			house, _, errH := tx.Get(houseKey(root, name))
			row, _, errR := tx.Get(rowKey(root, name+"/a"))
			if errH != nil || errR != nil || number(house) != number(row) {
				return fmt.Errorf("%s: housekeeping has %d, the row %d (%v, %v)", name, number(house), number(row), errH, errR)
			}
		}
		tx.Put(rowKey(root, "after"), nil)
		return nil
	})
	return errors.Join(err, s.Check(ctx).Err())
}

func TestCrashAtAnyMoment(t *testing.T) {
	seeds := 120
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(kvtest.Draws(seeds, 1)) {
		if err := crashOnce(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func crashOnce(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	fs := kvtest.NewCrashFS()
	options := func(fs kv.FS) kv.Options {
		return kv.Options{FS: fs, Dir: "data", Clock: clock.NewFake(kvtest.Epoch), IDs: kvtest.IDs(byte(seed)),
			HistoryWindow: -1, NoBackground: true, CacheBytes: 8 << 20, MemTableBytes: 256 << 10}
	}
	s, err := kv.Open(options(fs))
	if err != nil {
		return err
	}
	root, err := s.Root(ctx, "test", "tenant", "a")
	if err != nil {
		return err
	}
	o, stop := newOracle(), make(chan struct{})
	const workers = 4
	failed := make(chan error, workers)
	for id := range workers {
		go func() { failed <- crashWorker(s, root, o, id, workers, seed, stop) }()
	}
	// The power goes when a drawn number of updates was answered.
	until := uint64(1 + rng.IntN(150))
	for s.Stats().Updates < until {
		if len(failed) > 0 {
			return <-failed
		}
		runtime.Gosched()
	}
	sure := o.copyOf(o.sure)
	left := kvtest.CrashClone(fs, seed)
	maybe := o.copyOf(o.maybe)
	close(stop)
	for range workers {
		if err := <-failed; err != nil {
			return err
		}
	}
	if err := errors.Join(s.Check(ctx).Err(), s.Close()); err != nil {
		return err
	}
	s, err = kv.Open(options(left))
	if err != nil {
		return err
	}
	if root, err = s.Root(ctx, "test", "tenant", "a"); err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(recovered(s, root, sure, maybe), s.Close())
}

// A crash in the middle of reaping, with holds: what a hold keeps is there, and
// the reaper goes on where it was.
func TestCrashWhileReaping(t *testing.T) {
	for seed := range uint64(kvtest.Draws(60, 2)) {
		e := kvtest.New(t, func(o *kv.Options) { o.HistoryWindow = -1; o.MemTableBytes = 256 << 10 })
		root := e.Root("test", "a")
		rng := rand.New(rand.NewPCG(seed, 3))
		held := map[kv.Revision]string{}
		var ids []kv.HoldID
		for range 30 {
			name := fmt.Sprintf("k%d", rng.IntN(5))
			switch rng.IntN(8) {
			case 0:
				del(t, e.Store, root, name)
			case 1:
				var rev kv.Revision
				err := e.Update(ctx, root, func(tx *kv.Tx) error {
					rev = tx.Revision()
					id, err := tx.Hold(1, []byte("owner"))
					ids = append(ids, id)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				held[rev] = dump(t, e.Store, root, rev)
			case 2:
				if _, err := e.Reap(ctx); err != nil {
					t.Fatal(err)
				}
			default:
				put(t, e.Store, root, name, fmt.Sprint(rng.Uint32()))
			}
			if rng.IntN(10) == 0 {
				e.Crash(rng.Uint64())
				root = e.Root("test", "a")
				for rev, want := range held {
					if got := dump(t, e.Store, root, rev); got != want {
						t.Fatalf("KV-9: seed %d: at held revision %d: %q, want %q", seed, rev, got, want)
					}
				}
			}
		}
		for _, id := range ids {
			if err := e.Update(ctx, root, func(tx *kv.Tx) error { return tx.Release(id) }); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Reap(ctx); err != nil {
			t.Fatal(err)
		}
		if n := listed(t, e, root); n != 0 {
			t.Fatalf("seed %d: after everything was released and reaped, %d versions are left over", seed, n)
		}
	}
}

// listed counts the rows of all queues. By KV-7, which Check verifies, that is
// how many superseded versions and deletions there are.
func listed(t *testing.T, e *kvtest.Env, root kv.Root) (n int) {
	t.Helper()
	e.RegisterCheck("count", func(_ context.Context, c *kv.CheckView) []kv.Problem {
		n = 0
		for _, space := range []byte{keys.SpaceReapQueue, keys.SpaceHoldQueue} {
			it := c.Housekeeping(keys.SpaceBounds(space, root.ID()))
			for it.Next() {
				n++
			}
			if err := it.Close(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err := e.Check(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	return n
}
