package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/events"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

var ctx = context.Background()

// env is a store with its log; crashing and reopening it opens the log anew.
type env struct {
	*kvtest.Env
	*testing.T
	log *events.Log
}

func newEnv(t *testing.T) *env {
	e := &env{Env: kvtest.New(t), T: t}
	e.log = events.Open(e.Store)
	return e
}

func (e *env) root() kv.Root { return e.Root("jobs", "r") }

func (e *env) append(stream string, texts ...string) (last uint64) {
	e.Helper()
	err := e.Update(ctx, e.root(), func(tx *kv.Tx) error {
		for _, text := range texts {
			var err error
			if last, err = e.log.Append(tx, stream, []byte(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.Fatal(err)
	}
	return last
}

func (e *env) trim(stream string, before uint64) (done bool) {
	e.Helper()
	err := e.Update(ctx, e.root(), func(tx *kv.Tx) (err error) {
		done, err = e.log.Trim(tx, stream, before)
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	return done
}

// read returns head and events of a stream in one View.
func (e *env) read(stream string, from uint64, limit int) (head events.Head, got []string, next uint64, err error) {
	err = e.View(ctx, e.root(), func(v *kv.View) error {
		if head, err = events.HeadOf(v, v.Root(), stream); err != nil {
			return err
		}
		next, err = events.Read(v, v.Root(), stream, from, limit, func(sequence uint64, event []byte) error {
			got = append(got, fmt.Sprintf("%d:%s", sequence, event))
			return nil
		})
		return err
	})
	return head, got, next, err
}

func (e *env) expect(stream string, from uint64, limit int, want ...string) {
	e.Helper()
	_, got, _, err := e.read(stream, from, limit)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		e.Errorf("%s from %d: got %v, %v, want %v", stream, from, got, err, want)
	}
}

// EVT-1.
func TestSequencesAreGapFree(t *testing.T) {
	e := newEnv(t)
	if head, _, _, err := e.read("a", 1, 0); err != nil || head != (events.Head{First: 1}) {
		t.Errorf("a stream without events: %+v, %v", head, err)
	}
	if last := e.append("a", "one", "two"); last != 2 {
		t.Errorf("two appends in one update end at %d", last)
	}
	e.append("a\x00b", "other")
	e.append("a", "three")
	e.expect("a", 1, 0, "1:one", "2:two", "3:three")
	e.expect("a", 2, 1, "2:two")
	e.expect("a", 4, 0)
	e.expect("a", 99, 0)
	e.expect("a\x00b", 1, 0, "1:other")

	failure := errors.New("no")
	err := e.Update(ctx, e.root(), func(tx *kv.Tx) error {
		if _, err := e.log.Append(tx, "a", []byte("never")); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if last := e.append("a", "four"); last != 4 {
		t.Errorf("after a failed update the sequence is %d", last)
	}
	e.Reopen()
	e.log = events.Open(e.Store)
	if last := e.append("a", "five"); last != 5 {
		t.Errorf("after a restart the sequence is %d", last)
	}
}

func TestTrimKeepsTheSequence(t *testing.T) {
	e := newEnv(t)
	e.append("s", "1", "2", "3", "4")
	if !e.trim("s", 3) {
		t.Error("Trim of two events is not done")
	}
	e.expect("s", 3, 0, "3:3", "4:4")
	if _, _, _, err := e.read("s", 2, 0); !errors.Is(err, events.ErrTrimmed) {
		t.Errorf("reading what was trimmed: %v", err)
	}
	e.trim("s", 2) // has happened already
	e.trim("s", 99)
	if head, _, _, err := e.read("s", 5, 0); err != nil || head != (events.Head{First: 5, Last: 4}) || head.Len() != 0 {
		t.Errorf("everything trimmed: %+v, %v", head, err)
	}
	if last := e.append("s", "5"); last != 5 {
		t.Errorf("after everything was trimmed the sequence is %d (EVT-1)", last)
	}
	e.trim("never", 7)
	if last := e.append("never", "x"); last != 1 {
		t.Errorf("trimming a stream that has no events began it at %d", last)
	}
}

func TestTrimWorksInBoundedSteps(t *testing.T) {
	e := newEnv(t)
	many := make([]string, 500)
	for range 5 {
		e.append("s", many...)
	}
	calls := 1
	for ; !e.trim("s", 2401); calls++ {
	}
	if head, _, _, _ := e.read("s", 2401, 0); head.First != 2401 || calls != 3 {
		t.Errorf("head %+v after %d calls", head, calls)
	}
}

// EVT-2.
func TestAViewHasTheEventsOfItsRevision(t *testing.T) {
	e := newEnv(t)
	e.append("s", "1", "2")
	var at kv.Revision
	if err := e.View(ctx, e.root(), func(v *kv.View) error { at = v.Revision(); return nil }); err != nil {
		t.Fatal(err)
	}
	e.append("s", "3")
	e.trim("s", 2)
	err := e.ViewAt(ctx, e.root(), at, func(v *kv.View) error {
		n := 0
		next, err := events.Read(v, v.Root(), "s", 1, 0, func(uint64, []byte) error { n++; return nil })
		if next != 3 || n != 2 {
			t.Errorf("%d events up to %d, want 2 up to 3", n, next)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestReadStopsWhereItsCallerDoes(t *testing.T) {
	e := newEnv(t)
	e.append("s", "1", "2", "3")
	full := errors.New("outbox is full")
	err := e.View(ctx, e.root(), func(v *kv.View) error {
		next, err := events.Read(v, v.Root(), "s", 1, 0, func(sequence uint64, _ []byte) error {
			if sequence == 2 {
				return full
			}
			return nil
		})
		if next != 2 || !errors.Is(err, full) {
			t.Errorf("stopped before %d with %v", next, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// EVT-3: followers that only ever read after a wake-up see every event, while
// others append and more followers come and go.
func TestNoWakeUpIsLost(t *testing.T) {
	e := newEnv(t)
	root := e.root()
	const total, writers = 300, 3
	var wg sync.WaitGroup
	for range 4 {
		w := e.log.Watch(root, "s")
		wg.Go(func() {
			defer w.Close()
			next := uint64(1)
			for next <= total {
				err := e.View(ctx, root, func(v *kv.View) (err error) {
					next, err = events.Read(v, root, "s", next, 7, func(uint64, []byte) error { return nil })
					if h, _ := events.HeadOf(v, root, "s"); err == nil && next > h.Last {
						return errEmpty
					}
					return err
				})
				if errors.Is(err, errEmpty) && next <= total {
					<-w.C()
				} else if err != nil && !errors.Is(err, errEmpty) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range writers {
		wg.Go(func() {
			for range total / writers {
				err := e.Update(ctx, root, func(tx *kv.Tx) error {
					_, err := e.log.Append(tx, "s", []byte("x"))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

var errEmpty = errors.New("nothing after this")

func TestWatchIsForOneStreamAndEnds(t *testing.T) {
	e := newEnv(t)
	w := e.log.Watch(e.root(), "s")
	other := e.log.Watch(e.Root("jobs", "other"), "s")
	e.append("t", "x")
	if woken(w) {
		t.Error("woken by another stream")
	}
	e.append("s", "x")
	e.append("s", "y")
	if !woken(w) || woken(w) {
		t.Error("two appends are one wake-up in the channel")
	}
	if woken(other) {
		t.Error("woken by another root")
	}
	w.Close()
	w.Close()
	other.Close()
	e.append("s", "z")
	if woken(w) {
		t.Error("woken after Close")
	}
}

func woken(w *events.Watch) bool {
	select {
	case <-w.C():
		return true
	default:
		return false
	}
}

// A power cut at any moment: what was acknowledged is there, nothing is there
// twice, the sequence goes on without a gap.
func TestCrash(t *testing.T) {
	for seed := range uint64(40) {
		e := newEnv(t)
		rng := rand.New(rand.NewPCG(seed, 1))
		var last, first uint64 = 0, 1
		for round := range 3 {
			for range 1 + rng.IntN(20) {
				switch rng.IntN(5) {
				case 0:
					first = max(first, 1+rng.Uint64N(last+1))
					e.trim("s", first)
				default:
					if got := e.append("s", fmt.Sprint(last+1)); got != last+1 {
						t.Fatalf("seed %d: sequence %d after %d", seed, got, last)
					}
					last++
				}
			}
			e.Crash(seed*10 + uint64(round))
			e.log = events.Open(e.Store)
			head, got, _, err := e.read("s", first, 0)
			if err != nil || head != (events.Head{First: first, Last: last}) || uint64(len(got)) != head.Len() {
				t.Fatalf("seed %d: %+v with %d events, %v; want %d to %d", seed, head, len(got), err, first, last)
			}
		}
	}
}

// The check finds what it is for.
func TestCheckFindsAGap(t *testing.T) {
	for what, damage := range map[string]func(tx *kv.Tx, root uint32){
		"an event is missing": func(tx *kv.Tx, root uint32) { tx.Delete(keys.AppendEvent(nil, root, "s", 2)) },
		"an event too many":   func(tx *kv.Tx, root uint32) { tx.Put(keys.AppendEvent(nil, root, "s", 9), []byte("x")) },
		"a stray event":       func(tx *kv.Tx, root uint32) { tx.Put(keys.AppendEvent(nil, root, "t", 1), []byte("x")) },
		"a bad head": func(tx *kv.Tx, root uint32) {
			tx.Put(keys.AppendEventHead(nil, root, "s"), record.AppendEventHead(nil, record.EventHead{First: 9, Last: 3}))
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := newEnv(t)
			e.append("s", "1", "2", "3")
			if err := e.Check(ctx).Err(); err != nil {
				t.Fatalf("before: %v", err)
			}
			err := e.Update(ctx, e.root(), func(tx *kv.Tx) error {
				damage(tx, e.root().ID())
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if e.Check(ctx).Err() == nil {
				t.Error("not found")
			}
			repair(e)
		})
	}
}

// repair makes the damaged store whole again, for the check at the test's end.
func repair(e *env) {
	root := e.root().ID()
	err := e.Update(ctx, e.root(), func(tx *kv.Tx) error {
		tx.Put(keys.AppendEvent(nil, root, "s", 2), []byte("2"))
		tx.Delete(keys.AppendEvent(nil, root, "s", 9))
		tx.Delete(keys.AppendEvent(nil, root, "t", 1))
		tx.Put(keys.AppendEventHead(nil, root, "s"), record.AppendEventHead(nil, record.EventHead{First: 1, Last: 3}))
		return nil
	})
	if err != nil {
		e.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	e := kvtest.New(b)
	log := events.Open(e.Store)
	root := e.Root("jobs", "r")
	event := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			_, err := log.Append(tx, "stream-0001", event)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead100(b *testing.B) {
	e := kvtest.New(b)
	log := events.Open(e.Store)
	root := e.Root("jobs", "r")
	err := e.Update(ctx, root, func(tx *kv.Tx) error {
		for range 1000 {
			if _, err := log.Append(tx, "stream-0001", make([]byte, 200)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		err := e.View(ctx, root, func(v *kv.View) error {
			_, err := events.Read(v, root, "stream-0001", 400, 100, func(uint64, []byte) error { return nil })
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
