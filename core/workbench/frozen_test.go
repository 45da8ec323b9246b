package workbench_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// WB-7, WB-11: a listing at a snapshot goes on whatever happens to the live
// files, and to the name by which it began.
func TestAFrozenListingGoesOn(t *testing.T) {
	b := committed(t)
	for i := range 6 {
		b.put(fmt.Sprint("dir/", i), "x")
	}
	deadline := time.UnixMilli(b.snapshot("s", nil).LeaseExpiresAt)
	page := func(sel *op.IntOrString, cursor *string) (*op.WorkbenchListResult, error) {
		return b.list(ptr("outputs"), ptr("dir"), func(r *op.WorkbenchListRequest) {
			r.AtSnapshot, r.Cursor, r.Limit = sel, cursor, ptr(int32(2))
		})
	}
	for _, sel := range []*op.IntOrString{at("s"), at(int64(1))} {
		first, err := page(sel, nil)
		if err != nil || !slices.Equal(entries(first), []string{"0", "1"}) {
			t.Fatal(first, err)
		}
		cursor := first.NextCursor
		for i := range 50 {
			if sel.IsString {
				b.put(fmt.Sprint("dir/", i%5, "-", i), "newer")
			} else {
				b.replace("dir/3", fmt.Sprint(i))
			}
		}
		if sel.IsString {
			b.snapshot("s", nil) // the name means another snapshot now
		}
		b.forget()
		b.reopen()
		second, err := page(sel, cursor)
		if err != nil || !slices.Equal(entries(second), []string{"2", "3"}) || *second.Entries[1].SizeBytes != 1 {
			t.Fatal(second, err)
		}
		// The scope of a cursor is its selector too.
		for _, other := range []*op.IntOrString{nil, at("t"), at("s"), at(int64(1)), at(int64(2)), at("1")} {
			if other != nil && *other == *sel {
				continue
			}
			_, err := page(other, cursor)
			refused(t, err, op.ReasonWBBadCursor)
		}
		third, err := page(sel, second.NextCursor)
		if err != nil || !slices.Equal(entries(third), []string{"4", "5"}) || third.NextCursor != nil || third.Truncated {
			t.Error(third, err)
		}
	}
	// A live cursor is none of a snapshot, even of the same state.
	live, err := page(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.snapshot("now", nil)
	_, err = page(at("now"), live.NextCursor)
	refused(t, err, op.ReasonWBBadCursor)

	// A cursor gives no right to read what is no longer kept.
	first, err := page(at(int64(1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.env.Clock.Set(deadline)
	_, err = page(at(int64(1)), first.NextCursor)
	refused(t, err, op.ReasonWBSnapshotExpired)
	if _, err := b.renew(int64(1), 1); err != nil {
		t.Fatal(err)
	}
	if _, err = page(at(int64(1)), first.NextCursor); err != nil {
		t.Error(err)
	}
	if _, err := b.retire(int64(1), nil); err != nil {
		t.Fatal(err)
	}
	_, err = page(at(int64(1)), first.NextCursor)
	refused(t, err, op.ReasonWBSnapshotEnded)
}

func TestAFrozenRootShowsWhatWasThere(t *testing.T) {
	b := committed(t)
	b.snapshot("empty", nil)
	b.put("a", "x")
	b.snapshot("one", nil)
	sections := []string{"input/", "logs/", "metadata/", "outputs/", "scripts/"}
	for _, name := range []string{"empty", "one"} {
		root, err := b.list(nil, nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = at(name) })
		if err != nil || !slices.Equal(entries(root), sections) {
			t.Errorf("%+v, %v", root, err)
		}
		outputs, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = at(name) })
		if err != nil || len(outputs.Entries) != map[string]int{"empty": 0, "one": 1}[name] {
			t.Errorf("%+v, %v", outputs, err)
		}
	}
}

// The snapshot of a large workbench writes what that of a small one writes.
func TestASnapshotCostsTheSameForManyFiles(t *testing.T) {
	written := func(files int) int64 {
		b := committed(t)
		if err := b.Fill(ctx, "wb1", "outputs/dir", files); err != nil {
			t.Fatal(err)
		}
		before := b.env.Store.Stats()
		b.snapshot("s", nil)
		after := b.env.Store.Stats()
		return int64(after.BatchBytes - before.BatchBytes)
	}
	few, many := written(10), written(5000)
	if few == 0 || many > few+64 {
		t.Errorf("%d bytes with 10 files, %d with 5000", few, many)
	}
}

// Readers of a snapshot see all of it or that it has ended, while it is written
// over, retired and reclaimed under them.
func TestReadersOfAnEndingSnapshot(t *testing.T) {
	b := committed(t)
	const files = 20
	write := func(round int) {
		for i := range files {
			req := &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: fmt.Sprintf("dir/%02d", i), Text: ptr(fmt.Sprint(round)), Replace: ptr(round > 0)}
			if _, err := b.PutFile(ctx, req); err != nil {
				t.Error(err)
			}
		}
	}
	write(0)
	for round := range 15 {
		id := b.snapshot("", nil).SnapshotID
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for ended := false; !ended; {
					res, err := b.list(ptr("outputs"), ptr("dir"), func(r *op.WorkbenchListRequest) { r.AtSnapshot = at(id) })
					text, readErr := b.textAt("dir/07", at(id))
					for _, err := range []error{err, readErr} {
						if err != nil && !fault.Is(err, op.ReasonWBSnapshotEnded) {
							t.Error(err)
							return
						}
						ended = ended || err != nil
					}
					if err == nil && len(res.Entries) != files || readErr == nil && text != fmt.Sprint(round) {
						t.Errorf("round %d: %d entries, %q", round, len(res.Entries), text)
						return
					}
				}
			})
		}
		write(round + 1)
		b.forget()
		if _, err := b.retire(id, nil); err != nil {
			t.Fatal(err)
		}
		b.forget()
		readers.Wait()
	}
}

