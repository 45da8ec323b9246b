package workbench_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func (b *bench) snapshots() (res *op.WorkbenchSnapshotListResult, size int, ids []int64) {
	b.t.Helper()
	res, err := b.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: "wb1"})
	if err != nil {
		b.t.Fatal(err)
	}
	valid(b.t, res)
	ids = []int64{}
	for i := range res.Snapshots {
		ids = append(ids, res.Snapshots[i].SnapshotID)
		size += len(res.Snapshots[i].AppendJSON(nil)) + 1
	}
	if !slices.IsSorted(ids) {
		b.t.Errorf("ids %v", ids)
	}
	return res, size, ids
}

// WB-37: what does not fit is left out, first what is over, and of that the
// oldest; all are counted, and answer by their ids.
func TestALongListOfSnapshots(t *testing.T) {
	b := committed(t)
	for i := range 30 {
		s := b.snapshot("s", func(r *op.WorkbenchSnapshotRequest) {
			r.Metadata = op.RawJSON(`{"text":"` + strings.Repeat("x", i*20) + `"}`)
		})
		if i%3 == 0 {
			if _, err := b.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: "wb1", SnapshotID: &s.SnapshotID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, whole, _ := b.snapshots()
	for most := int64(0); most <= int64(whole); most += 500 {
		b.SnapshotListBytes(most)
		res, size, ids := b.snapshots()
		if int64(size) > most || res.SnapshotCount != 30 {
			t.Fatalf("%d bytes, of at most %d; count %d", size, most, res.SnapshotCount)
		}
		var over, standing []int64
		for _, s := range res.Snapshots {
			if s.State == "retired" {
				over = append(over, s.SnapshotID)
			} else {
				standing = append(standing, s.SnapshotID)
			}
		}
		wantOver, wantStanding := []int64{}, []int64{}
		for _, s := range all.Snapshots {
			if s.State == "retired" {
				wantOver = append(wantOver, s.SnapshotID)
			} else {
				wantStanding = append(wantStanding, s.SnapshotID)
			}
		}
		if !slices.Equal(over, wantOver[len(wantOver)-len(over):]) || !slices.Equal(standing, wantStanding[len(wantStanding)-len(standing):]) {
			t.Fatalf("at most %d: %v are not the newest", most, ids)
		}
		if len(over) > 0 && len(standing) < len(wantStanding) {
			t.Fatalf("at most %d: %v are over, and of the others are only %v", most, over, standing)
		}
		if size+2000 < int(most) && len(ids) < 30 {
			t.Fatalf("at most %d: only %d bytes are used", most, size)
		}
	}
	b.SnapshotListBytes(1000)
	if res, err := b.SnapshotRenew(ctx, &op.WorkbenchSnapshotRenewRequest{ID: "wb1", SnapshotID: ptr(int64(2))}); err != nil || res.SnapshotID != 2 {
		t.Errorf("one that is left out: %+v, %v", res, err)
	}
	b.SnapshotListBytes(int64(whole))
	if res, size, _ := b.snapshots(); len(res.Snapshots) != 30 || size != whole {
		t.Errorf("%d of %d bytes", size, whole)
	}
}

// A hundred thousand snapshots are a bounded answer.
func BenchmarkSnapshotList(b *testing.B) {
	w, _ := diskBench(b)
	if err := w.Stamp(ctx, "wb1"); err != nil {
		b.Fatal(err)
	}
	if err := w.MintMany(ctx, "wb1", 100_000); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		res, err := w.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: "wb1"})
		if err != nil || res.SnapshotCount != 100_000 {
			b.Fatal(res, err)
		}
		b.ReportMetric(float64(len(res.AppendJSON(nil))), "answer-bytes")
		b.ReportMetric(float64(len(res.Snapshots)), "listed")
	}
}
