package timer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/timer"
)

var ctx = context.Background()

// env is a store with timers of kind "note", whose handler adds a row for each
// time that a timer went off: what it did is then as durable as the timer's end.
type env struct {
	*kvtest.Env
	t      testing.TB
	timers *timer.Timers
	// fail makes the handler fail for these ids.
	fail map[string]bool
	// before is called by the handler first.
	before func(tx *kv.Tx, f timer.Fired) error
}

func newEnv(t testing.TB, changes ...func(*kv.Options)) *env {
	e := &env{Env: kvtest.New(t, changes...), t: t, fail: map[string]bool{}}
	e.open()
	return e
}

func (e *env) open() {
	e.timers = timer.Open(e.Store, timer.Options{})
	e.timers.Handle("note", e.handle)
}

var errHandler = errors.New("the handler is told to fail")

func (e *env) handle(tx *kv.Tx, f timer.Fired) error {
	if tx.Now().Before(f.Due) {
		e.t.Errorf("timer %s of %v goes off at %v (TMR-2)", f.ID, f.Due, tx.Now())
	}
	// Written before the failure: nothing of it may stay.
	key := keys.AppendEventHead(nil, tx.Root().ID(), fmt.Sprintf("%020d %s %s", tx.Revision(), f.ID, f.Payload))
	tx.Put(key, []byte{1, 1, 0})
	if e.before != nil {
		if err := e.before(tx, f); err != nil {
			return err
		}
	}
	if e.fail[f.ID] {
		return errHandler
	}
	return nil
}

func (e *env) root() kv.Root { return e.Root("jobs", "r") }

func (e *env) update(fn func(tx *kv.Tx) error) {
	e.t.Helper()
	if err := e.Update(ctx, e.root(), fn); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) set(id string, in time.Duration, payload string) {
	e.t.Helper()
	e.update(func(tx *kv.Tx) error { return e.timers.Set(tx, "note", id, tx.Now().Add(in), []byte(payload)) })
}