// Who reads by a name finds the newest mint or learns that it has ended, also
// while the one before it is retired and reclaimed.
func TestReadersOfANameThatMoves(t *testing.T) {
	b := committed(t)
	b.put("a", "0")
	b.snapshot("s", nil)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for last := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				text, err := b.textAt("a", at("s"))
				if fault.Is(err, op.ReasonWBSnapshotEnded) {
					continue
				}
				n, convErr := strconv.Atoi(text)
				if err != nil || convErr != nil || n < last {
					t.Errorf("%q after %d, %v", text, last, err)
					return
				}
				last = n
			}
		})
	}
	for round := 1; round <= 60; round++ {
		b.replace("a", fmt.Sprint(round))
		if _, err := b.retire("s", nil); err != nil {
			t.Error(err)
		}
		b.snapshot("s", nil)
		if round%3 == 0 {
			b.forget()
		}
	}
	close(stop)
	readers.Wait()
}

// shadow is what a snapshot in the model shows, and where it is in its life.
type shadow struct {
	files              map[string]string
	deadline           time.Time
	state              string // "", or how it ended
	consumers          map[byte]bool
	name, retireReason string
}

func (s *shadow) at(now time.Time) string {
	switch {
	case s.state != "":
		return s.state
	case now.Before(s.deadline):
		return "alive"
	case now.Before(s.deadline.Add(grace)) || len(s.consumers) > 0:
		return "expired"
	}
	s.state = "reaped"
	return s.state
}

