package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// script is a sequence of uploads, publications, appends, forks, drops and
// collections, and an oracle of what they leave. It runs on a file system that
// may fail at any operation.
type script struct {
	fs    kv.FS
	clock *clock.Fake
	died  func(error)

	mu sync.Mutex
	// acked holds what was acknowledged. pending is the one change that was begun
	// and not: it may be there or not. A nil body is no row.
	acked   map[string][]byte
	pending map[string][]byte

	store *kv.Store
	blobs *Store
	root  kv.Root
	// errs holds what the steps returned.
	errs []error
}

func newScript(fs kv.FS) *script {
	return &script{fs: fs, clock: clock.NewFake(kvtest.Epoch), acked: map[string][]byte{}, died: func(error) {}}
}

func (s *script) options() kv.Options {
	return kv.Options{FS: s.fs, Dir: "data", Clock: s.clock, IDs: kvtest.IDs(1), NoBackground: true,
		CacheBytes: 1 << 20, MemTableBytes: 1 << 20, BallastBytes: -1, Fatal: s.died}
}

func (s *script) open() error {
	store, err := kv.Open(s.options())
	if err != nil {
		return err
	}
	s.store = store
	if s.blobs, err = openBlobs(store); err != nil {
		return err
	}
	s.root, err = store.Root(ctx, "workbench", "tenant", "r")
	return err
}

// change runs a step that leaves these bodies under these names.
func (s *script) change(after map[string][]byte, step func() error) {
	s.mu.Lock()
	s.pending = after
	s.mu.Unlock()
	err := step()
	s.errs = append(s.errs, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		maps.Copy(s.acked, after)
		s.pending = nil
		return
	}
	// Whether a change that failed took effect is known after a look.
	for name := range after {
		if got, err := tryRead(s.store, s.blobs, s.root, name); err == nil {
			s.acked[name] = got
		}
	}
	s.pending = nil
}

func (s *script) put(name string, data []byte) {
	s.change(map[string][]byte{name: data}, func() error { return tryPut(s.store, s.blobs, s.root, name, data) })
}

func (s *script) append(name string, data []byte) {
	if s.acked[name] == nil {
		return // an earlier step failed
	}
	after := append(bytes.Clone(s.acked[name]), data...)
	s.change(map[string][]byte{name: after}, func() error { return tryAppend(s.store, s.blobs, s.root, name, data) })
}

func (s *script) copy(from, to string) {
	if s.acked[from] == nil {
		return
	}
	s.change(map[string][]byte{to: s.acked[from]}, func() error {
		return s.store.Update(ctx, s.root, func(tx *kv.Tx) error {
			body, err := get(tx, s.root, from)
			if err == nil {
				tx.Put(rowKey(s.root, to), rowOf(body))
			}
			return err
		})
	})
}

func (s *script) drop(name string) {
	s.change(map[string][]byte{name: nil}, func() error {
		return s.store.Update(ctx, s.root, func(tx *kv.Tx) error { tx.Delete(rowKey(s.root, name)); return nil })
	})
}

// expire lets the history pass, reaps and collects.
func (s *script) expire() {
	s.clock.Advance(time.Hour)
	_, reapErr := s.store.Reap(ctx)
	_, err := s.blobs.Collect(ctx)
	s.errs = append(s.errs, reapErr, err)
}

// abandon begins uploads and gives them up at different moments.
func (s *script) abandon() {
	w := s.blobs.Create(ctx, s.root)
	_, err := w.Write(make([]byte, large))
	w.Abort()
	d, putErr := s.blobs.PutBytes(ctx, s.root, make([]byte, large))
	if putErr == nil {
		d.Release()
	}
	s.errs = append(s.errs, err, putErr)
}

func (s *script) run() {
	if err := s.open(); err != nil {
		s.errs = append(s.errs, err)
		return
	}
	s.put("small", []byte("inline"))
	s.put("rows", pattern(1, 10_000))
	s.put("file", pattern(2, large))
	s.append("small", pattern(3, 5000))
	s.append("rows", pattern(4, 3000))
	s.copy("rows", "fork")
	s.append("rows", pattern(5, 3000))
	s.append("fork", pattern(6, 5000))
	s.abandon()
	s.append("file", pattern(7, large))
	s.drop("rows")
	s.expire()
	s.put("file", pattern(8, large))
	s.append("fork", pattern(9, 2000))
	s.copy("file", "copy")
	s.drop("file")
	s.expire()
	s.append("copy", pattern(10, 9000))
	s.errs = append(s.errs, s.blobs.Close(), s.store.Close())
}