func (e *env) fire() int {
	e.t.Helper()
	n, err := e.timers.Fire(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

// notes returns what went off so far, in order: id and payload.
func (e *env) notes() (notes []string) {
	e.t.Helper()
	root := e.root()
	err := e.View(ctx, root, func(v *kv.View) error {
		lower, upper := keys.SpaceBounds(keys.SpaceEventHead, root.ID())
		it := v.Scan(lower, upper, kv.ScanOptions{})
		defer it.Close()
		for it.Next() {
			_, name, err := keys.CutEventHead(it.Key())
			if err != nil {
				return err
			}
			notes = append(notes, name[21:])
		}
		return it.Err()
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return notes
}

func (e *env) expect(want ...string) {
	e.t.Helper()
	if got := e.notes(); !slices.Equal(got, want) {
		e.t.Errorf("went off: %q, want %q", got, want)
	}
}

// TMR-2, TMR-4.
func TestGoesOffOnceAndInOrder(t *testing.T) {
	e := newEnv(t)
	e.set("late", 3*time.Second, "l")
	e.set("early", time.Second, "e")
	e.set("past", -time.Second, "p")
	if n := e.fire(); n != 1 {
		t.Errorf("%d went off at once, want the one that was due before", n)
	}
	e.Clock.Advance(time.Second - time.Millisecond)
	e.fire()
	e.expect("past p")
	e.Clock.Advance(time.Hour)
	if n := e.fire(); n != 2 {
		t.Errorf("%d went off", n)
	}
	e.fire()
	e.expect("past p", "early e", "late l")
}

func TestSetAnewAndCancel(t *testing.T) {
	e := newEnv(t)
	e.set("moved later", time.Second, "1")
	e.set("moved later", 10*time.Second, "2")
	e.set("moved sooner", 10*time.Second, "1")
	e.set("moved sooner", 2*time.Second, "2")
	e.set("cancelled", time.Second, "x")
	e.update(func(tx *kv.Tx) error {
		for _, want := range []bool{true, false} {
			if armed, err := e.timers.Cancel(tx, "note", "cancelled"); armed != want || err != nil {
				t.Errorf("Cancel: %v, %v, want %v", armed, err, want)
			}
		}
		if due, armed, err := e.timers.Due(tx, "note", "moved later"); err != nil || !armed || !due.Equal(kvtest.Epoch.Add(10*time.Second)) {
			t.Errorf("Due: %v, %v, %v", due, armed, err)
		}
		if _, armed, err := e.timers.Due(tx, "note", "cancelled"); armed || err != nil {
			t.Errorf("Due of a cancelled timer: %v, %v", armed, err)
		}
		return nil
	})
	e.Clock.Advance(5 * time.Second)
	e.fire()
	e.expect("moved sooner 2")
	e.Clock.Advance(5 * time.Second)
	e.fire()
	e.expect("moved sooner 2", "moved later 2")
}

func TestAHandlerCanArmTheSameTimer(t *testing.T) {
	e := newEnv(t)
	e.before = func(tx *kv.Tx, f timer.Fired) error {
		return e.timers.Set(tx, "note", f.ID, f.Due.Add(time.Minute), f.Payload)
	}
	e.set("tick", time.Minute, "t")
	for range 3 {
		e.Clock.Advance(time.Minute)
		e.fire()
	}
	e.expect("tick t", "tick t", "tick t")
}

// TMR-3: a failing timer waits longer and longer, and the others do not wait.
func TestFailingHandler(t *testing.T) {
	e := newEnv(t)
	e.fail["bad"] = true
	e.set("bad", time.Second, "b")
	e.set("good", 2*time.Second, "g")
	e.Clock.Advance(2 * time.Second)
	if n := e.fire(); n != 1 {
		t.Errorf("%d went off beside a failing one", n)
	}
	e.expect("good g")
	tries := 0
	e.before = func(*kv.Tx, timer.Fired) error { tries++; return nil }
	for range 60 {
		e.Clock.Advance(time.Second)
		e.fire()
	}
	if tries < 4 || tries > 6 { // after 1, 2, 4, 8, 16, 32 seconds
		t.Errorf("tried %d times in a minute", tries)
	}
	e.fail["bad"] = false
	e.Clock.Advance(5 * time.Minute)
	e.fire()
	e.expect("good g", "bad b")
}

func TestSetNeedsAHandler(t *testing.T) {
	e := newEnv(t)
	err := e.Update(ctx, e.root(), func(tx *kv.Tx) error {
		return e.timers.Set(tx, "unknown", "x", tx.Now(), nil)
	})
	if err == nil {
		t.Error("a timer that nobody handles was armed")
	}
}

// A timer of a kind that this program no longer knows stays, and is no trouble.
func TestUnknownKindStays(t *testing.T) {
	e := newEnv(t)
	e.set("x", time.Second, "x")
	e.Reopen()
	e.timers = timer.Open(e.Store, timer.Options{})
	e.Clock.Advance(time.Minute)
	if n := e.fire(); n != 0 {
		t.Errorf("%d went off", n)
	}
	e.Reopen()
	e.open()
	e.fire()
	e.expect("x x")
}

// TMR-2 and TMR-3 over power cuts between any two steps: what was armed goes off
// once.
func TestCrash(t *testing.T) {
	for seed := range uint64(40) {
		e := newEnv(t)
		rng := rand.New(rand.NewPCG(seed, 3))
		armed := map[string]bool{}
		for i := range 25 {
			switch id := fmt.Sprint(i); rng.IntN(5) {
			case 0, 1:
				e.set(id, time.Duration(rng.IntN(20))*time.Second, "p")
				armed[id+" p"] = true
			case 2:
				e.Clock.Advance(time.Duration(rng.IntN(5)) * time.Second)
			case 3:
				e.fire()
			default:
				e.Crash(seed*100 + uint64(i))
				e.open()
			}
		}
		e.Clock.Advance(time.Minute)
		e.fire()
		notes := e.notes()
		for _, note := range notes {
			if !armed[note] {
				t.Fatalf("seed %d: %q went off twice, or was never armed: %q", seed, note, notes)
			}
			delete(armed, note)
		}
		if len(armed) != 0 {
			t.Fatalf("seed %d: %v never went off; %q did", seed, armed, notes)
		}
	}
}

// The background sleeps until a timer is due, also one that is armed while it
// sleeps. The bubble's clock is the machine's.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &env{Env: kvtest.New(t, func(o *kv.Options) { o.Clock = clock.System() }), t: t, fail: map[string]bool{}}
		e.open()
		e.timers.Start()
		defer e.timers.Close()
		e.set("hour", time.Hour, "h")
		e.set("minute", time.Minute, "m")
		time.Sleep(time.Minute - time.Millisecond)
		synctest.Wait()
		e.expect()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		e.expect("minute m")
		time.Sleep(time.Hour)
		synctest.Wait()
		e.expect("minute m", "hour h")
	})
}

// Before Start nothing goes off by itself, so that every handler can be there
// first.
func TestNothingGoesOffBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &env{Env: kvtest.New(t, func(o *kv.Options) { o.Clock = clock.System() }), t: t, fail: map[string]bool{}}
		e.open()
		e.set("x", 0, "p")
		time.Sleep(time.Hour)
		synctest.Wait()
		e.expect()
		e.timers.Start()
		synctest.Wait()
		e.expect("x p")
		if err := errors.Join(e.timers.Close(), e.timers.Close()); err != nil {
			t.Error(err)
		}
		idle := timer.Open(e.Store, timer.Options{})
		if err := idle.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckFindsHalfATimer(t *testing.T) {
	e := newEnv(t)
	e.set("x", time.Second, "p")
	due := keys.AppendTimerDue(nil, e.root().ID(), kvtest.Epoch.Add(time.Second).UnixMilli(), "note", "x")
	stray := keys.AppendTimerDue(nil, e.root().ID(), 5, "note", "y")
	for what, steps := range map[string][2]func(tx *kv.Tx) error{
		"no due time":    {func(tx *kv.Tx) error { tx.Delete(due); return nil }, func(tx *kv.Tx) error { tx.Put(due, nil); return nil }},
		"stray due time": {func(tx *kv.Tx) error { tx.Put(stray, nil); return nil }, func(tx *kv.Tx) error { tx.Delete(stray); return nil }},
	} {
		e.update(steps[0])
		if e.Check(ctx).Err() == nil {
			t.Errorf("%s: not found", what)
		}
		e.update(steps[1])
	}
}

func BenchmarkSetAndFire(b *testing.B) {
	e := newEnv(b)
	e.timers = timer.Open(e.Store, timer.Options{})
	e.timers.Handle("note", func(*kv.Tx, timer.Fired) error { return nil })
	b.ReportAllocs()
	for b.Loop() {
		e.set("x", 0, "p")
		if e.fire() != 1 {
			b.Fatal("did not go off")
		}
	}
}
