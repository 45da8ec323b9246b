package kv

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

func openPlain(t *testing.T) (*Store, Root) {
	t.Helper()
	s, err := Open(Options{FS: vfs.NewMem(), Dir: "data", NoBackground: true, CacheBytes: 32 << 20, MemTableBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(context.Background()).Err(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	root, err := s.Root(context.Background(), "test", "tenant", "a")
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

func mustUpdate(t *testing.T, s *Store, root Root, fn func(tx *Tx)) {
	t.Helper()
	if err := s.Update(context.Background(), root, func(tx *Tx) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// scanSteps reads a space at a revision, and returns the rows and how many
// internal positions the iterator took.
func scanSteps(t *testing.T, s *Store, root Root, rev Revision) (rows, steps int) {
	t.Helper()
	lower, upper := keys.SpaceBounds(keys.SpacePathRecord, root.ID())
	err := s.ViewAt(context.Background(), root, rev, func(v *View) error {
		it := v.Scan(lower, upper, ScanOptions{})
		for it.Next() {
			rows++
		}
		stats := it.it.Stats()
		steps = stats.ForwardStepCount[pebble.InternalIterCall] + stats.ForwardSeekCount[pebble.InternalIterCall]
		return it.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, steps
}

// Reading under thousands of newer versions of one key costs a seek, not a step
// for each; so does reading past thousands of older ones.
func TestManyVersionsAreSeekedOver(t *testing.T) {
	s, root := openPlain(t)
	for range 2000 {
		mustUpdate(t, s, root, func(tx *Tx) { tx.Put(testKey(root, "busy"), []byte("x")) })
	}
	mustUpdate(t, s, root, func(tx *Tx) { tx.Put(testKey(root, "calm"), nil) })
	for _, rev := range []Revision{2, 1000, 2001} {
		rows, steps := scanSteps(t, s, root, rev)
		want := 1
		if rev == 2001 {
			want = 2
		}
		if rows != want || steps > 10*seekAfter {
			t.Errorf("at %d: %d rows in %d steps", rev, rows, steps)
		}
	}
}

// A page at an old revision under many newer rows does not read the blocks in
// which everything is newer.
func TestNewerBlocksAreFiltered(t *testing.T) {
	s, root := openPlain(t)
	mustUpdate(t, s, root, func(tx *Tx) {
		for n := range 20 {
			tx.Put(testKey(root, fmt.Sprintf("%05d", n*1000)), []byte("old"))
		}
	})
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < 20_000; from += 500 {
		mustUpdate(t, s, root, func(tx *Tx) {
			for n := from; n < from+500; n++ {
				if n%1000 != 0 {
					tx.Insert(testKey(root, fmt.Sprintf("%05d", n)), []byte("new"))
				}
			}
		})
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	rows, steps := scanSteps(t, s, root, 1)
	if rows != 20 || steps > 1000 {
		t.Errorf("at 1: %d rows in %d steps of 20000", rows, steps)
	}
	if rows, steps = scanSteps(t, s, root, 41); rows != 20_000 || steps < 20_000 {
		t.Errorf("at the head: %d rows in %d steps", rows, steps)
	}
}

// A page at an old revision does not step through what is newer and still in
// memory, once what it shows has gone to tables.
func TestNewerRowsInMemoryAreLeftOut(t *testing.T) {
	s, root := openPlain(t)
	mustUpdate(t, s, root, func(tx *Tx) {
		for n := range 20 {
			tx.Put(testKey(root, fmt.Sprintf("%05d", n*100)), []byte("old"))
		}
	})
	newer := func() {
		for from := 0; from < 2000; from += 500 {
			mustUpdate(t, s, root, func(tx *Tx) {
				for n := from; n < from+500; n++ {
					tx.Put(testKey(root, fmt.Sprintf("%05d", n)), []byte("new"))
				}
			})
		}
	}
	newer()
	// All of it is in memory: there is no other way than through it.
	if rows, steps := scanSteps(t, s, root, 1); rows != 20 || steps < 2000 {
		t.Errorf("in memory: %d rows in %d steps", rows, steps)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	head := Revision(root.state.durable.Load())
	newer()
	// At the revision that was flushed last everything shows, and nothing newer
	// is met; one later nothing may be left out.
	for rev, want := range map[Revision]int{head: 2000, head + 1: 2000} {
		rows, steps := scanSteps(t, s, root, rev)
		if rows != want || (rev == head) != (steps < 2500) {
			t.Errorf("at %d of %d: %d rows in %d steps", rev, head, rows, steps)
		}
	}
	for n := range 20 {
		err := s.ViewAt(context.Background(), root, 1, func(v *View) error {
			value, ok, err := v.Get(testKey(root, fmt.Sprintf("%05d", n*100)))
			if string(value.Bytes) != "old" || !ok {
				t.Errorf("%d is %q, %v", n*100, value.Bytes, ok)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A scan at an old revision stops at what it shows, and at nothing newer.
func TestNewerRowsArePassedOver(t *testing.T) {
	s, root := openPlain(t)
	put := func(suffix, value string) {
		mustUpdate(t, s, root, func(tx *Tx) {
			for n := range 100 {
				tx.Put(testKey(root, fmt.Sprintf("%03d%s", n, suffix)), []byte(value))
			}
		})
	}
	put("", "old")
	for _, suffix := range []string{"a", "b", "", "", ""} {
		put(suffix, "new")
	}
	for _, flushed := range []bool{false, true} {
		lower, upper := keys.SpaceBounds(keys.SpacePathRecord, root.ID())
		for rev := Revision(1); rev < 6; rev++ {
			err := s.ViewAt(context.Background(), root, rev, func(v *View) error {
				it := v.Scan(lower, upper, ScanOptions{})
				rows := 0
				for it.Next() {
					rows++
				}
				want := 100 * min(3, int(rev))
				stats := it.it.Stats()
				if stops := stats.ForwardStepCount[pebble.InterfaceCall]; rows != want || rev < 4 && stops > rows+1 {
					t.Errorf("at %d, flushed %v: %d rows, want %d, in %d stops", rev, flushed, rows, want, stops)
				}
				if newer := it.PassedOver(); newer == 0 {
					t.Errorf("at %d, flushed %v: nothing newer was met", rev, flushed)
				}
				return it.Close()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzPhysicalKey(f *testing.F) {
	f.Add([]byte("key"), uint64(7), []byte{0})
	f.Add([]byte{}, uint64(1), []byte("x\x00\x00\x00\x00\x00\x00\x00\x00\x01\x09"))
	f.Fuzz(func(t *testing.T, key []byte, rev uint64, other []byte) {
		if rev != 0 {
			got, at, ok := splitPhysical(appendVersioned(nil, key, Revision(rev)))
			if !ok || string(got) != string(key) || at != Revision(rev) {
				t.Errorf("versioned %x@%d gives %x@%d %v", key, rev, got, at, ok)
			}
		}
		if got, at, ok := splitPhysical(appendBare(nil, key)); !ok || string(got) != string(key) || at != 0 {
			t.Errorf("housekeeping %x gives %x@%d %v", key, got, at, ok)
		}
		if got, at, ok := splitPhysical(other); ok {
			again := appendBare(nil, got)
			if at != 0 {
				again = appendVersioned(nil, got, at)
			}
			if string(again) != string(other) {
				t.Errorf("%x is taken for %x@%d", other, got, at)
			}
		}
		if value, deleted, err := splitValue(other); err == nil && !deleted && string(append(value, live)) != string(other) {
			t.Errorf("value %x is taken for %x", other, value)
		}
	})
}