// clean is an error when nothing of a body should be left but what the rows
// hold, and something is.
func clean(e *script) error {
	if _, err := e.blobs.Collect(ctx); err != nil {
		return err
	}
	var segments, others int
	err := e.store.Update(ctx, e.root, func(tx *kv.Tx) error {
		segments, others = 0, 0
		for _, space := range []byte{keys.SpaceSegment, keys.SpaceStaging, keys.SpaceLooseFile, keys.SpaceLooseList} {
			it := scanFrom(tx, space, nil, 0)
			for it.Next() {
				if space == keys.SpaceSegment {
					segments++
				} else {
					others++
				}
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	names, err := e.fs.List(e.blobs.rootDir(e.root.ID()))
	if err != nil && segments > 0 {
		return err
	}
	if len(names) != segments || others != 0 {
		return fmt.Errorf("%d files for %d segments; %d rows of uploads and of loose things (BLOB-6)", len(names), segments, others)
	}
	return nil
}

// strays is an error when a file has no row (BLOB-6).
func strays(e *script) error {
	names, err := e.fs.List(e.blobs.rootDir(e.root.ID()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return e.store.Update(ctx, e.root, func(tx *kv.Tx) error {
		for _, name := range names {
			id, ok := parseSegmentName(name)
			if !ok {
				return fmt.Errorf("a file of name %s", name)
			}
			if known, err := e.blobs.knows(tx, id); err != nil || !known {
				return fmt.Errorf("file %s has no row (BLOB-6), %v", name, err)
			}
		}
		return nil
	})
}

// aftermath opens what is left on fs and compares it with the oracle: everything
// that was acknowledged, and of the one pending change all or nothing.
func aftermath(fs kv.FS, acked, pending map[string][]byte) (err error) {
	e := newScript(fs)
	e.clock.Advance(24 * time.Hour)
	if err := e.open(); err != nil {
		return fmt.Errorf("opening again: %w", err)
	}
	defer func() { err = errors.Join(err, e.blobs.Close(), e.store.Close()) }()
	names := maps.Clone(acked)
	maps.Copy(names, pending)
	for name := range names {
		got, err := tryRead(e.store, e.blobs, e.root, name)
		if err != nil && !errors.Is(err, errNoRow) {
			return fmt.Errorf("%s: %w", name, err)
		}
		missing := errors.Is(err, errNoRow)
		is := func(want []byte, known bool) bool {
			return known && missing == (want == nil) && bytes.Equal(got, want)
		}
		may, pends := pending[name]
		was, acknowledged := acked[name]
		if !is(was, true) && !is(may, pends) {
			return fmt.Errorf("%s: %d bytes (missing: %v), acknowledged %d (%v), pending %d (%v)", name, len(got), missing, len(was), acknowledged, len(may), pends)
		}
	}
	// Reaped or not, collected or not: the store is consistent, and then clean.
	if err := errors.Join(strays(e), e.store.Check(ctx).Err(), clean(e)); err != nil {
		return err
	}
	if _, err := e.store.Reap(ctx); err != nil {
		return err
	}
	return errors.Join(clean(e), e.store.Check(ctx).Err())
}

// BLOB-1, 5, 6: the power fails before each operation of the script that
// changes the disk. kv and blob lie on one file system, so one cut goes through
// both.
func TestPowerCutAtEveryOperation(t *testing.T) {
	base := kvtest.NewCrashFS()
	var s *script
	var cutting sync.Mutex
	cuts := uint64(0)
	s = newScript(kvtest.Intercept(base, func(o kvtest.FileOp) error {
		if !o.Write {
			return nil
		}
		cutting.Lock()
		defer cutting.Unlock()
		cuts++
		for seed := range uint64(kvtest.Draws(6, 50)) { // how much of what was not synced is there
			s.mu.Lock()
			left := kvtest.CrashClone(base, 1000*cuts+seed)
			acked, pending := maps.Clone(s.acked), maps.Clone(s.pending)
			s.mu.Unlock()
			if err := aftermath(left, acked, pending); err != nil {
				t.Errorf("cut %d with seed %d, before an operation on %s: %v", cuts, seed, o.Path, err)
			}
		}
		return nil
	}))
	s.run()
	if err := errors.Join(s.errs...); err != nil {
		t.Fatal(err)
	}
	if cuts < 150 {
		t.Errorf("only %d operations", cuts)
	}
	t.Logf("%d power cuts", cuts)
}

var errInjected = errors.New("injected: input/output error")

// bodiesFile says whether an operation is on this package's files.
func bodiesFile(o kvtest.FileOp) bool { return strings.Contains(o.Path, bodiesDir) }

// Each operation on this package's files fails once. The step that needed it
// says so, the store stays good, later steps work, and nothing is left behind.
func TestEveryFileOperationMayFail(t *testing.T) {
	for n := 0; ; n++ {
		base := kvtest.NewCrashFS()
		var mu sync.Mutex
		count, hit := 0, ""
		s := newScript(kvtest.Intercept(base, func(o kvtest.FileOp) error {
			if !bodiesFile(o) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			count++
			if count-1 != n {
				return nil
			}
			hit = fmt.Sprintf("operation %d, on %s (write: %v)", n, o.Path, o.Write)
			return errInjected
		}))
		s.run()
		err := errors.Join(s.errs...)
		if hit == "" {
			if err != nil {
				t.Fatalf("nothing failed, and the script says %v", err)
			}
			t.Logf("%d operations, each failed once", n)
			return
		}
		if err == nil {
			t.Errorf("%s failed, and nobody was told", hit)
		}
		if err != nil && !errors.Is(err, errInjected) {
			t.Errorf("%s failed; the script says something else: %v", hit, err)
		}
		// Closed or not, what is left is what a power cut leaves.
		if err := aftermath(kvtest.CrashClone(base, uint64(n)), s.acked, nil); err != nil {
			t.Errorf("%s failed; afterwards: %v", hit, err)
		}
	}
}

// The disk is full for a while: whatever needs space is refused with its reason,
// reads go on, and so does everything once there is space again.
func TestFullDisk(t *testing.T) {
	base := kvtest.NewCrashFS()
	full := false
	s := newScript(kvtest.Intercept(base, func(o kvtest.FileOp) error {
		if full && o.Write && bodiesFile(o) {
			return fmt.Errorf("write: %w", syscall.ENOSPC)
		}
		return nil
	}))
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	s.put("file", pattern(1, large))
	full = true
	for range 3 {
		if err := tryPut(s.store, s.blobs, s.root, "file", pattern(2, large)); !fault.Is(err, op.ReasonResourceExhausted) {
			t.Errorf("put on a full disk: %v", err)
		}
		if err := tryAppend(s.store, s.blobs, s.root, "file", pattern(2, large)); !fault.Is(err, op.ReasonResourceExhausted) {
			t.Errorf("append on a full disk: %v", err)
		}
		if got, err := tryRead(s.store, s.blobs, s.root, "file"); err != nil || !bytes.Equal(got, pattern(1, large)) {
			t.Errorf("read on a full disk: %d bytes, %v", len(got), err)
		}
	}
	full = false
	s.append("file", pattern(3, large))
	s.put("other", pattern(4, large))
	if err := errors.Join(errors.Join(s.errs...), clean(s), s.blobs.Close(), s.store.Close()); err != nil {
		t.Error(err)
	}
	if err := aftermath(kvtest.CrashClone(base, 1), s.acked, nil); err != nil {
		t.Error(err)
	}
}

// Below the floor of free space an upload is refused before the disk is full.
func TestUploadStopsAtTheFloor(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 30)
	e := newEnv(t, func(o *kv.Options) {
		o.FS = kvtest.WithFreeSpace(o.FS, free.Load)
		o.FreeSpaceFloorBytes, o.BallastBytes = 100<<20, -1
	})
	e.put("a", pattern(1, large))
	w := e.blobs.Create(ctx, e.root)
	defer w.Abort()
	if _, err := io.CopyN(w, zeros{}, 2*syncEvery); err != nil {
		t.Fatal(err)
	}
	free.Store(99 << 20)
	if n, err := io.CopyN(w, zeros{}, 100*syncEvery); !fault.Is(err, op.ReasonResourceExhausted) || n > 2*syncEvery {
		t.Errorf("below the floor the upload goes on for %d bytes, %v", n, err)
	}
	w.Abort()
	e.expect("a", pattern(1, large))
	free.Store(1 << 30)
	e.Clock.Advance(time.Minute)
	e.put("b", pattern(2, large))
	e.collect()
	if len(e.files()) != 2 {
		t.Errorf("files: %v", e.files())
	}
}
