package oprecord_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/oprecord"
)

var ctx = context.Background()

func newEnv(t testing.TB) *kvtest.Env {
	e := kvtest.New(t)
	oprecord.RegisterCheck(e.Store)
	return e
}

func operation(key, request string) oprecord.Operation {
	return oprecord.Operation{Kind: "workbench.commit", Key: key, Fingerprint: canon.Sum([]byte(request))}
}

// once runs an operation whose work is a row in another space, so that a test
// can see whether it was done.
func once(e *kvtest.Env, o oprecord.Operation, answer string) (got oprecord.Answer, replayed bool, err error) {
	root := e.Root("workbench", "r")
	err = e.Update(ctx, root, func(tx *kv.Tx) error {
		got, replayed, err = oprecord.Once(tx, o, func() ([]byte, error) {
			tx.Put(keys.AppendEventHead(nil, root.ID(), "work "+answer), []byte{1, 1, 0})
			return []byte(answer), nil
		})
		got.Bytes = bytes.Clone(got.Bytes)
		return err
	})
	return got, replayed, err
}

func worked(t *testing.T, e *kvtest.Env, answer string) (ok bool) {
	t.Helper()
	root := e.Root("workbench", "r")
	err := e.View(ctx, root, func(v *kv.View) (err error) {
		_, ok, err = v.Get(keys.AppendEventHead(nil, root.ID(), "work "+answer))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// OPR-1, over time, restarts and crashes.
func TestRetryGetsTheFirstAnswer(t *testing.T) {
	e := newEnv(t)
	first, replayed, err := once(e, operation("k", "request"), "first")
	if err != nil || replayed || string(first.Bytes) != "first" || !first.At.Equal(kvtest.Epoch) {
		t.Fatalf("first: %+v, %v, %v", first, replayed, err)
	}
	for i := range 4 {
		switch e.Clock.Advance(time.Hour); i {
		case 1:
			e.Reopen()
		case 2:
			e.Crash(7)
		case 3:
			if _, err := e.Reap(ctx); err != nil {
				t.Fatal(err)
			}
		}
		again, replayed, err := once(e, operation("k", "request"), fmt.Sprint("again ", i))
		if err != nil || !replayed || string(again.Bytes) != "first" || !again.At.Equal(first.At) {
			t.Errorf("retry %d: %q at %v, %v, %v", i, again.Bytes, again.At, replayed, err)
		}
		if worked(t, e, fmt.Sprint("again ", i)) {
			t.Errorf("retry %d did the work again", i)
		}
	}
}

// OPR-2.
func TestAnotherRequestConflicts(t *testing.T) {
	e := newEnv(t)
	if _, _, err := once(e, operation("k", "request"), "first"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := once(e, operation("k", "another request"), "second"); !errors.Is(err, oprecord.ErrConflict) {
		t.Errorf("another request: %v", err)
	}
	if worked(t, e, "second") {
		t.Error("a conflict did the work")
	}
	if _, replayed, err := once(e, operation("k2", "another request"), "second"); err != nil || replayed {
		t.Errorf("another key: %v, %v", replayed, err)
	}
	other := operation("k", "another request")
	other.Kind = "workbench.restore"
	if _, replayed, err := once(e, other, "third"); err != nil || replayed {
		t.Errorf("another kind: %v, %v", replayed, err)
	}
}

func TestFailedWorkIsNotRemembered(t *testing.T) {
	e := newEnv(t)
	root := e.Root("workbench", "r")
	failure := errors.New("no")
	for _, do := range []func() ([]byte, error){
		func() ([]byte, error) { return []byte("partial"), failure },
		func() ([]byte, error) { return make([]byte, oprecord.MaxAnswerBytes+1), nil },
	} {
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			_, _, err := oprecord.Once(tx, operation("k", "request"), do)
			return err
		})
		if !errors.Is(err, failure) && !errors.Is(err, oprecord.ErrTooLarge) {
			t.Fatal(err)
		}
	}
	if got, replayed, err := once(e, operation("k", "request"), "now"); err != nil || replayed || string(got.Bytes) != "now" {
		t.Errorf("after failures: %+v, %v, %v", got, replayed, err)
	}
}

func TestFindReadsAView(t *testing.T) {
	e := newEnv(t)
	root := e.Root("workbench", "r")
	find := func(o oprecord.Operation) (answer string, ok bool, err error) {
		err = e.View(ctx, root, func(v *kv.View) error {
			var a oprecord.Answer
			a, ok, err = oprecord.Find(v, root, o)
			answer = string(a.Bytes)
			return err
		})
		return answer, ok, err
	}
	if _, ok, err := find(operation("k", "request")); ok || err != nil {
		t.Errorf("before: %v, %v", ok, err)
	}
	if _, _, err := once(e, operation("k", "request"), "first"); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := find(operation("k", "request")); got != "first" || !ok || err != nil {
		t.Errorf("after: %q, %v, %v", got, ok, err)
	}
	if _, ok, err := find(operation("k", "another")); ok || !errors.Is(err, oprecord.ErrConflict) {
		t.Errorf("another request: %v, %v", ok, err)
	}
}

func BenchmarkOnceReplay(b *testing.B) {
	e := newEnv(b)
	if _, _, err := once(e, operation("k", "request"), "first"); err != nil {
		b.Fatal(err)
	}
	root := e.Root("workbench", "r")
	o := operation("k", "request")
	b.ReportAllocs()
	for b.Loop() {
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			_, _, err := oprecord.Once(tx, o, func() ([]byte, error) { panic("done already") })
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
