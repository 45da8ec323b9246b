package blob

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// bench is a store on the machine's disk.
type bench struct {
	store *kv.Store
	blobs *Store
	root  kv.Root
}

func newBench(b *testing.B) *bench {
	b.Helper()
	store, err := kv.Open(kv.Options{Dir: b.TempDir(), NoBackground: true})
	if err != nil {
		b.Fatal(err)
	}
	e := &bench{store: store}
	if e.blobs, err = openBlobs(store); err != nil {
		b.Fatal(err)
	}
	if e.root, err = store.Root(ctx, "workbench", "tenant", "r"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return e
}

// upload makes a sealed upload, in a file if inFile says so, whatever its size.
func (e *bench) upload(data []byte, inFile bool) (*Sealed, error) {
	w := e.blobs.Create(ctx, e.root)
	defer w.Abort()
	if inFile {
		if err := w.spill(); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	return w.Seal()
}

func (e *bench) put(name string, data []byte, inFile bool) error {
	d, err := e.upload(data, inFile)
	if err != nil {
		return err
	}
	defer d.Release()
	return e.store.Update(ctx, e.root, func(tx *kv.Tx) error {
		body, err := e.blobs.Publish(tx, d)
		if err != nil {
			return err
		}
		tx.Put(rowKey(e.root, name), rowOf(body))
		return nil
	})
}

// BenchmarkPut shows from which size on a file is better than rows: MemoryLimit
// lies there. One client, and sixteen.
func BenchmarkPut(b *testing.B) {
	for _, clients := range []int{1, 16} {
		for _, kibs := range []int{1, 16, 64, 128, 256} {
			for _, inFile := range []bool{false, true} {
				where := "rows"
				if inFile {
					where = "file"
				}
				b.Run(fmt.Sprintf("%dclients/%dKiB/%s", clients, kibs, where), func(b *testing.B) {
					e := newBench(b)
					data := pattern(1, kib(kibs))
					var n atomic.Int64
					b.SetBytes(int64(len(data)))
					b.SetParallelism(max(1, clients/2))
					b.ReportAllocs()
					b.ResetTimer()
					if clients == 1 {
						for range b.N {
							if err := e.put(fmt.Sprint(n.Add(1)), data, inFile); err != nil {
								b.Fatal(err)
							}
						}
						return
					}
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := e.put(fmt.Sprint(n.Add(1)), data, inFile); err != nil {
								b.Error(err)
							}
						}
					})
				})
			}
		}
	}
}

// BenchmarkAppend1KiB costs the same whatever lies before (BLOB-3).
func BenchmarkAppend1KiB(b *testing.B) {
	for _, base := range []int64{0, 1 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("to%dMiB", base>>20), func(b *testing.B) {
			e := newBench(b)
			d, err := e.blobs.Put(ctx, e.root, io.LimitReader(zeros{}, base))
			if err != nil {
				b.Fatal(err)
			}
			defer d.Release()
			err = e.store.Update(ctx, e.root, func(tx *kv.Tx) error {
				body, err := e.blobs.Publish(tx, d)
				tx.Put(rowKey(e.root, "a"), rowOf(body))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			more := pattern(1, 1<<10)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := tryAppend(e.store, e.blobs, e.root, "a", more); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads whole bodies, View and digest included.
func BenchmarkRead(b *testing.B) {
	for _, kibs := range []int{1, 64, 256, 16 << 10} {
		b.Run(fmt.Sprintf("%dKiB", kibs), func(b *testing.B) {
			e := newBench(b)
			if err := e.put("a", pattern(1, kib(kibs)), kib(kibs) > MemoryLimit); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(kib(kibs)))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := e.stream(0, int64(kib(kibs))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func (e *bench) stream(off, n int64) error {
	var body *Body
	err := e.store.View(ctx, e.root, func(v *kv.View) error {
		rec, err := get(v, e.root, "a")
		if err == nil {
			body = e.blobs.Open(v, rec)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer body.Close()
	return body.WriteRange(ctx, io.Discard, off, n)
}

// BenchmarkReadRange reads 1 KiB at a time from a large body.
func BenchmarkReadRange(b *testing.B) {
	e := newBench(b)
	const size = 64 << 20
	if err := e.put("a", pattern(1, size), true); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		off := int64(i) * 7919 * 1024 % (size - 1024)
		if err := e.stream(off, 1024); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUploadGiB streams a body of 1 GiB to the disk.
func BenchmarkUploadGiB(b *testing.B) {
	e := newBench(b)
	b.SetBytes(1 << 30)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		d, err := e.blobs.Put(ctx, e.root, io.LimitReader(zeros{}, 1<<30))
		if err != nil {
			b.Fatal(err)
		}
		d.Release()
	}
	b.StopTimer()
	if _, err := e.blobs.Collect(ctx); err != nil {
		b.Fatal(err)
	}
}
