package workbench_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// diskBench is a Workbench on a store on disk, as it is in production.
func diskBench(b *testing.B) (*workbench.Workbench, *kv.Store) {
	b.Helper()
	store, err := kv.Open(kv.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	bodies, err := blob.Open(store, blob.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bodies.Close(); err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	workbench.Govern(bodies)
	w, err := workbench.New(workbench.Options{Store: store, Bodies: bodies, Timers: timer.Open(store, timer.Options{}), Root: jail.DefaultRoot, CursorKey: make([]byte, 32), Principal: loopback})
	if err != nil {
		b.Fatal(err)
	}
	return w, store
}

func BenchmarkStat(b *testing.B) {
	w, _ := diskBench(b)
	text := strings.Repeat("x", 1024)
	if _, err := w.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "dir/a.txt", Text: &text}); err != nil {
		b.Fatal(err)
	}
	section, path := "outputs", "dir/a.txt"
	b.Run("file", func(b *testing.B) {
		req := &op.WorkbenchStatRequest{ID: "wb1", Section: &section, Path: &path}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.Stat(ctx, req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("file/parallel", func(b *testing.B) {
		req := &op.WorkbenchStatRequest{ID: "wb1", Section: &section, Path: &path}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := w.Stat(ctx, req); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("read-1KiB", func(b *testing.B) {
		req := &op.WorkbenchReadRequest{ID: "wb1", Section: section, Path: path}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.Read(ctx, req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPutFile creates new files of 1 KiB, 1,000 in a directory, each
// durable before it is acknowledged.
func BenchmarkPutFile(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			w, _ := diskBench(b)
			text := strings.Repeat("x", 1024)
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(max(1, clients/2)) // times GOMAXPROCS
			put := func() {
				i := n.Add(1)
				path := fmt.Sprintf("d%05d/f%07d", i/1000, i)
				if _, err := w.PutFile(context.Background(), &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: path, Text: &text}); err != nil {
					b.Error(err)
				}
			}
			if clients == 1 {
				for b.Loop() {
					put()
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					put()
				}
			})
		})
	}
}

// BenchmarkList reads one page of 100 in directories of very different size, at
// the beginning and in the middle.
func BenchmarkList(b *testing.B) {
	w, _ := diskBench(b)
	section := "outputs"
	for _, files := range []int{1_000, 1_000_000} {
		id := fmt.Sprintf("wb%d", files)
		if err := w.Fill(ctx, id, "outputs/dir", files); err != nil {
			b.Fatal(err)
		}
		dir := "dir"
		b.Run(fmt.Sprintf("files=%d/first", files), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := w.List(ctx, &op.WorkbenchListRequest{ID: id, Section: &section, Path: &dir})
				if err != nil || res.EntryCount != 100 {
					b.Fatal(res, err)
				}
			}
		})
		b.Run(fmt.Sprintf("files=%d/next", files), func(b *testing.B) {
			first, err := w.List(ctx, &op.WorkbenchListRequest{ID: id, Section: &section, Path: &dir})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				res, err := w.List(ctx, &op.WorkbenchListRequest{ID: id, Section: &section, Path: &dir, Cursor: first.NextCursor})
				if err != nil || res.EntryCount != 100 {
					b.Fatal(res, err)
				}
			}
		})
		b.Run(fmt.Sprintf("files=%d/parent", files), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := w.List(ctx, &op.WorkbenchListRequest{ID: id, Section: &section})
				if err != nil || res.EntryCount != 1 {
					b.Fatal(res, err)
				}
			}
		})
	}
}
