package kv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestMistakesFailTheUpdate(t *testing.T) {
	e := kvtest.New(t)
	root, other := e.Root("test", "a"), e.Root("test", "b")
	big := make([]byte, kv.MaxValueBytes)
	for name, c := range map[string]struct {
		fn   func(tx *kv.Tx)
		want error
	}{
		"another root's key": {func(tx *kv.Tx) { tx.Put(rowKey(other, "x"), nil) }, kv.ErrForeignKey},
		"no space":           {func(tx *kv.Tx) { tx.Put([]byte{0xFE, 0, 0, 0, 1, 1}, nil) }, kv.ErrForeignKey},
		"too short":          {func(tx *kv.Tx) { tx.Delete([]byte{keys.SpacePathRecord}) }, kv.ErrForeignKey},
		"the store's own":    {func(tx *kv.Tx) { tx.Put(keys.AppendRootHead(nil, root.ID()), nil) }, kv.ErrOwnedByStore},
		"the reaper's own":   {func(tx *kv.Tx) { tx.Delete(keys.AppendFloor(nil, root.ID())) }, kv.ErrOwnedByStore},
		"a value too large":  {func(tx *kv.Tx) { tx.Put(rowKey(root, "x"), append(big, 0)) }, kv.ErrTooLarge},
		"an update too large": {func(tx *kv.Tx) {
			for n := range kv.MaxUpdateBytes/kv.MaxValueBytes + 1 {
				tx.Put(rowKey(root, fmt.Sprint(n)), big)
			}
		}, kv.ErrTooLarge},
		"a scan over two spaces": {func(tx *kv.Tx) {
			_ = tx.Scan(keys.AppendPrefix(nil, keys.SpacePathRecord, root.ID()), keys.AppendPrefix(nil, keys.SpacePathRecord+1, root.ID()), kv.ScanOptions{}).Close()
		}, kv.ErrForeignKey},
	} {
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			c.fn(tx)
			tx.Put(rowKey(root, "y"), nil)
			return nil
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := e.View(ctx, root, func(v *kv.View) error {
		rows, err := scanAll(v, root)
		if rows != "" || v.Revision() != 0 {
			t.Errorf("KV-5: a failed update left %q at %d", rows, v.Revision())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAViewReadsNoHousekeeping(t *testing.T) {
	e := kvtest.New(t)
	root, other := e.Root("test", "a"), e.Root("test", "b")
	err := e.View(ctx, root, func(v *kv.View) error {
		for key, want := range map[string]error{
			string(keys.AppendRootHead(nil, root.ID())):       kv.ErrHousekeeping,
			string(keys.AppendHold(nil, root.ID(), 1)):        kv.ErrHousekeeping,
			string(keys.AppendClock(nil)):                     kv.ErrHousekeeping,
			string(houseKey(root, "x")):                       kv.ErrHousekeeping,
			string(rowKey(other, "x")):                        kv.ErrForeignKey,
			string([]byte{0xFE, 0, 0, 0, byte(root.ID()), 1}): kv.ErrForeignKey,
		} {
			if _, _, err := v.Get([]byte(key)); !errors.Is(err, want) {
				t.Errorf("Get(%x): %v, want %v", key, err, want)
			}
			it := v.Scan([]byte(key), keys.AppendEnd(nil, []byte(key)), kv.ScanOptions{})
			if it.Next() || !errors.Is(it.Close(), want) {
				t.Errorf("Scan(%x): %v, want %v", key, it.Err(), want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAPanicLeavesNoTraceAndEndsTheTurn(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("test", "a")
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Fatalf("recovered %v", p)
			}
		}()
		_ = e.Update(ctx, root, func(tx *kv.Tx) error {
			tx.Put(rowKey(root, "x"), []byte("half"))
			panic("boom")
		})
	}()
	if rev := put(t, e.Store, root, "y", "whole"); rev != 1 {
		t.Fatalf("KV-5: the next revision is %d", rev)
	}
	if got := dump(t, e.Store, root, 1); got != "y=whole@1 " {
		t.Fatalf("KV-5: %q", got)
	}
}

func TestAnUpdateWhoseContextHasEndedDoesNotRun(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("test", "a")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	err := e.Update(gone, root, func(*kv.Tx) error { t.Error("ran"); return nil })
	if !fault.Is(err, op.ReasonCancelled) {
		t.Fatal(err)
	}
	if err := e.View(gone, root, func(*kv.View) error { t.Error("ran"); return nil }); !fault.Is(err, op.ReasonCancelled) {
		t.Fatal(err)
	}
	// Once it has run, the context no longer matters.
	late, cancel := context.WithCancel(ctx)
	err = e.Update(late, root, func(tx *kv.Tx) error {
		cancel()
		tx.Put(rowKey(root, "x"), nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAClosedStoreRefuses(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("test", "a")
	old := e.Store
	e.Reopen()
	for name, err := range map[string]error{
		"update": old.Update(ctx, root, func(*kv.Tx) error { return nil }),
		"view":   old.View(ctx, root, func(*kv.View) error { return nil }),
		"reap":   func() error { _, err := old.Reap(ctx); return err }(),
	} {
		if !errors.Is(err, kv.ErrClosed) || !fault.Is(err, op.ReasonUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := old.Close(); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

func TestTheClockNeverRunsBack(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("test", "a")
	told := func(write bool) time.Time {
		var at time.Time
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			at = tx.Now()
			if write {
				tx.Put(rowKey(root, "x"), nil)
				return nil
			}
			return errTaken
		})
		if err != nil && !errors.Is(err, errTaken) {
			t.Fatal(err)
		}
		return at
	}
	e.Clock.Advance(1500 * time.Microsecond)
	if at, want := told(true), kvtest.Epoch.Add(time.Millisecond); !at.Equal(want) {
		t.Fatalf("told %v, want %v", at, want)
	}
	// An instant that only a refusal was told counts too, over a crash and a clock
	// that was set back.
	e.Clock.Advance(time.Hour)
	before := told(false)
	e.Options.Clock = clock.NewFake(kvtest.Epoch)
	e.Crash(1)
	root = e.Root("test", "a")
	if now := e.Store.Now(); now.Before(before) {
		t.Fatalf("KV-10: a reader is told %v after %v", now, before)
	}
	if after := told(false); after.Before(before) || !after.Equal(e.Store.Now()) {
		t.Fatalf("KV-10: %v after %v, and a reader is told %v", after, before, e.Store.Now())
	}
	e.Options.Clock = clock.NewFake(kvtest.Epoch.Add(2 * time.Hour))
	e.Reopen()
	root = e.Root("test", "a")
	if got, want := told(true), kvtest.Epoch.Add(2*time.Hour); !got.Equal(want) {
		t.Fatalf("told %v, want %v", got, want)
	}
}

func TestTheDirectoryKeepsItsIDs(t *testing.T) {
	e := kvtest.New(t)
	installation, tenant := e.InstallationID(), e.TenantID()
	if installation == tenant || installation == [16]byte{} || installation[6]>>4 != 4 || installation[8]>>6 != 2 {
		t.Fatalf("ids %x and %x", installation, tenant)
	}
	first, err := e.SetFact(ctx, "colour", []byte("green"))
	if err != nil || string(first) != "green" {
		t.Fatal(string(first), err)
	}
	e.Crash(3)
	if e.InstallationID() != installation || e.TenantID() != tenant {
		t.Fatal("the ids changed")
	}
	second, err := e.SetFact(ctx, "colour", []byte("red"))
	if err != nil || string(second) != "green" {
		t.Fatalf("the fact is %q, %v", second, err)
	}
	if fact, ok, err := e.Fact("colour"); err != nil || !ok || string(fact) != "green" {
		t.Fatal(string(fact), ok, err)
	}
	if _, ok, err := e.Fact("size"); ok || err != nil {
		t.Fatal(ok, err)
	}
	if same := kvtest.New(t); same.InstallationID() != installation {
		t.Fatal("the same seed mints other ids")
	}
}

func TestRootsCountForThemselves(t *testing.T) {
	e := kvtest.New(t)
	a, b := e.Root("test", "a"), e.Root("test", "b")
	if a == b || a != e.Root("test", "a") || a.ID() != 1 || b.ID() != 2 {
		t.Fatalf("roots %v and %v", a, b)
	}
	put(t, e.Store, a, "x", "of a")
	put(t, e.Store, a, "x", "of a again")
	if rev := put(t, e.Store, b, "x", "of b"); rev != 1 {
		t.Fatalf("b is at %d", rev)
	}
	if got := dump(t, e.Store, b, 1); got != "x=of b@1 " {
		t.Fatalf("b has %q", got)
	}
	e.Crash(1)
	if e.Root("test", "a").ID() != 1 || e.Root("test", "b").ID() != 2 || e.Root("test", "c").ID() != 3 {
		t.Fatal("KV-1: ids changed")
	}
	roots, names := e.Roots()
	if len(roots) != 3 || names[1] != (kv.RootName{Area: "test", Tenant: "tenant", Name: "b"}) {
		t.Fatalf("Roots: %v", names)
	}
	if err := e.Update(ctx, kv.Root{}, func(*kv.Tx) error { return nil }); !errors.Is(err, kv.ErrForeignKey) {
		t.Fatalf("the zero root: %v", err)
	}
}

// Random histories against a model that keeps every state whole: scans and gets of
// every revision, scans inside updates over own writes, seeks, limits. Keys have
// many versions, so both ways of skipping them are taken.
func TestAgainstAModel(t *testing.T) {
	for seed := range uint64(30) {
		e := kvtest.New(t, func(o *kv.Options) { o.MemTableBytes = 256 << 10 })
		root := e.Root("test", "a")
		rng := rand.New(rand.NewPCG(seed, 5))
		states := []map[string]string{{}}
		for range 60 {
			next := map[string]string{}
			for k, v := range states[len(states)-1] {
				next[k] = v
			}
			err := e.Update(ctx, root, func(tx *kv.Tx) error {
				for range 1 + rng.IntN(30) {
					name := fmt.Sprintf("k%d", min(rng.IntN(40), rng.IntN(40)))
					if rng.IntN(4) == 0 {
						tx.Delete(rowKey(root, name))
						delete(next, name)
					} else {
						next[name] = fmt.Sprint(rng.Uint32())
						tx.Put(rowKey(root, name), []byte(next[name]))
					}
					if rng.IntN(10) == 0 {
						if err := compare(tx, root, next, rng); err != nil {
							return err
						}
					}
				}
				tx.Put(rowKey(root, "always"), nil)
				next["always"] = ""
				return compare(tx, root, next, rng)
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			states = append(states, next)
		}
		if seed%3 == 0 {
			e.Reopen()
			root = e.Root("test", "a")
		}
		for rev, want := range states {
			err := e.ViewAt(ctx, root, kv.Revision(rev), func(v *kv.View) error { return compare(v, root, want, rng) })
			if err != nil {
				t.Fatalf("seed %d: at %d: %v", seed, rev, err)
			}
		}
	}
}

// compare reads everything, and then again from a drawn place with a drawn limit.
func compare(r kv.Reader, root kv.Root, want map[string]string, rng *rand.Rand) error {
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	sort.Strings(names)
	if got, err := readNames(r, root, "", 0, want); err != nil || got != strings.Join(names, " ") {
		return fmt.Errorf("scan has %q (%v), want %q", got, err, names)
	}
	from, limit := fmt.Sprintf("k%d", rng.IntN(45)), 1+rng.IntN(5)
	at := sort.SearchStrings(names, from)
	rest := names[at:min(len(names), at+limit)]
	if got, err := readNames(r, root, from, limit, want); err != nil || got != strings.Join(rest, " ") {
		return fmt.Errorf("scan of %d from %q has %q (%v), want %q", limit, from, got, err, rest)
	}
	for range 3 {
		name := fmt.Sprintf("k%d", rng.IntN(45))
		value, there := want[name]
		got, ok, err := r.Get(rowKey(root, name))
		if err != nil || ok != there || string(got.Bytes) != value {
			return fmt.Errorf("Get(%s) = %q, %v, %v; want %q, %v", name, got.Bytes, ok, err, value, there)
		}
	}
	return nil
}

func readNames(r kv.Reader, root kv.Root, from string, limit int, want map[string]string) (string, error) {
	lower, upper, _ := spaceOf(root)
	it := r.Scan(lower, upper, kv.ScanOptions{Limit: limit})
	var got []string
	valid := false
	if from == "" {
		valid = it.Next()
	} else {
		valid = it.SeekGE(rowKey(root, from))
	}
	for ; valid; valid = it.Next() {
		name, _, err := keys.CutText(nil, it.Key()[keys.PrefixLen:])
		if err != nil {
			return "", err
		}
		if string(it.Value().Bytes) != want[string(name)] {
			return "", fmt.Errorf("%s has %q, want %q", name, it.Value().Bytes, want[string(name)])
		}
		got = append(got, string(name))
	}
	return strings.Join(got, " "), it.Close()
}
