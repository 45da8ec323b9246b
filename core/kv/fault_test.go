package kv_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

// faultRun is one run of a script on a file system on which one operation fails.
type faultRun struct {
	mu           sync.Mutex
	acked, tried map[string]string
	// died closes when the store ends the process. The goroutine that did it goes
	// no further, as in production.
	died     chan struct{}
	diedOnce sync.Once
	// reopening is set while the second Open runs, late when it flushes.
	reopening, late atomic.Bool
}

func (r *faultRun) end() {
	r.diedOnce.Do(func() { close(r.died) })
	select {}
}

func (r *faultRun) note(in map[string]string, name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in[name] = value
}

func (r *faultRun) copyOf(m map[string]string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(m)
}

// script opens a store, writes, reads, reaps, closes and opens it again. It
// returns the first error that the store gave.
func (r *faultRun) script(fs kv.FS) error {
	fake := clock.NewFake(kvtest.Epoch)
	for round := range 2 {
		r.reopening.Store(round == 1)
		s, err := kv.Open(kv.Options{FS: fs, Dir: "data", Clock: fake, IDs: kvtest.IDs(1), HistoryWindow: -1, NoBackground: true,
			CacheBytes: 4 << 20, MemTableBytes: 256 << 10,
			Fatal: func(error) { r.end() }})
		if err != nil {
			return fmt.Errorf("open %d: %w", round, err)
		}
		r.reopening.Store(false)
		r.late.Store(false)
		if err := errors.Join(r.steps(s, round), s.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (r *faultRun) steps(s *kv.Store, round int) error {
	root, err := s.Root(ctx, "test", "tenant", "a")
	if err != nil {
		return err
	}
	for n := range 12 {
		name, value := fmt.Sprintf("k%d", n%5), fmt.Sprintf("%d-%d-%0*d", round, n, 20_000, n)
		r.note(r.tried, name, value)
		err := s.Update(ctx, root, func(tx *kv.Tx) error {
			tx.Put(rowKey(root, name), []byte(value))
			return nil
		})
		if err != nil {
			return err
		}
		r.note(r.acked, name, value)
	}
	if _, err := s.Reap(ctx); err != nil {
		return err
	}
	return s.View(ctx, root, func(v *kv.View) error {
		for name, want := range r.copyOf(r.acked) {
			got, ok, err := v.Get(rowKey(root, name))
			if err != nil {
				return err
			}
			if !ok || string(got.Bytes) != want {
				return fmt.Errorf("%s is wrong", name)
			}
		}
		return nil
	})
}

var errInjected = errors.New("injected: input/output error")

// Each file operation of the script fails once. Whatever happens then, an error
// or the end of the process, nothing acknowledged is lost, and a script that says
// that all went well is right.
func TestEveryFileOperationMayFail(t *testing.T) {
	for n := int64(0); ; n++ {
		if n > 2000 {
			t.Fatal("the script never gets through")
		}
		base := vfs.NewCrashableMem()
		var count atomic.Int64
		var failed atomic.Pointer[string]
		r := &faultRun{acked: map[string]string{}, tried: map[string]string{}, died: make(chan struct{})}
		fs := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if r.reopening.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
				defer r.late.Store(true)
			}
			if count.Add(1)-1 == n {
				what := fmt.Sprintf("%v of %s", op.Kind, op.Path)
				failed.Store(&what)
				if op.Kind == errorfs.OpFileSync && (op.Path == "data/kv" || op.Path == "data/kv.new") || r.late.Load() {
					// Pebble panics on whatever goroutine finds that its directory
					// cannot be synced. And when an Open fails after its log was
					// flushed, Pebble's collector of statistics may panic on what the
					// Open has closed already. Both end the process.
					r.end()
				}
				return errInjected
			}
			return nil
		}))
		done := make(chan error, 1)
		go func() { done <- r.script(fs) }()
		var surfaced error
		select {
		case surfaced = <-done:
		case <-r.died:
			surfaced = errors.New("the process ended")
		}
		acked := r.copyOf(r.acked)
		left := base.CrashClone(vfs.CrashCloneCfg{})
		if err := recoveredAfterFault(left, acked, r.copyOf(r.tried)); err != nil {
			t.Fatalf("operation %d (%v) failed, the script said %v, then: %v", n, *failed.Load(), surfaced, err)
		}
		if failed.Load() == nil {
			if surfaced != nil {
				t.Fatalf("nothing failed, and the script said %v", surfaced)
			}
			t.Logf("%d file operations, each failed once", n)
			return
		}
	}
}

// recoveredAfterFault opens what is left on a file system that works again.
func recoveredAfterFault(left kv.FS, acked, tried map[string]string) error {
	s, err := kv.Open(kv.Options{FS: left, Dir: "data", IDs: kvtest.IDs(1), NoBackground: true, CacheBytes: 4 << 20, MemTableBytes: 256 << 10})
	if err != nil {
		return err
	}
	root, err := s.Root(ctx, "test", "tenant", "a")
	if err != nil {
		return errors.Join(err, s.Close())
	}
	err = s.View(ctx, root, func(v *kv.View) error {
		for name, want := range acked {
			got, ok, err := v.Get(rowKey(root, name))
			if err != nil {
				return err
			}
			// An update that was not acknowledged may be there all the same.
			if !ok || string(got.Bytes) != want && string(got.Bytes) != tried[name] {
				return fmt.Errorf("KV-11: %s was acknowledged and is lost", name)
			}
		}
		return nil
	})
	return errors.Join(err, s.Check(ctx).Err(), s.Close())
}
