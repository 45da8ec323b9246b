package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// gated is a store whose log can be held back.
type gated struct {
	*Store
	mem  *vfs.MemFS
	gate *gateFS
	root Root
	died atomic.Pointer[error]
}

func openGated(t *testing.T, changes ...func(*Options)) *gated {
	t.Helper()
	g := &gated{mem: vfs.NewCrashableMem()}
	g.gate = newGateFS(g.mem)
	o := Options{FS: g.gate, Dir: "data", NoBackground: true, CacheBytes: 8 << 20, MemTableBytes: 1 << 20,
		Fatal: func(err error) { g.died.Store(&err) }}
	for _, change := range changes {
		change(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	g.Store = s
	if g.root, err = s.Root(context.Background(), "test", "tenant", "a"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.gate.open()
		if err := s.Close(); err != nil && !errors.Is(err, ErrClosed) && g.died.Load() == nil {
			t.Error(err)
		}
	})
	return g
}

// afterPowerCut returns the value of a row in a store that is opened on what a
// power cut leaves when nothing unsynced survives.
func (g *gated) afterPowerCut(t *testing.T, key []byte) (value string, ok bool) {
	t.Helper()
	fs := g.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 1))})
	s, err := Open(Options{FS: fs, Dir: "data", NoBackground: true, CacheBytes: 8 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.Root(context.Background(), "test", "tenant", "a")
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(context.Background(), root, func(v *View) error {
		got, found, err := v.Get(key)
		value, ok = string(got.Bytes), found
		return err
	})
	if err := errors.Join(err, s.Check(context.Background()).Err(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return value, ok
}

func testKey(root Root, name string) []byte {
	return keys.AppendText(keys.AppendPrefix(nil, keys.SpacePathRecord, root.ID()), name)
}

// waitsForSync returns when an update has run and waits for the update before it,
// or ends the test when it was answered instead.
func (g *gated) waitsForSync(t *testing.T, answered <-chan error) {
	t.Helper()
	for {
		select {
		case err := <-answered:
			t.Fatalf("KV-3: answered (%v) before what it saw was durable", err)
		default:
		}
		g.mark.mu.Lock()
		n := len(g.mark.waiters)
		g.mark.mu.Unlock()
		if n > 0 {
			return
		}
		runtime.Gosched()
	}
}

// The heart of the store: a refusal cites a put that is applied and not synced.
// Were it answered at once, a power cut would make it a lie.
func TestARefusalWaitsForWhatItSaw(t *testing.T) {
	taken := errors.New("taken")
	for _, c := range []struct {
		name string
		fn   func(tx *Tx) error
		want error
	}{
		{"refusal", func(tx *Tx) error { return taken }, taken},
		{"no change", func(tx *Tx) error { return nil }, nil},
		{"deletion of nothing", func(tx *Tx) error { tx.Delete(testKey(tx.Root(), "other")); return nil }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := openGated(t)
			key := testKey(g.root, "x")
			g.gate.hold()
			applied, put := make(chan struct{}), make(chan error, 1)
			go func() {
				put <- g.Update(context.Background(), g.root, func(tx *Tx) error {
					defer close(applied)
					tx.Put(key, []byte("mine"))
					return nil
				})
			}()
			<-applied
			answered := make(chan error, 1)
			saw := ""
			go func() {
				answered <- g.Update(context.Background(), g.root, func(tx *Tx) error {
					got, _, err := tx.Get(key)
					saw = string(got.Bytes)
					if err != nil {
						return err
					}
					return c.fn(tx)
				})
			}()
			g.waitsForSync(t, answered)
			if _, ok := g.afterPowerCut(t, key); ok {
				t.Fatal("the put was durable already: the test shows nothing")
			}
			// Nor does a View show it.
			err := g.View(context.Background(), g.root, func(v *View) error {
				if _, ok, err := v.Get(key); ok || err != nil || v.Revision() != 0 {
					t.Errorf("KV-4: a View at %d shows what could be lost (%v, %v)", v.Revision(), ok, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-put:
				t.Fatalf("KV-3: the put was acknowledged (%v) before its sync", err)
			default:
			}
			g.gate.open()
			if err := <-put; err != nil {
				t.Fatal(err)
			}
			if err := <-answered; !errors.Is(err, c.want) {
				t.Fatalf("answer %v, want %v", err, c.want)
			}
			if saw != "mine" {
				t.Fatalf("the closure saw %q", saw)
			}
			if got, ok := g.afterPowerCut(t, key); !ok || got != "mine" {
				t.Fatalf("KV-3: after a power cut: %q, %v", got, ok)
			}
		})
	}
}

func TestAWakeUpComesAfterTheSync(t *testing.T) {
	g := openGated(t)
	g.gate.hold()
	var woken atomic.Bool
	applied, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- g.Update(context.Background(), g.root, func(tx *Tx) error {
			defer close(applied)
			tx.Put(testKey(g.root, "x"), nil)
			tx.OnDurable(func() { woken.Store(g.root.state.durable.Load() == 1) })
			return nil
		})
	}()
	<-applied
	if woken.Load() {
		t.Fatal("woken before the sync")
	}
	g.gate.open()
	if err := <-done; err != nil || !woken.Load() {
		t.Fatalf("after the sync: %v, woken at the watermark: %v", err, woken.Load())
	}
	refused := errors.New("refused")
	err := g.Update(context.Background(), g.root, func(tx *Tx) error {
		tx.Put(testKey(g.root, "y"), nil)
		tx.OnDurable(func() { t.Error("woken by an update that failed") })
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
}

func TestALogThatFailsKillsTheStore(t *testing.T) {
	g := openGated(t)
	if err := g.Update(context.Background(), g.root, func(tx *Tx) error {
		tx.Put(testKey(g.root, "x"), []byte("kept"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	eio := errors.New("injected: input/output error")
	g.gate.failWith(eio)
	err := g.Update(context.Background(), g.root, func(tx *Tx) error {
		tx.Put(testKey(g.root, "x"), []byte("lost"))
		return nil
	})
	if !errors.Is(err, ErrDead) {
		t.Fatalf("KV-11: an update whose sync failed was answered with %v", err)
	}
	died := g.died.Load()
	if died == nil || !errors.Is(*died, eio) {
		t.Fatalf("KV-11: Fatal was told %v", died)
	}
	g.gate.failWith(nil)
	if err := g.Update(context.Background(), g.root, func(*Tx) error { return nil }); !errors.Is(err, ErrDead) {
		t.Fatalf("KV-11: a later update: %v", err)
	}
	if err := g.View(context.Background(), g.root, func(*View) error { return nil }); !errors.Is(err, ErrDead) {
		t.Fatalf("KV-11: a later view: %v", err)
	}
	if got, _ := g.afterPowerCut(t, testKey(g.root, "x")); got != "kept" {
		t.Fatalf("KV-11: after the restart: %q", got)
	}
}
