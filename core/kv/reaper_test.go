package kv

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// steppedClock moves by step whenever somebody asks for the time; before is called then.
type steppedClock struct {
	*clock.Fake
	step   atomic.Int64
	before func()
}

func (c *steppedClock) Now() time.Time {
	if c.before != nil {
		c.before()
	}
	c.Advance(time.Duration(c.step.Load()))
	return c.Fake.Now()
}

// superseded is a store with n superseded versions, whose time has come, of keys with names of a length.
func superseded(t *testing.T, n, nameLen int) (*Store, Root, *steppedClock) {
	t.Helper()
	clk := &steppedClock{Fake: clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	s, err := Open(Options{FS: vfs.NewMem(), Dir: "data", Clock: clk, NoBackground: true, CacheBytes: 8 << 20, MemTableBytes: 4 << 20, HistoryWindow: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		clk.before = nil
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
	for round := range 2 {
		for from := 0; from < n; from += 500 {
			updateWith(t, s, root, func(tx *Tx) error {
				for i := from; i < min(n, from+500); i++ {
					tx.Put(testKey(root, fmt.Sprintf("%0*d", nameLen, i)), fmt.Append(nil, round))
				}
				return nil
			})
		}
	}
	clk.Advance(time.Hour)
	return s, root, clk
}

// A step of the reaper ends after stepMillis, in multiples of 64 rows, after which the clock is looked at; and whoever waits
// has a turn before the next one.
func TestAStepOfTheReaperIsBoundedInTime(t *testing.T) {
	const rows, steps = 1000, (1000 + 63) / 64
	s, root, clk := superseded(t, rows, 8)
	batch, _, err := s.expired(root.state)
	if err != nil || len(batch) != rows {
		t.Fatalf("%d rows have expired, %v", len(batch), err)
	}
	var reaped []uint64 // when somebody else had a turn
	done := make(chan error, steps)
	clk.step.Store(int64(stepMillis * time.Millisecond))
	// In its turn the reaper asks for the time at the start and after each 64 rows; nobody else asks here.
	clk.before = func() {
		if n, _ := s.seq.waiting(); n > 0 {
			return
		}
		go func() {
			done <- s.Update(context.Background(), root, func(*Tx) error {
				reaped = append(reaped, s.counters.reaped.Load())
				return nil
			})
		}()
		for n := 0; n == 0; n, _ = s.seq.waiting() {
			runtime.Gosched()
		}
	}
	if err := s.raiseFloor(context.Background(), root.state, batch[rows-1].victim.Revision); err != nil {
		t.Fatal(err)
	}
	r, err := s.drop(context.Background(), root.state, batch, nil)
	if err != nil || r.Dropped != rows || r.Steps != steps {
		t.Fatalf("%+v, %v", r, err)
	}
	for range steps {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for i, n := range reaped {
		if want := uint64(min(64*(i+1), rows)); n != want {
			t.Errorf("at the other's turn %d, %d were reaped, not %d", i, n, want)
		}
	}
}

// A step is bounded in bytes as well, however little time it takes.
func TestAStepOfTheReaperIsBoundedInBytes(t *testing.T) {
	const rows = 3000
	s, root, _ := superseded(t, rows, 200)
	for left := rows; left > 0; {
		batch, more, err := s.expired(root.state)
		if err != nil || len(batch) == 0 || more != (len(batch) < left) {
			t.Fatalf("%d of %d, more: %v, %v", len(batch), left, more, err)
		}
		if more && len(batch) > stepBytes/(2*200) {
			t.Fatalf("a step of %d rows of more than %d bytes", len(batch), 2*200)
		}
		before := s.counters.bytes.Load()
		r, _, err := s.reapStep(context.Background(), root.state)
		if err != nil || r.Dropped != int64(len(batch)) || r.Steps != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if bytes := s.counters.bytes.Load() - before; bytes > stepBytes+4096 {
			t.Errorf("a step wrote %d bytes", bytes)
		}
		left -= len(batch)
	}
}

// remains counts the deletions that lie below what can be read.
func remains(t *testing.T, s *Store, root Root) (n int) {
	t.Helper()
	for _, space := range []byte{keys.SpacePathRecord, keys.SpaceReapQueue} {
		lower, upper := keys.SpaceBounds(space, root.ID())
		err := s.db.ScanInternal(context.Background(), block.CategoryUnknown, appendBare(nil, lower), appendBare(nil, upper),
			func(key *pebble.InternalKey, _ pebble.LazyValue, _ pebble.IteratorLevel) error {
				if key.Kind() == pebble.InternalKeyKindDelete {
					n++
				}
				return nil
			},
			func(_, _ []byte, _ pebble.SeqNum) error { return nil }, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// What many reaped versions leave in the tables is compacted away: their deletions, and those of the queue that listed
// them. Few are not worth it.
func TestWhatTheReaperLeavesIsCompacted(t *testing.T) {
	for _, c := range []struct {
		rows    int
		compact uint64
	}{{compactAfter - 1, 0}, {compactAfter, 1}} {
		s, root, _ := superseded(t, c.rows, 8)
		if r, err := s.Reap(context.Background()); err != nil || r.Dropped != int64(c.rows) {
			t.Fatalf("%+v, %v", r, err)
		}
		n := remains(t, s, root)
		if got := s.Stats().ReapCompactions; got != c.compact || (n == 0) != (c.compact == 1) {
			t.Errorf("%d versions reaped: %d compactions, and the deletions of %d are left", c.rows, got, n)
		}
		lower, upper := keys.SpaceBounds(keys.SpacePathRecord, root.ID())
		err := s.View(context.Background(), root, func(v *View) error {
			it := v.Scan(lower, upper, ScanOptions{})
			left := 0
			for it.Next() {
				if left++; string(it.Value().Bytes) != "1" {
					t.Errorf("%x has %q", it.Key(), it.Value().Bytes)
				}
			}
			if left != c.rows {
				t.Errorf("%d rows are left of %d", left, c.rows)
			}
			return it.Close()
		})
		if err != nil {
			t.Error(err)
		}
	}
}
