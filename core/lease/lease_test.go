package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/lease"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

var ctx = context.Background()

const ttl = 10 * time.Second

type env struct {
	*kvtest.Env
	t testing.TB
}

func newEnv(t testing.TB) env {
	e := kvtest.New(t)
	lease.RegisterCheck(e.Store)
	return env{e, t}
}

func (e env) update(fn func(tx *kv.Tx) error) error {
	return e.Update(ctx, e.Root("jobs", "r"), fn)
}

func (e env) acquire(name, holder string) (l lease.Lease, err error) {
	err = e.update(func(tx *kv.Tx) error {
		l, err = lease.Acquire(tx, name, holder, ttl)
		return err
	})
	return l, err
}

func (e env) mustAcquire(name, holder string) lease.Lease {
	e.t.Helper()
	l, err := e.acquire(name, holder)
	if err != nil {
		e.t.Fatalf("%s acquires %s: %v", holder, name, err)
	}
	return l
}

func (e env) check(l lease.Lease) error {
	return e.update(func(tx *kv.Tx) error { return lease.Check(tx, l.Name, l.Fence) })
}

func (e env) renew(l lease.Lease) (renewed lease.Lease, err error) {
	err = e.update(func(tx *kv.Tx) error {
		renewed, err = lease.Renew(tx, l.Name, l.Fence, ttl)
		return err
	})
	return renewed, err
}

func (e env) release(l lease.Lease) error {
	return e.update(func(tx *kv.Tx) error { return lease.Release(tx, l.Name, l.Fence) })
}

func lost(err error) bool { return errors.Is(err, lease.ErrLost) }

// LEA-2.
func TestOneHolderAtATime(t *testing.T) {
	e := newEnv(t)
	a := e.mustAcquire("runner", "a")
	if !a.Until.Equal(kvtest.Epoch.Add(ttl)) || a.Fence != 1 {
		t.Errorf("%+v", a)
	}
	var held *lease.HeldError
	if _, err := e.acquire("runner", "b"); !errors.As(err, &held) || held.Holder != "a" || !held.Until.Equal(a.Until) {
		t.Errorf("b acquires: %v", err)
	}
	if other := e.mustAcquire("another name", "b"); other.Fence != 1 {
		t.Errorf("another name: %+v", other)
	}
	e.Clock.Advance(ttl - time.Millisecond)
	if err := e.check(a); err != nil {
		t.Errorf("just before the end: %v", err)
	}
	e.Clock.Advance(time.Millisecond)
	if err := e.check(a); !lost(err) {
		t.Errorf("at the end: %v", err)
	}
	b := e.mustAcquire("runner", "b")
	if b.Fence <= a.Fence {
		t.Errorf("fences %d, then %d (LEA-1)", a.Fence, b.Fence)
	}
	for what, err := range map[string]error{
		"Check": e.check(a), "Release": e.release(a),
		"Renew": func() error { _, err := e.renew(a); return err }(),
	} {
		if !lost(err) {
			t.Errorf("%s by the lapsed holder: %v", what, err)
		}
	}
	if err := e.check(b); err != nil {
		t.Errorf("the new holder: %v", err)
	}
}

func TestRenewKeepsTheFence(t *testing.T) {
	e := newEnv(t)
	l := e.mustAcquire("n", "a")
	for range 5 {
		e.Clock.Advance(ttl / 2)
		renewed, err := e.renew(l)
		if err != nil || renewed.Fence != l.Fence || !renewed.Until.Equal(e.Clock.Now().Add(ttl)) {
			t.Fatalf("%+v, %v", renewed, err)
		}
	}
}

func TestReleaseFreesTheName(t *testing.T) {
	e := newEnv(t)
	a := e.mustAcquire("n", "a")
	if err := e.release(a); err != nil {
		t.Fatal(err)
	}
	if err := e.check(a); !lost(err) {
		t.Errorf("after its release: %v", err)
	}
	if err := e.release(a); !lost(err) {
		t.Errorf("released twice: %v", err)
	}
	if b := e.mustAcquire("n", "b"); b.Fence <= a.Fence {
		t.Errorf("fence %d after %d (LEA-1)", b.Fence, a.Fence)
	}
}

// A holder that comes back must not meet what it began before.
func TestAcquireAgainFencesOffOneself(t *testing.T) {
	e := newEnv(t)
	before := e.mustAcquire("n", "a")
	after := e.mustAcquire("n", "a")
	if after.Fence <= before.Fence || !lost(e.check(before)) || e.check(after) != nil {
		t.Errorf("fences %d, then %d", before.Fence, after.Fence)
	}
}

// An Update that acts under a lapsed lease writes nothing.
func TestCheckGuardsItsUpdate(t *testing.T) {
	e := newEnv(t)
	l := e.mustAcquire("n", "a")
	e.Clock.Advance(ttl)
	err := e.update(func(tx *kv.Tx) error {
		tx.Put(keys.AppendLease(nil, tx.Root().ID(), "written under a lapsed lease"), record.AppendLease(nil, record.Lease{Fence: 1}))
		return lease.Check(tx, l.Name, l.Fence)
	})
	if !lost(err) {
		t.Fatal(err)
	}
	if got := e.mustAcquire("written under a lapsed lease", "b"); got.Fence != 1 {
		t.Error("the update left a trace")
	}
}

// LEA-1 and LEA-3 over power cuts, with a machine whose clock goes back.
func TestCrash(t *testing.T) {
	for seed := range uint64(40) {
		e := newEnv(t)
		rng := rand.New(rand.NewPCG(seed, 2))
		highest := uint64(0)
		var current lease.Lease
		for round := range 4 {
			for range 1 + rng.IntN(8) {
				switch rng.IntN(4) {
				case 0:
					e.Clock.Advance(time.Duration(rng.IntN(15)) * time.Second)
				case 1:
					if l, err := e.renew(current); err == nil {
						current = l
					}
				default:
					l, err := e.acquire("n", fmt.Sprint(rng.IntN(3)))
					var held *lease.HeldError
					if errors.As(err, &held) {
						continue
					}
					if err != nil || l.Fence <= highest {
						t.Fatalf("seed %d: fence %d after %d, %v", seed, l.Fence, highest, err)
					}
					highest, current = l.Fence, l
				}
			}
			over := lost(e.check(current))
			e.Crash(seed*10 + uint64(round))
			lease.RegisterCheck(e.Store)
			if now := lost(e.check(current)); over != now {
				t.Fatalf("seed %d: the lease was over: %v; after the crash: %v", seed, over, now)
			}
		}
	}
}

func BenchmarkRenew(b *testing.B) {
	e := newEnv(b)
	l := e.mustAcquire("n", "a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.renew(l); err != nil {
			b.Fatal(err)
		}
	}
}
