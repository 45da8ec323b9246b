package workbench_test

import (
	"fmt"
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// A snapshot is one update of a few rows, however many files it keeps.
func BenchmarkSnapshot(b *testing.B) {
	for _, files := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			w, _ := diskBench(b)
			if err := w.Fill(ctx, "wb1", "outputs/dir", files); err != nil {
				b.Fatal(err)
			}
			if err := w.Stamp(ctx, "wb1"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1", Name: ptr("s")}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A page at a snapshot, under a million newer files in the same directory that
// come before its own in the order of names, after them, or between them.
func BenchmarkListAtASnapshot(b *testing.B) {
	for _, c := range []struct {
		name, own string
		newer     int
	}{{"alone", "dir/%08d-old", 0}, {"before", "dir/x%08d-old", 1_000_000}, {"after", "dir/-%08d-old", 1_000_000}, {"between", "dir/%08d-old", 1_000_000}} {
		b.Run(c.name, func(b *testing.B) {
			w, _ := diskBench(b)
			for i := range 1000 {
				path := fmt.Sprintf(c.own, i*1000)
				if _, err := w.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: path, Text: ptr("x")}); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Stamp(ctx, "wb1"); err != nil {
				b.Fatal(err)
			}
			if _, err := w.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1", Name: ptr("s")}); err != nil {
				b.Fatal(err)
			}
			if err := w.Fill(ctx, "wb1", "outputs/dir", c.newer); err != nil {
				b.Fatal(err)
			}
			req := &op.WorkbenchListRequest{ID: "wb1", Section: ptr("outputs"), Path: ptr("dir"), AtSnapshot: at("s")}
			b.ReportAllocs()
			for b.Loop() {
				res, err := w.List(ctx, req)
				if err != nil || len(res.Entries) != 100 {
					b.Fatal(res, err)
				}
				req.Cursor = res.NextCursor
			}
		})
	}
}