// Snapshots against a model, over writes, the clock, power cuts, reapings and
// restarts: WB-11 to WB-15.
func TestSnapshotsAgainstAModel(t *testing.T) {
	for seed := range uint64(25) {
		b := committed(t)
		rng := rand.New(rand.NewPCG(seed, 31))
		live := map[string]string{}
		var shadows []*shadow
		names := map[string]int{}
		pick := func() (int, *shadow) {
			i := rng.IntN(len(shadows))
			return i, shadows[i]
		}
		for step := range 120 {
			now := b.env.Clock.Now()
			text := fmt.Sprintf("%d.%d", seed, step)
			switch what := rng.IntN(14); {
			case what < 3:
				path := fmt.Sprint("f", rng.IntN(6))
				if _, ok := live[path]; ok {
					b.replace(path, text)
				} else {
					b.put(path, text)
				}
				live[path] = text
			case what < 5:
				name := []string{"", "x", "y"}[rng.IntN(3)]
				res := b.snapshot(name, nil)
				if res.SnapshotID != int64(len(shadows)+1) {
					t.Fatalf("seed %d: id %d after %d mints", seed, res.SnapshotID, len(shadows))
				}
				shadows = append(shadows, &shadow{files: maps.Clone(live), deadline: now.Add(day), consumers: map[byte]bool{}, name: name})
				if name != "" {
					names[name] = len(shadows)
				}
			case len(shadows) == 0:
			case what == 5:
				i, s := pick()
				res, err := b.retire(int64(i+1), nil)
				switch state := s.at(now); {
				case state == "retired" || state == "reaped":
					if err != nil || res.Retired || res.State != state {
						t.Fatalf("seed %d: %+v, %v; it was %s", seed, res, err, state)
					}
				case len(s.consumers) > 0:
					refused(t, err, op.ReasonWBForkRetentionActive)
				default:
					if err != nil || !res.Retired {
						t.Fatalf("seed %d: %+v, %v", seed, res, err)
					}
					s.state = "retired"
				}
			case what == 6:
				i, s := pick()
				days := int32(1 + rng.IntN(2))
				res, err := b.renew(int64(i+1), days)
				switch s.at(now) {
				case "retired":
					refused(t, err, op.ReasonWBSnapshotEnded)
				case "reaped":
					refused(t, err, op.ReasonWBSnapshotExpired)
				default:
					if until := now.Add(time.Duration(days) * day); until.After(s.deadline) {
						s.deadline = until
					}
					if err != nil || res.LeaseExpiresAt != s.deadline.UnixMilli() {
						t.Fatalf("seed %d: %+v, %v, want %v", seed, res, err, s.deadline)
					}
				}
			case what == 7:
				i, s := pick()
				operation := byte(rng.IntN(2))
				if add := rng.IntN(2) == 0; add && s.at(now) == "alive" {
					if _, err := b.Consume(ctx, "wb1", int64(i+1), operation, true); err != nil {
						t.Fatal(err)
					}
					s.consumers[operation] = true
				} else if !add {
					dropped, err := b.Consume(ctx, "wb1", int64(i+1), operation, false)
					if err != nil || dropped != s.consumers[operation] {
						t.Fatalf("seed %d: dropped %v, %v", seed, dropped, err)
					}
					delete(s.consumers, operation)
				}
			case what == 8:
				b.env.Clock.Advance([]time.Duration{time.Minute, day / 2, day, grace - time.Millisecond, time.Millisecond}[rng.IntN(5)])
			case what == 9:
				b.fire()
			case what == 10:
				b.forget()
			case what == 11:
				b.closeBodies()
				b.env.Crash(seed*1000 + uint64(step))
				b.open()
			case what == 12:
				b.reopen()
			default:
				i, s := pick()
				sel := at(int64(i + 1))
				if s.name != "" && names[s.name] == i+1 && rng.IntN(2) == 0 {
					sel = at(s.name)
				}
				b.expectFrozen(t, sel, s, now)
			}
		}
		now := b.env.Clock.Now()
		want := []string{}
		for i, s := range shadows {
			want = append(want, fmt.Sprintf("%d:%s", i+1, s.at(now)))
			b.expectFrozen(t, at(int64(i+1)), s, now)
		}
		b.expectStates(want...)
		b.fire()
		held := 0
		for _, s := range shadows {
			if state := s.at(now); state == "alive" || state == "expired" {
				held++
			}
		}
		b.expectHolds(held)
		// The consumers are of no restore: the check of the store would miss theirs.
		for i, s := range shadows {
			for operation := range s.consumers {
				if dropped, err := b.Consume(ctx, "wb1", int64(i+1), operation, false); err != nil || !dropped {
					t.Errorf("snapshot %d: dropped %v, %v", i+1, dropped, err)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// expectFrozen compares everything that a snapshot shows with the model.
func (b *bench) expectFrozen(t *testing.T, sel *op.IntOrString, s *shadow, now time.Time) {
	t.Helper()
	res, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = sel })
	switch s.at(now) {
	case "alive":
	case "expired":
		refused(t, err, op.ReasonWBSnapshotExpired)
		return
	default:
		refused(t, err, op.ReasonWBSnapshotEnded)
		return
	}
	if err != nil {
		t.Fatalf("list at %+v: %v", sel, err)
	}
	got := map[string]string{}
	for _, e := range res.Entries {
		text, err := b.textAt(e.Name, sel)
		if err != nil {
			t.Fatalf("read of %s at %+v: %v", e.Name, sel, err)
		}
		got[e.Name] = text
	}
	if !maps.Equal(got, s.files) {
		t.Errorf("at %+v there is %v, want %v", sel, got, s.files)
	}
}

// WB-38: what is kept of a sparse page shows what the store shows, for its
// snapshot, directory, place and limit alone, and not once the snapshot is over.
func TestASparsePageIsShownAgain(t *testing.T) {
	b := committed(t)
	put := func(suffix string) {
		for i := range 30 {
			b.put(fmt.Sprintf("dir/%02d%s", i, suffix), strings.Repeat("x", i))
		}
	}
	put("")
	b.put("dir/07/below", "x")
	b.put("dir/sub/below", "x")
	b.snapshot("s", nil)
	b.replace("dir/03", "changed")
	b.snapshot("t", nil)
	for i := range 8 {
		put(fmt.Sprint("-", i))
	}
	walk := func(sel *op.IntOrString, limit int32) (all []op.WorkbenchListEntry) {
		var cursor *string
		for {
			res, err := b.list(ptr("outputs"), ptr("dir"), func(r *op.WorkbenchListRequest) {
				r.AtSnapshot, r.Cursor, r.Limit = sel, cursor, ptr(limit)
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, res.Entries...)
			if cursor = res.NextCursor; cursor == nil {
				return all
			}
		}
	}
	kept := 0
	for round := range 2 {
		for _, limit := range []int32{7, 10, 100} {
			old, changed := walk(at("s"), limit), walk(at("t"), limit)
			if len(old) != 31 || len(changed) != 31 || *old[3].SizeBytes != 3 || *changed[3].SizeBytes != 7 {
				t.Fatalf("limit %d: %d and %d entries", limit, len(old), len(changed))
			}
			for i, e := range old {
				want := fmt.Sprintf("%02d", i)
				if i == 30 {
					want = "sub"
				}
				if e.Name != want || (e.Kind == "directory") != (i == 30) || (e.SizeBytes == nil) != (i == 30) || e.Path != string(jail.DefaultRoot)+"/wb1/outputs/dir/"+want {
					t.Fatalf("limit %d: entry %d is %+v", limit, i, e)
				}
			}
		}
		if round == 0 {
			kept = b.SparsePages()
		}
	}
	// The last of the pages of ten holds a directory, before which nothing newer lies.
	if kept != 2*(5+3+1) || b.SparsePages() != kept {
		t.Errorf("%d pages are kept, then %d", kept, b.SparsePages())
	}
	b.FillSparse(64 << 20)
	if all := walk(at("s"), 7); len(all) != 31 {
		t.Errorf("%d entries when the pages have gone", len(all))
	}
	if n := b.SparseBytes(); n > 8<<20 {
		t.Errorf("%d bytes are kept", n)
	}
	if _, err := b.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: "wb1", Name: ptr("s")}); err != nil {
		t.Fatal(err)
	}
	_, err := b.list(ptr("outputs"), ptr("dir"), func(r *op.WorkbenchListRequest) { r.AtSnapshot = at("s") })
	refused(t, err, op.ReasonWBSnapshotEnded)
}
