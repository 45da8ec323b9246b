package workbench_test

import (
	"context"
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

// The power is cut before each write of a restore in turn. What is left is no
// destination or all of it; the next process takes the restore to its end, or has
// never heard of it, and an equal call gets one answer either way. lose makes a
// workbench appear under the destination's id meanwhile, so that it is given up.
func testPowerCuts(t *testing.T, lose bool) {
	finished, cleared := 0, 0
	for cut := 1; ; cut++ {
		crash := kvtest.NewCrashFS()
		var at kv.FS
		ops, armed := 0, false
		var mu sync.Mutex
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
		b.put("src/a", "one")
		b.put("src-gen/a", "two")
		if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "big", Base64: b64(pattern(200 << 10))}); err != nil {
			t.Fatal(err)
		}
		if err := b.Fill(ctx, "wb1", "outputs/dir", 220); err != nil {
			t.Fatal(err)
		}
		b.commit(`{"run":"A"}`, 1, false)
		id := b.snapshot("s", nil).SnapshotID
		want := without(b.tree("wb1", 0), runPath)
		if lose {
			b.OnStep(func(step string) {
				if step == "restore copied" {
					if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb2"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		mu.Lock()
		armed = true
		mu.Unlock()
		first, err := b.restore("wb1", "wb2", id)
		if lose != fault.Is(err, op.ReasonWBRestoreConflict) || !lose && err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		armed = false
		done := at == nil
		mu.Unlock()
		b.closeBodies()
		if done {
			if cut < 8 {
				t.Fatalf("a restore had only %d writes", cut)
			}
			break
		}
		s, err := kv.Open(kv.Options{FS: at, Dir: b.env.Dir(), NoBackground: true, Clock: b.env.Clock, IDs: kvtest.IDs(9), CacheBytes: 4 << 20, MemTableBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		after := &bench{env: &kvtest.Env{Store: s, Clock: b.env.Clock}, t: t}
		after.open()
		if err := s.Check(ctx).Err(); err != nil {
			t.Errorf("cut %d: before the recovery: %v", cut, err)
		}
		under, err := after.Restores(ctx)
		if err != nil {
			t.Fatal(err)
		}
		b.env.Clock.Advance(time.Hour)
		if err := after.Recover(ctx); err != nil {
			t.Errorf("cut %d: recovery: %v", cut, err)
		}
		finished += under
		after.expectCleared()
		again, err := after.restore("wb1", "wb2", id)
		switch {
		case err == nil:
			if first != nil && again.OperationID != first.OperationID || under > 0 && !again.IdempotentReplay {
				t.Errorf("cut %d: %+v, want %+v", cut, again, first)
			}
			same(t, without(after.tree("wb2", 0), runPath, restorePath), want)
			if after.bodyOf("wb2", "outputs", "src-gen/a") != "two" {
				t.Errorf("cut %d: another body", cut)
			}
			if after.holds(2) != 2 {
				t.Errorf("cut %d: %d holds of commits, want two", cut, after.holds(2))
			}
		case lose && fault.Is(err, op.ReasonWBRestoreConflict):
			cleared++
		default:
			t.Errorf("cut %d: %v", cut, err)
		}
		after.expectCleared()
		if _, err := after.retire(id, nil); err != nil {
			t.Errorf("cut %d: the snapshot is not free: %v", cut, err)
		}
		if err := errors.Join(s.Check(ctx).Err(), after.bodies.Close(), s.Close()); err != nil {
			t.Errorf("cut %d: %v", cut, err)
		}
		if t.Failed() {
			return
		}
	}
	if finished == 0 || lose && cleared == 0 {
		t.Errorf("%d cuts left a restore under way, %d came after it was given up", finished, cleared)
	}
}

func TestPowerCutsInARestore(t *testing.T)              { testPowerCuts(t, false) }
func TestPowerCutsInARestoreThatIsGivenUp(t *testing.T) { testPowerCuts(t, true) }

// A caller that leaves does not stop its restore.
func TestARestoreGoesOnWithoutItsCaller(t *testing.T) {
	b := committed(t)
	if err := b.Fill(ctx, "wb1", "outputs/dir", 300); err != nil {
		t.Fatal(err)
	}
	id := b.snapshot("s", nil).SnapshotID
	gone, leave := context.WithCancel(ctx)
	goOn := make(chan struct{})
	b.OnStep(func(step string) {
		if step == "restore prepared" {
			leave()
			<-goOn
		}
	})
	_, err := b.Restore(gone, &op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb2", AtSnapshot: at(id)})
	refused(t, err, op.ReasonCancelled)
	close(goOn)
	if res := b.mustRestore("wb1", "wb2", id); !res.IdempotentReplay {
		t.Errorf("%+v", res)
	}
}

// A process that ends in the middle of a restore leaves it to the next, which
// goes on where it was: after the lease too, and without a second copy.
func TestARestoreGoesOnInTheNextProcess(t *testing.T) {
	b := committed(t)
	if err := b.Fill(ctx, "wb1", "outputs/dir", 1000); err != nil {
		t.Fatal(err)
	}
	id := b.snapshot("s", nil).SnapshotID
	steps := 0
	b.OnStep(func(step string) {
		if step == "restore step" {
			if steps++; steps == 3 {
				b.Stop()
			}
		}
	})
	if _, err := b.restore("wb1", "wb2", id); !fault.Is(err, op.ReasonCancelled) {
		t.Fatal(err)
	}
	b.reopen()
	b.env.Clock.Advance(90 * day)
	b.fire()
	b.forget()
	b.expectStates("1:expired")
	rest := 0
	b.OnStep(func(step string) {
		if step == "restore step" {
			rest++
		}
	})
	// The caller asks again before the background has come round to it.
	if res := b.mustRestore("wb1", "wb2", id); *res.SnapshotID != id {
		t.Errorf("%+v", res)
	}
	if steps+rest != 13 {
		t.Errorf("%d steps and then %d, want 13", steps, rest)
	}
	b.OnStep(nil)
	if err := b.Recover(ctx); err != nil {
		t.Error(err)
	}
	if n := len(b.tree("wb2", 0)); n != 1002 {
		t.Errorf("%d files", n)
	}
	b.fire()
	b.expectStates("1:reaped")
	if text := b.bodyOf("wb2", "metadata", "run_manifest.json"); !strings.Contains(text, `"committed_at_unix_seconds":`) {
		t.Error(text)
	}
}

// A restore of 100,000 files, on a store in memory.
func TestALargeRestore(t *testing.T) {
	const files = 100_000
	b := committed(t)
	if err := b.Fill(ctx, "wb1", "outputs/dir", files); err != nil {
		t.Fatal(err)
	}
	id := b.snapshot("s", nil).SnapshotID
	began := time.Now()
	b.mustRestore("wb1", "wb2", id)
	t.Logf("%d files in %v", files, time.Since(began))
	same := 0
	one, two := b.tree("wb1", 0), b.tree("wb2", 0)
	for path, file := range one {
		if two[path] == file {
			same++
		}
	}
	if same != files || len(two) != files+2 {
		t.Errorf("%d of %d are the same", same, len(two))
	}
}
