package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

// countKey is a housekeeping row in which the hooks of these tests keep count of
// the versions of a row.
func countKey(root kv.Root, key []byte, rev kv.Revision) []byte {
	return keys.AppendLease(nil, root.ID(), fmt.Sprintf("%x@%d", key, rev))
}

// counted opens a store whose path records are counted by hooks.
func counted(t *testing.T) *kvtest.Env {
	e := kvtest.New(t)
	hook(e)
	return e
}

func hook(e *kvtest.Env) {
	e.Hook(keys.SpacePathRecord, kv.Hooks{
		OnWrite: func(tx *kv.Tx, key, value []byte) error {
			tx.Put(countKey(tx.Root(), key, tx.Revision()), value)
			return nil
		},
		OnReap: func(tx *kv.Tx, key []byte, rev kv.Revision, value []byte) error {
			row := countKey(tx.Root(), key, rev)
			counted, ok, err := tx.Get(row)
			if err != nil {
				return err
			}
			if !ok || string(counted.Bytes) != string(value) {
				return fmt.Errorf("version %d with value %q is counted as %q, %v", rev, value, counted.Bytes, ok)
			}
			tx.Delete(row)
			return nil
		},
	})
}

// counts returns the values that are counted.
func counts(t *testing.T, e *kvtest.Env, root kv.Root) (values []string) {
	t.Helper()
	err := e.Update(ctx, root, func(tx *kv.Tx) error {
		lower, upper := keys.SpaceBounds(keys.SpaceLease, root.ID())
		it := tx.Scan(lower, upper, kv.ScanOptions{})
		defer it.Close()
		for it.Next() {
			values = append(values, string(it.Value().Bytes))
		}
		return it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(values)
	return values
}

func hookedKey(root kv.Root, name string) []byte {
	return keys.AppendPath(keys.AppendPrefix(nil, keys.SpacePathRecord, root.ID()), name)
}

func writeHooked(e *kvtest.Env, root kv.Root, values ...string) error {
	return e.Update(ctx, root, func(tx *kv.Tx) error {
		for _, v := range values {
			if v == "" {
				tx.Delete(hookedKey(root, "a"))
			} else {
				tx.Put(hookedKey(root, "a"), []byte(v))
			}
		}
		return nil
	})
}

// The hooks of a space see every version once when it comes and once when it
// goes, whatever keeps it in between.
func TestHooksCountVersions(t *testing.T) {
	e := counted(t)
	root := e.Root("workbench", "r")
	step := func(want []string, values ...string) {
		t.Helper()
		if err := writeHooked(e, root, values...); err != nil {
			t.Fatal(err)
		}
		if got := counts(t, e, root); !slices.Equal(got, want) {
			t.Errorf("after %q: counted %q, want %q", values, got, want)
		}
	}
	step([]string{"1"}, "1")
	step([]string{"1", "3"}, "2", "3") // one version: the last value
	step([]string{"1", "3"}, "4", "")  // a deletion
	step([]string{"1", "3", "5"}, "5")

	var hold kv.HoldID
	err := e.Update(ctx, root, func(tx *kv.Tx) (err error) {
		hold, err = tx.HoldAt(1, 1, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	reap := func(want ...string) {
		t.Helper()
		e.Clock.Advance(time.Hour)
		if _, err := e.Reap(ctx); err != nil {
			t.Fatal(err)
		}
		if got := counts(t, e, root); !slices.Equal(got, want) {
			t.Errorf("after reaping: counted %q, want %q", got, want)
		}
	}
	reap("1", "5")
	e.Crash(1)
	hook(e)
	root = e.Root("workbench", "r")
	if err := e.Update(ctx, root, func(tx *kv.Tx) error { return tx.Release(hold) }); err != nil {
		t.Fatal(err)
	}
	reap("5")
}

func TestHookErrorFailsItsTurn(t *testing.T) {
	e := kvtest.New(t)
	failure := errors.New("no")
	fail := true
	e.Hook(keys.SpacePathRecord, kv.Hooks{
		OnWrite: func(tx *kv.Tx, key, value []byte) error {
			if fail && string(value) == "refused" {
				return failure
			}
			return nil
		},
		OnReap: func(tx *kv.Tx, key []byte, rev kv.Revision, value []byte) error {
			if fail {
				return failure
			}
			return nil
		},
	})
	root := e.Root("workbench", "r")
	if err := writeHooked(e, root, "refused"); !errors.Is(err, failure) {
		t.Errorf("OnWrite failed, Update: %v", err)
	}
	if err := errors.Join(writeHooked(e, root, "a"), writeHooked(e, root, "b")); err != nil {
		t.Fatal(err)
	}
	e.Clock.Advance(time.Hour)
	if r, err := e.Reap(ctx); !errors.Is(err, failure) || r.Dropped != 0 {
		t.Errorf("OnReap failed, Reap: %+v, %v", r, err)
	}
	fail = false
	if r, err := e.Reap(ctx); err != nil || r.Dropped != 1 {
		t.Errorf("tried again: %+v, %v", r, err)
	}
}

func TestReapHookWritesNoVersions(t *testing.T) {
	e := kvtest.New(t)
	wrong := true
	e.Hook(keys.SpacePathRecord, kv.Hooks{OnReap: func(tx *kv.Tx, key []byte, rev kv.Revision, value []byte) error {
		if wrong {
			tx.Put(key, []byte("again"))
		}
		return nil
	}})
	root := e.Root("workbench", "r")
	if err := errors.Join(writeHooked(e, root, "a"), writeHooked(e, root, "b")); err != nil {
		t.Fatal(err)
	}
	e.Clock.Advance(time.Hour)
	if _, err := e.Reap(ctx); err == nil {
		t.Error("a hook of the reaper wrote a version")
	}
	wrong = false
	if _, err := e.Reap(ctx); err != nil {
		t.Error(err)
	}
}

// A View reads immutable rows, at an old revision too, where newer versions are
// filtered out.
func TestViewReadsImmutableRows(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("workbench", "r")
	key := keys.AppendBodyExtent(nil, root.ID(), keys.ListID{Revision: 1}, 5)
	err := e.Update(ctx, root, func(tx *kv.Tx) error {
		tx.Put(key, []byte("bytes"))
		tx.Put(hookedKey(root, "a"), []byte("1"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := writeHooked(e, root, "newer"); err != nil {
			t.Fatal(err)
		}
	}
	e.Reopen()
	root = e.Root("workbench", "r")
	read := func(v *kv.View) error {
		value, ok, err := v.Get(key)
		if err != nil || !ok || string(value.Bytes) != "bytes" || value.Rev != 0 {
			t.Errorf("at %d: Get gave %q at %d, %v, %v", v.Revision(), value.Bytes, value.Rev, ok, err)
		}
		lower, upper := keys.SpaceBounds(keys.SpaceBodyExtent, root.ID())
		it := v.Scan(lower, upper, kv.ScanOptions{})
		defer it.Close()
		if !it.Next() || string(it.Value().Bytes) != "bytes" || it.Next() {
			t.Errorf("at %d: Scan: %v", v.Revision(), it.Err())
		}
		if _, ok, err := v.Get(keys.AppendBodyExtent(nil, root.ID(), keys.ListID{Revision: 1}, 6)); ok || err != nil {
			t.Errorf("at %d: a row that does not exist: %v, %v", v.Revision(), ok, err)
		}
		return nil
	}
	if err := errors.Join(e.View(ctx, root, read), e.ViewAt(ctx, root, 1, read)); err != nil {
		t.Error(err)
	}
	if err := e.View(ctx, root, func(v *kv.View) error {
		_, _, err := v.Get(keys.AppendLease(nil, root.ID(), "x"))
		return err
	}); !errors.Is(err, kv.ErrHousekeeping) {
		t.Errorf("a View read housekeeping: %v", err)
	}
}

func TestViewsEnded(t *testing.T) {
	e := kvtest.New(t)
	root, other := e.Root("workbench", "r"), e.Root("workbench", "other")
	if mark := e.ViewMark(root); !e.ViewsEnded(root, mark) || !e.ViewsEnded(root, mark) {
		t.Error("no View is open")
	}
	within := func(root kv.Root, fn func()) {
		t.Helper()
		if err := e.View(ctx, root, func(*kv.View) error { fn(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var inside, later uint64
	within(root, func() {
		inside = e.ViewMark(root)
		if e.ViewsEnded(root, inside) {
			t.Error("the View is open")
		}
		within(other, func() {
			if !e.ViewsEnded(other, 0) && e.ViewsEnded(other, e.ViewMark(other)) {
				t.Error("the other root's View is open")
			}
		})
		within(root, func() { later = e.ViewMark(root) })
		if e.ViewsEnded(root, inside) {
			t.Error("a later View has ended, the first is open")
		}
	})
	within(root, func() {
		if !e.ViewsEnded(root, inside) {
			t.Error("a View that began after the mark counts")
		}
	})
	if !e.ViewsEnded(root, inside) || !e.ViewsEnded(root, later) {
		t.Error("all Views have ended")
	}
}
