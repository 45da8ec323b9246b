package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// within is what the keys of all rows begin with whose name begins with name.
func within(root Root, name string) []byte {
	key := testKey(root, name)
	return key[:len(key)-2] // without the end of the text
}

func openReaping(t *testing.T, fs vfs.FS) (*Store, Root) {
	t.Helper()
	s, err := Open(Options{FS: fs, Dir: "data", NoBackground: true, CacheBytes: 4 << 20, MemTableBytes: 1 << 20, HistoryWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.Root(context.Background(), "test", "tenant", "a")
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

func updateWith(t *testing.T, s *Store, root Root, fn func(tx *Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), root, fn); err != nil {
		t.Fatal(err)
	}
}

// KV-9: a hold within a prefix keeps the rows below it, and lets the others go.
func TestHoldWithinAPrefix(t *testing.T) {
	s, root := openReaping(t, vfs.NewMem())
	defer func() {
		if err := errors.Join(s.Check(context.Background()).Err(), s.Close()); err != nil {
			t.Error(err)
		}
	}()
	var at Revision
	var id HoldID
	updateWith(t, s, root, func(tx *Tx) (err error) {
		tx.Put(testKey(root, "a/1"), []byte("old"))
		tx.Put(testKey(root, "b/1"), []byte("old"))
		at = tx.Revision()
		id, err = tx.HoldWithin(within(root, "a/"), 1, []byte("o"))
		return err
	})
	updateWith(t, s, root, func(tx *Tx) error {
		tx.Put(testKey(root, "a/1"), []byte("new"))
		tx.Put(testKey(root, "b/1"), []byte("new"))
		return nil
	})
	r, err := s.Reap(context.Background())
	if err != nil || r.Dropped != 1 || r.Kept != 1 {
		t.Fatalf("reaped %+v, %v; want one dropped and one kept", r, err)
	}
	err = s.ViewAt(context.Background(), root, at, func(v *View) error {
		if got, ok, err := v.Get(testKey(root, "a/1")); err != nil || !ok || string(got.Bytes) != "old" {
			t.Errorf("held row: %q %v %v", got.Bytes, ok, err)
		}
		if _, _, err := v.Get(testKey(root, "b/1")); !errors.Is(err, ErrBelowFloor) {
			t.Errorf("a row outside of the prefix: %v", err)
		}
		for name, bounds := range map[string][2][]byte{
			"outside":  {within(root, "b/"), within(root, "c")},
			"reaching": {within(root, "a/"), within(root, "b")},
			"over":     {within(root, "a"), within(root, "b")},
		} {
			it := v.Scan(bounds[0], bounds[1], ScanOptions{})
			if it.Next() || !errors.Is(it.Close(), ErrBelowFloor) {
				t.Errorf("a scan %s: %v", name, it.Err())
			}
		}
		it := v.Scan(within(root, "a/"), keys.AppendEnd(nil, within(root, "a/")), ScanOptions{})
		if !it.Next() || string(it.Value().Bytes) != "old" || it.Next() {
			t.Error("a scan within the prefix shows something else")
		}
		return it.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	updateWith(t, s, root, func(tx *Tx) error {
		if _, err := tx.HoldWithinAt(at, within(root, "b/"), 1, nil); !errors.Is(err, ErrBelowFloor) {
			t.Errorf("a hold on what is gone: %v", err)
		}
		if _, err := tx.HoldAt(at, 1, nil); !errors.Is(err, ErrBelowFloor) {
			t.Errorf("a hold on everything, of which a part is gone: %v", err)
		}
		if _, err := tx.HoldWithinAt(at, within(root, "a/1"), 1, nil); err != nil {
			t.Errorf("a hold within one that is held: %v", err)
		}
		return tx.Release(id)
	})
	if r, err := s.Reap(context.Background()); err != nil || r.Dropped != 0 {
		t.Errorf("reaped %+v, %v; the second hold needs the row", r, err)
	}
	updateWith(t, s, root, func(tx *Tx) error { return tx.Release(tx.Holds()[0].ID) })
	if r, err := s.Reap(context.Background()); err != nil || r.Dropped != 1 {
		t.Errorf("reaped %+v, %v; want the row that nobody needs any more", r, err)
	}
}

func TestHoldWithinAForeignPrefix(t *testing.T) {
	s, root := openReaping(t, vfs.NewMem())
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, prefix := range map[string][]byte{
		"nothing": {}, "a housekeeping space": keys.AppendPrefix(nil, keys.SpaceHolds, root.ID()),
		"another root": keys.AppendPrefix(nil, testKey(root, "")[0], root.ID()+1),
	} {
		err := s.Update(context.Background(), root, func(tx *Tx) error {
			_, err := tx.HoldWithin(prefix, 1, nil)
			return err
		})
		if !errors.Is(err, ErrForeignKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// KV-7, KV-9: random updates, holds of all kinds, releases, reaping and
// restarts; whatever a hold promises is there, row by row, and the check finds
// nothing.
func TestHoldsWithinAgainstAModel(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			fs := vfs.NewMem()
			s, root := openReaping(t, fs)
			rng := rand.New(rand.NewPCG(seed, 1))
			names := []string{"a/1", "a/2", "a/b/1", "b/1", "b/2"}
			kinds := [][]byte{nil, within(root, "a/"), within(root, "a/b/"), within(root, "b/")}
			present, history, held := map[string]string{}, map[Revision]map[string]string{}, map[HoldID]Hold{}
			for range 150 {
				var rev Revision
				var minted []Hold
				var released []HoldID
				updateWith(t, s, root, func(tx *Tx) error {
					rev, minted, released = tx.Revision(), nil, nil
					for range 1 + rng.IntN(3) {
						name := names[rng.IntN(len(names))]
						if rng.IntN(4) == 0 {
							tx.Delete(testKey(root, name))
							delete(present, name)
						} else {
							value := fmt.Sprint(rng.Uint32())
							tx.Put(testKey(root, name), []byte(value))
							present[name] = value
						}
					}
					if rng.IntN(3) == 0 {
						h := Hold{Revision: rev, Prefix: kinds[rng.IntN(len(kinds))]}
						var err error
						if h.Prefix == nil {
							h.ID, err = tx.Hold(1, nil)
						} else {
							h.ID, err = tx.HoldWithin(h.Prefix, 1, nil)
						}
						if err != nil {
							return err
						}
						minted = append(minted, h)
					}
					if len(held) > 0 && rng.IntN(4) == 0 {
						ids := slices.Sorted(maps.Keys(held))
						id := ids[rng.IntN(len(ids))]
						released = append(released, id)
						return tx.Release(id)
					}
					return nil
				})
				history[rev] = maps.Clone(present)
				for _, h := range minted {
					held[h.ID] = h
				}
				for _, id := range released {
					delete(held, id)
				}
				switch rng.IntN(6) {
				case 0:
					if _, err := s.Reap(context.Background()); err != nil {
						t.Fatal(err)
					}
				case 1:
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s, root = openReaping(t, fs)
				}
				compareHeld(t, s, root, names, held, history)
			}
			if err := errors.Join(s.Check(context.Background()).Err(), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func compareHeld(t *testing.T, s *Store, root Root, names []string, held map[HoldID]Hold, history map[Revision]map[string]string) {
	t.Helper()
	for _, h := range held {
		err := s.ViewAt(context.Background(), root, h.Revision, func(v *View) error {
			for _, name := range names {
				key := testKey(root, name)
				if !bytes.HasPrefix(key, h.Prefix) {
					continue
				}
				got, ok, err := v.Get(key)
				want, there := history[h.Revision][name]
				if err != nil || ok != there || string(got.Bytes) != want {
					return fmt.Errorf("%s at %d: %q %v %v, want %q %v", name, h.Revision, got.Bytes, ok, err, want, there)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("hold %+v: %v", h, err)
		}
	}
}
