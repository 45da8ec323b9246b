// Package kvtest opens stores for tests, and holds the kit of tests that every
// implementation of the storage interface passes.
package kvtest

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// Epoch is where the fake clock of a test's store begins.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Env is a store in memory, on a fake clock, with seeded ids and nothing in the
// background. At the end of the test it is checked and closed.
type Env struct {
	*kv.Store
	Clock *clock.Fake
	// Options are those that the store was opened with; Reopen and Crash use them.
	Options kv.Options

	t  testing.TB
	fs *vfs.MemFS
}

// New opens a store for a test. Each change is applied to its options before.
func New(t testing.TB, changes ...func(*kv.Options)) *Env {
	t.Helper()
	e := &Env{t: t, Clock: clock.NewFake(Epoch), fs: vfs.NewCrashableMem()}
	e.Options = kv.Options{
		FS: e.fs, Dir: "data", Clock: e.Clock, IDs: IDs(1), NoBackground: true,
		CacheBytes: 1 << 20, MemTableBytes: 1 << 20,
		Fatal: func(err error) { t.Errorf("the store died: %v", err) },
	}
	for _, change := range changes {
		change(&e.Options)
	}
	e.open()
	t.Cleanup(func() {
		if err := e.Store.Check(context.Background()).Err(); err != nil {
			t.Error(err)
		}
		if err := e.Store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return e
}

func (e *Env) open() {
	e.t.Helper()
	s, err := kv.Open(e.Options)
	if err != nil {
		e.t.Fatalf("opening the store: %v", err)
	}
	e.Store = s
}

// Root registers a root, or ends the test.
func (e *Env) Root(area, name string) kv.Root {
	e.t.Helper()
	root, err := e.Store.Root(context.Background(), area, "tenant", name)
	if err != nil {
		e.t.Fatalf("root %s/%s: %v", area, name, err)
	}
	return root
}

// Reopen closes the store and opens it again. Handles of roots are of the closed
// store: get them anew.
func (e *Env) Reopen() {
	e.t.Helper()
	if err := e.Store.Close(); err != nil {
		e.t.Fatalf("closing the store: %v", err)
	}
	e.open()
}

// Crash cuts the power: what was not synced is lost, in whole or in part as the
// seed decides. It opens the store on what is left. The old incarnation is
// closed afterwards, on files that nobody looks at any more.
func (e *Env) Crash(seed uint64) {
	e.t.Helper()
	if e.Options.FS != e.fs {
		e.t.Fatal("kvtest: Crash needs the file system that New made")
	}
	left := CrashClone(e.fs, seed)
	if err := e.Store.Close(); err != nil {
		e.t.Fatalf("closing the store: %v", err)
	}
	e.fs = left.(*vfs.MemFS)
	e.Options.FS = e.fs
	e.open()
}

// NewCrashFS returns a file system in memory for CrashClone.
func NewCrashFS() kv.FS { return vfs.NewCrashableMem() }

// CrashClone returns a file system of NewCrashFS as it would be found after the
// power had been cut now. How much of what was not synced is there is drawn from
// the seed.
//
// The draw takes each name in a directory by itself. Pebble relies on a little
// more: that the newer of two names is not there without the older one, when it
// creates a manifest and then the marker that points to it. Journaling file
// systems give that; a draw that does not is drawn again.
func CrashClone(fs kv.FS, seed uint64) kv.FS {
	rng := rand.New(rand.NewPCG(seed, 0x5AE))
	percent := rng.IntN(101)
	for {
		clone := fs.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		if !dangling(clone, "/") {
			return clone
		}
	}
}

// dangling reports whether the newest marker in a directory below dir points to
// a manifest that is not there.
func dangling(fs *vfs.MemFS, dir string) bool {
	names, err := fs.List(dir)
	if err != nil {
		return false // a file
	}
	slices.Sort(names) // markers by their number
	target := ""
	for _, name := range names {
		if _, pointer, ok := strings.Cut(name, "marker.manifest."); ok {
			_, target, _ = strings.Cut(pointer, ".")
		}
		if dangling(fs, fs.PathJoin(dir, name)) {
			return true
		}
	}
	return target != "" && !slices.Contains(names, target)
}

// IDs returns an id source that gives the same ids for the same seed.
func IDs(seed byte) io.Reader {
	return &lockedSource{src: rand.NewChaCha8([32]byte{seed})}
}

type lockedSource struct {
	mu  sync.Mutex
	src *rand.ChaCha8
}

func (l *lockedSource) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.Read(p)
}
