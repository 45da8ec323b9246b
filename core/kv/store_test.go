package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

var ctx = context.Background()

// rowKey is a key of a versioned space, houseKey one of a housekeeping space.
func rowKey(root kv.Root, name string) []byte {
	return keys.AppendText(keys.AppendPrefix(nil, keys.SpacePathRecord, root.ID()), name)
}

func houseKey(root kv.Root, name string) []byte {
	return keys.AppendText(keys.AppendPrefix(nil, keys.SpaceStaging, root.ID()), name)
}

func put(t testing.TB, s *kv.Store, root kv.Root, name, value string) kv.Revision {
	t.Helper()
	var rev kv.Revision
	err := s.Update(ctx, root, func(tx *kv.Tx) error {
		tx.Put(rowKey(root, name), []byte(value))
		rev = tx.Revision()
		return nil
	})
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	return rev
}

func del(t testing.TB, s *kv.Store, root kv.Root, name string) {
	t.Helper()
	if err := s.Update(ctx, root, func(tx *kv.Tx) error { tx.Delete(rowKey(root, name)); return nil }); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
}

// dump is everything in the test space at a revision, as "name=value@rev …".
func dump(t testing.TB, s *kv.Store, root kv.Root, rev kv.Revision) string {
	t.Helper()
	out, err := tryDump(s, root, rev)
	if err != nil {
		t.Fatalf("view at %d: %v", rev, err)
	}
	return out
}

func tryDump(s *kv.Store, root kv.Root, rev kv.Revision) (out string, err error) {
	err = s.ViewAt(ctx, root, rev, func(v *kv.View) error {
		out, err = scanAll(v, root)
		return err
	})
	return out, err
}

func scanAll(r kv.Reader, root kv.Root) (out string, err error) {
	it := r.Scan(spaceOf(root))
	for it.Next() {
		name, _, err := keys.CutText(nil, it.Key()[keys.PrefixLen:])
		if err != nil {
			return "", err
		}
		got, ok, err := r.Get(it.Key())
		if err != nil || !ok || string(got.Bytes) != string(it.Value().Bytes) || got.Rev != it.Value().Rev {
			return "", fmt.Errorf("Get(%s) = %q@%d, %v, %v; the scan has %q@%d", name, got.Bytes, got.Rev, ok, err, it.Value().Bytes, it.Value().Rev)
		}
		out += fmt.Sprintf("%s=%s@%d ", name, it.Value().Bytes, it.Value().Rev)
	}
	return out, it.Close()
}

func spaceOf(root kv.Root) (lower, upper []byte, o kv.ScanOptions) {
	lower, upper = keys.SpaceBounds(keys.SpacePathRecord, root.ID())
	return lower, upper, kv.ScanOptions{}
}

func TestVersionsCanBeGoneBackTo(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("test", "a")
	put(t, e.Store, root, "x", "one")
	put(t, e.Store, root, "y", "two")
	put(t, e.Store, root, "x", "three")
	del(t, e.Store, root, "y")
	put(t, e.Store, root, "y", "four")
	for rev, want := range map[kv.Revision]string{
		0: "", 1: "x=one@1 ", 2: "x=one@1 y=two@2 ", 3: "x=three@3 y=two@2 ", 4: "x=three@3 ", 5: "x=three@3 y=four@5 ",
	} {
		if got := dump(t, e.Store, root, rev); got != want {
			t.Errorf("at %d: %q, want %q", rev, got, want)
		}
	}
	if _, err := tryDump(e.Store, root, 6); !errors.Is(err, kv.ErrAhead) {
		t.Errorf("a revision that was never written: %v", err)
	}
	e.Reopen()
	root = e.Root("test", "a")
	if got, want := dump(t, e.Store, root, 3), "x=three@3 y=two@2 "; got != want {
		t.Errorf("after reopening: %q, want %q", got, want)
	}
}

func TestTheReaperKeepsTheWindow(t *testing.T) {
	e := kvtest.New(t)
	root := e.Root("test", "a")
	put(t, e.Store, root, "x", "one")
	e.Clock.Advance(time.Minute)
	put(t, e.Store, root, "x", "two")
	e.Clock.Advance(5 * time.Minute)
	if r, err := e.Reap(ctx); err != nil || r.Dropped != 0 {
		t.Fatalf("before its time: %+v, %v", r, err)
	}
	if got := dump(t, e.Store, root, 1); got != "x=one@1 " {
		t.Fatalf("inside the window: %q", got)
	}
	e.Clock.Advance(time.Minute)
	if r, err := e.Reap(ctx); err != nil || r.Dropped != 1 {
		t.Fatalf("after the window: %+v, %v", r, err)
	}
	if _, err := tryDump(e.Store, root, 1); !errors.Is(err, kv.ErrBelowFloor) {
		t.Fatalf("KV-8: below the floor: %v", err)
	}
	if got := dump(t, e.Store, root, 2); got != "x=two@2 " {
		t.Fatalf("at the floor: %q", got)
	}
}
