package kv

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Each invariant that Check verifies is broken once, behind the store's back.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		want  string
		wreck func(s *Store, root Root, b *pebble.Batch) error
	}{
		"a root's head row is wrong": {"KV-1", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Set(appendBare(nil, keys.AppendRootHead(nil, root.ID())), record.AppendRootHead(nil, record.RootHead{Revision: 99}), nil)
		}},
		"a row of a root that is not registered": {"KV-1", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Set(appendVersioned(nil, keys.AppendPrefix(nil, keys.SpacePathRecord, 9), 1), []byte{live}, nil)
		}},
		"a version above the head": {"KV-2", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Set(appendVersioned(nil, testKey(root, "z"), 99), []byte{live}, nil)
		}},
		"a versioned row without a revision": {"KV-6", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Set(appendBare(nil, testKey(root, "z")), []byte{live}, nil)
		}},
		"a row of no space": {"KV-6", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Set(appendBare(nil, keys.AppendPrefix(nil, 0xFE, root.ID())), nil, nil)
		}},
		"a value that does not decode": {"KV-6", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Set(appendBare(nil, keys.AppendFloor(nil, root.ID())), []byte("?"), nil)
		}},
		"a superseded version that no queue lists": {"KV-7", func(s *Store, root Root, b *pebble.Batch) error {
			return b.Delete(appendBare(nil, keys.AppendReap(nil, root.ID(), keys.Victim{Revision: 2})), nil)
		}},
		"an Insert over an earlier version": {"KV-7", func(s *Store, root Root, b *pebble.Batch) error {
			return s.Update(context.Background(), root, func(tx *Tx) error {
				tx.Insert(testKey(root, "x"), nil)
				return nil
			})
		}},
		"a queue that lists what is not superseded": {"KV-7", func(s *Store, root Root, b *pebble.Batch) error {
			row := record.Victim{Revision: 2, Key: testKey(root, "x")}
			return b.Set(appendBare(nil, keys.AppendReap(nil, root.ID(), keys.Victim{Revision: 2, Number: 5})), record.AppendVictim(nil, row), nil)
		}},
		"a queue of a hold that does not exist": {"KV-7", func(s *Store, root Root, b *pebble.Batch) error {
			row := record.Victim{Revision: 2, Key: testKey(root, "x")}
			return b.Set(appendBare(nil, keys.AppendHoldReap(nil, root.ID(), 7, keys.Victim{Revision: 2})), record.AppendVictim(nil, row), nil)
		}},
		"a floor above the head": {"KV-8", func(s *Store, root Root, b *pebble.Batch) error {
			root.state.floor.Store(99)
			return nil
		}},
		"a hold above the head": {"KV-9", func(s *Store, root Root, b *pebble.Batch) error {
			root.state.holds.add(Hold{ID: 1, Revision: 99})
			return nil
		}},
		"a row from the future": {"KV-10", func(s *Store, root Root, b *pebble.Batch) error {
			s.toldMillis = 1
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(Options{FS: vfs.NewMem(), Dir: "data", NoBackground: true, CacheBytes: 4 << 20, MemTableBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			root, err := s.Root(context.Background(), "test", "tenant", "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range []string{"one", "two"} {
				mustUpdate(t, s, root, func(tx *Tx) { tx.Put(testKey(root, "x"), []byte(value)) })
			}
			if err := s.Check(context.Background()).Err(); err != nil {
				t.Fatalf("before: %v", err)
			}
			b := s.db.NewBatch()
			if err := c.wreck(s, root, b); err != nil {
				t.Fatal(err)
			}
			if err := b.Commit(pebble.NoSync); err != nil {
				t.Fatal(err)
			}
			err = s.Check(context.Background()).Err()
			if err == nil || !strings.Contains(err.Error(), c.want+":") {
				t.Fatalf("want %s, have %v", c.want, err)
			}
		})
	}
}

func TestCheckRunsWhatWasRegistered(t *testing.T) {
	s, _ := openPlain(t)
	complain := true
	s.RegisterCheck("area", func(_ context.Context, v *CheckView) []Problem {
		if roots, names := v.Roots(); len(roots) != 1 || names[0].Name != "a" {
			t.Errorf("the view has roots %v", names)
		}
		if !complain {
			return nil
		}
		return []Problem{{Invariant: "AREA-1", Text: "does not hold"}}
	})
	report := s.Check(context.Background())
	if len(report.Checks) != 2 || report.Rows == 0 || len(report.Problems) != 1 || report.Problems[0].String() != "area: AREA-1: does not hold" {
		t.Fatalf("report %+v", report)
	}
	complain = false
}
