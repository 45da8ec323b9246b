package workbench_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// stands is the word in the manifest of the commit that wb1 stands on, "" for
// none, as the tools tell it: they must agree, and tell of all or nothing.
func (b *bench) stands() string {
	b.t.Helper()
	found, err := b.Find(ctx, &op.WorkbenchFindRequest{IncludeManifest: ptr(true)})
	if err != nil || len(found.Matches) != 1 {
		b.t.Fatalf("%+v, %v", found, err)
	}
	m := found.Matches[0]
	f, err := b.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "metadata", Path: "run_manifest.json"})
	if fault.Is(err, op.ReasonWBNotFound) {
		if m.Committed || m.CommitIdentity != nil || len(m.Manifest) > 0 {
			b.t.Errorf("no manifest, and find tells of %+v", m)
		}
		return ""
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.t.Error(err)
	}
	if !m.Committed || !m.CommitIdentityVerified {
		b.t.Errorf("a manifest, and find tells of %+v", m)
	}
	_, word, _ := strings.Cut(b.manifest(), `{"run":"`)
	return word[:1]
}

// The power is cut before every write of a commit in turn: of a first one, or of
// one that replaces another. What is there afterwards is nothing of it or all of
// it (WB-18). The next process takes what was prepared to its end, with the first
// time (WB-19, WB-20), and the exact retry gets one and the same answer.
func testPowerCutsInACommit(t *testing.T, replacing bool) {
	before, generation := "", int64(1)
	if replacing {
		before, generation = "A", 2
	}
	finished, unheard := 0, 0
	for cut := 1; ; cut++ {
		crash := kvtest.NewCrashFS()
		var at kv.FS
		ops, armed := 0, false
		var mu sync.Mutex
		arm := func(on bool) {
			mu.Lock()
			defer mu.Unlock()
			armed = on
		}
		fs := kvtest.Intercept(crash, func(o kvtest.FileOp) error {
			mu.Lock()
			defer mu.Unlock()
			if armed && o.Write {
				if ops++; ops == cut && at == nil {
					at = kvtest.CrashClone(crash, uint64(cut))
				}
			}
			return nil
		})
		b := &bench{env: kvtest.New(t, func(o *kv.Options) { o.FS = fs }), t: t}
		b.open()
		b.put("a.txt", "one")
		if err := b.Fill(ctx, "wb1", "outputs/dir", 30); err != nil {
			t.Fatal(err)
		}
		if replacing {
			b.commit(`{"run":"A"}`, 1, false)
		}
		arm(true)
		first := b.commit(`{"run":"B"}`, 2, replacing)
		arm(false)
		b.closeBodies()
		if at == nil {
			if cut < 5 {
				t.Fatalf("a commit had only %d writes", cut)
			}
			break
		}
		s, err := kv.Open(kv.Options{FS: at, Dir: b.env.Dir(), NoBackground: true, Clock: b.env.Clock, IDs: kvtest.IDs(9), CacheBytes: 4 << 20, MemTableBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		after := &bench{env: &kvtest.Env{Store: s, Clock: b.env.Clock}, t: t}
		after.open()
		if word := after.stands(); word != before && word != "B" {
			t.Errorf("cut %d: it stands on %q", cut, word)
		}
		if err := s.Check(ctx).Err(); err != nil {
			t.Errorf("cut %d: before the recovery: %v", cut, err)
		}
		b.env.Clock.Advance(time.Hour)
		if err := after.Recover(ctx); err != nil {
			t.Errorf("cut %d: recovery: %v", cut, err)
		}
		published := after.stands() == "B"
		if published {
			finished++
		} else if word := after.stands(); word == before {
			unheard++
		} else {
			t.Errorf("cut %d: after the recovery it stands on %q", cut, word)
		}
		again, err := after.Commit(ctx, commitOf(`{"run":"B"}`, 2, replacing))
		if err != nil || again.IdempotentReplay != published || again.Generation != generation {
			t.Errorf("cut %d, published %v: %+v %v, want %+v", cut, published, again, err, first)
		} else if published && (again.EnvelopeDigestURI != first.EnvelopeDigestURI || again.TreeDigestURI != first.TreeDigestURI) {
			t.Errorf("cut %d: the envelope is another: its time is not the first one: %+v, want %+v", cut, again, first)
		}
		once, err := after.Commit(ctx, commitOf(`{"run":"B"}`, 2, replacing))
		if again.IdempotentReplay = true; err != nil || *once != *again {
			t.Errorf("cut %d: once more: %+v %v, want %+v", cut, once, err, again)
		}
		if int64(after.holds(2)) != generation {
			t.Errorf("cut %d: %d holds of commits, want %d", cut, after.holds(2), generation)
		}
		if err := errors.Join(s.Check(ctx).Err(), after.bodies.Close(), s.Close()); err != nil {
			t.Errorf("cut %d: %v", cut, err)
		}
	}
	if finished == 0 || unheard == 0 {
		t.Errorf("after %d cuts the commit was there, after %d it was not", finished, unheard)
	}
}

func TestPowerCutsInAFirstCommit(t *testing.T) { testPowerCutsInACommit(t, false) }

func TestPowerCutsInACommitThatReplaces(t *testing.T) { testPowerCutsInACommit(t, true) }
