package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// sizes are those at which the placement of bytes changes.
var sizes = []int{0, 1, TailLimit - 1, TailLimit, TailLimit + 1, ExtentLimit - 1, ExtentLimit, ExtentLimit + 1,
	ExtentLimit + ExtentLimit/2, MemoryLimit, MemoryLimit + 1, MemoryLimit + 5*ChunkSize}

// BLOB-1, over a restart too.
func TestPutAndRead(t *testing.T) {
	e := newEnv(t)
	for i, n := range sizes {
		e.put(name(i), pattern(n, n))
	}
	for range 2 {
		for i, n := range sizes {
			e.expect(name(i), pattern(n, n))
		}
		e.reopen()
	}
	if got := len(e.files()); got != 2 {
		t.Errorf("%d files, want one for each body over MemoryLimit", got)
	}
}

func TestPlacement(t *testing.T) {
	e := newEnv(t)
	for _, c := range []struct{ size, extents, files, tail int }{
		{0, 0, 0, 0}, {TailLimit, 0, 0, TailLimit}, {TailLimit + 1, 1, 0, 0}, {ExtentLimit + 1, 2, 0, 0}, {MemoryLimit + 1, 1, 1, 0},
	} {
		extents, files := e.rows(keys.SpaceBodyExtent), len(e.files())
		e.put("a", pattern(1, c.size))
		extents, files = e.rows(keys.SpaceBodyExtent)-extents, len(e.files())-files
		if tail := len(e.record("a").Tail); extents != c.extents || files != c.files || tail != c.tail {
			t.Errorf("%d bytes: %d extents, %d files, a tail of %d; want %+v", c.size, extents, files, tail, c)
		}
	}
}

func TestReadRanges(t *testing.T) {
	e := newEnv(t)
	for _, n := range []int{5, TailLimit + 1, 2*ExtentLimit - 7, MemoryLimit + 2*ChunkSize + 3} {
		data := pattern(n, n)
		e.put("a", data)
		// A tail after the lists too.
		e.append("a", []byte("and a tail"))
		data = append(data, "and a tail"...)
		body := e.openBody("a")
		for _, off := range []int{0, 1, n / 2, ChunkSize - 1, ChunkSize, n - 1, n, n + 3, len(data)} {
			for _, k := range []int{0, 1, 100, ChunkSize, len(data)} {
				if off > len(data) {
					continue
				}
				k := min(k, len(data)-off)
				var got bytes.Buffer
				if err := body.WriteRange(ctx, &got, int64(off), int64(k)); err != nil || !bytes.Equal(got.Bytes(), data[off:off+k]) {
					t.Errorf("%d bytes: [%d, +%d) gave %d, %v", n, off, k, got.Len(), err)
				}
			}
		}
		for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, int64(len(data)) + 1}, {int64(len(data)) + 1, 0}, {1 << 62, 1 << 62}} {
			if err := body.WriteRange(ctx, io.Discard, r[0], r[1]); !errors.Is(err, ErrRange) {
				t.Errorf("range %v: %v", r, err)
			}
		}
		body.Close()
		body.Close()
		if err := body.WriteRange(ctx, io.Discard, 0, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A Writer takes pieces of any size, and its digest is that of the whole.
func TestWriterPieces(t *testing.T) {
	e := newEnv(t)
	for _, n := range sizes {
		for _, piece := range []int{1 + n/7, 1000, ChunkSize, MemoryLimit + 1} {
			data := pattern(n, n)
			w := e.blobs.Create(ctx, e.root)
			for rest := data; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				if k, err := w.Write(rest[:min(piece, len(rest))]); err != nil || k != min(piece, len(rest)) {
					t.Fatalf("Write: %d, %v", k, err)
				}
			}
			if w.Size() != int64(n) {
				t.Errorf("Size is %d after %d bytes", w.Size(), n)
			}
			d, err := w.Seal()
			if err != nil {
				t.Fatal(err)
			}
			if d.Size() != int64(n) || d.Digest() != sha256.Sum256(data) {
				t.Errorf("%d bytes in pieces of %d: %d bytes, another digest", n, piece, d.Size())
			}
			e.update(func(tx *kv.Tx) error {
				body, err := e.blobs.Publish(tx, d)
				tx.Put(rowKey(e.root, "a"), rowOf(body))
				return err
			})
			d.Release()
			e.expect("a", data)
		}
	}
}

func TestWriterEnds(t *testing.T) {
	e := newEnv(t)
	w := e.blobs.Create(ctx, e.root)
	if _, err := w.Seal(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Write": second(w.Write([]byte("x"))), "Seal": second(w.Seal()),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Seal: %v", what, err)
		}
	}
	w.Abort()
	broken := errors.New("the client went away")
	for _, n := range []int{10, MemoryLimit + ChunkSize} {
		if _, err := e.blobs.Put(ctx, e.root, &failingReader{n, broken}); !errors.Is(err, broken) {
			t.Errorf("Put of a reader that fails: %v", err)
		}
	}
	e.collect()
	e.expectNothing()
}

func second[T any](_ T, err error) error { return err }

// An upload goes on while its context lasts.
func TestWriterContext(t *testing.T) {
	e := newEnv(t)
	cancelled, cancel := context.WithCancel(ctx)
	w := e.blobs.Create(cancelled, e.root)
	defer w.Abort()
	cancel()
	if _, err := w.Write(make([]byte, MemoryLimit+1)); !fault.Is(err, op.ReasonCancelled) {
		t.Errorf("Write: %v", err)
	}
	if _, err := w.Write([]byte("x")); !fault.Is(err, op.ReasonCancelled) {
		t.Errorf("the error does not stick: %v", err)
	}
}

func TestReadContext(t *testing.T) {
	e := newEnv(t)
	for _, size := range []int{MemoryLimit, MemoryLimit + 1} {
		e.put("a", pattern(1, size))
		body := e.openBody("a")
		cancelled, cancel := context.WithCancel(ctx)
		pieces := 0
		err := body.WriteRange(cancelled, writerFunc(func(p []byte) (int, error) { pieces++; cancel(); return len(p), nil }), 0, int64(size))
		if !errors.Is(err, context.Canceled) || pieces != 1 {
			t.Errorf("%d bytes, cancelled with the first piece: %d pieces, %v", size, pieces, err)
		}
		body.Close()
	}
	body := e.openBody("a")
	defer body.Close()
	full := errors.New("the client went away")
	if err := body.WriteRange(ctx, writerFunc(func([]byte) (int, error) { return 0, full }), 0, 9); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
	if err := body.WriteRange(ctx, writerFunc(func(p []byte) (int, error) { return 0, nil }), 0, 9); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that takes nothing: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Nobody sees an upload before it is published, and it is published once.
func TestPublishOnce(t *testing.T) {
	e := newEnv(t)
	data := pattern(1, MemoryLimit+1)
	d, err := e.blobs.PutBytes(ctx, e.root, data)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("the caller's own reason")
	publish := func(result error) error {
		return e.Update(ctx, e.root, func(tx *kv.Tx) error {
			body, err := e.blobs.Publish(tx, d)
			if err != nil {
				return err
			}
			tx.Put(rowKey(e.root, "a"), rowOf(body))
			return result
		})
	}
	for range 2 {
		if err := publish(refused); !errors.Is(err, refused) {
			t.Fatal(err)
		}
	}
	if err := publish(nil); err != nil {
		t.Fatalf("after updates that failed: %v", err)
	}
	if err := publish(nil); !errors.Is(err, ErrStagingGone) {
		t.Errorf("published twice: %v", err)
	}
	d.Release()
	d.Release()
	e.collect()
	e.expect("a", data)
	other := e.Root("workbench", "other")
	foreign, err := e.blobs.PutBytes(ctx, other, data)
	if err != nil {
		t.Fatal(err)
	}
	d = foreign
	if err := publish(nil); err == nil {
		t.Error("an upload into one root was published in another")
	}
	d.Release()
	e.collect()
}

// Released uploads cannot be published; their files go.
func TestRelease(t *testing.T) {
	e := newEnv(t)
	d, err := e.blobs.PutBytes(ctx, e.root, pattern(1, MemoryLimit+1))
	if err != nil {
		t.Fatal(err)
	}
	d.Release()
	e.collect()
	err = e.Update(ctx, e.root, func(tx *kv.Tx) error {
		_, err := e.blobs.Publish(tx, d)
		return err
	})
	if !errors.Is(err, ErrStagingGone) {
		t.Errorf("published after its release: %v", err)
	}
	e.expectNothing()
}

// BLOB-1: what is damaged on the disk is found by reads and by the check.
func TestDamageIsFound(t *testing.T) {
	for what, damage := range map[string]func(e *env, t *testing.T){
		"an extent's bytes": func(e *env, t *testing.T) {
			e.changeFirst(keys.SpaceBodyExtent, func(value []byte) []byte { value[len(value)-1] ^= 1; return value })
		},
		"a missing extent": func(e *env, t *testing.T) {
			e.changeFirst(keys.SpaceBodyExtent, func([]byte) []byte { return nil })
		},
		"a file's bytes": func(e *env, t *testing.T) {
			e.rewriteFile(t, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		},
		"a file cut short": func(e *env, t *testing.T) { e.rewriteFile(t, func(b []byte) []byte { return b[:len(b)-1] }) },
		"a missing file": func(e *env, t *testing.T) {
			if err := e.FS().Remove(e.blobs.rootDir(e.root.ID()) + "/" + e.files()[0]); err != nil {
				t.Fatal(err)
			}
		},
		"a digest": func(e *env, t *testing.T) { e.changeRecords(func(b *record.Body) { b.SHA256[0] ^= 1 }) },
		"a tail":   func(e *env, t *testing.T) { e.changeRecords(func(b *record.Body) { b.Tail[0] ^= 1 }) },
	} {
		t.Run(what, func(t *testing.T) {
			e := newEnv(t)
			e.put("rows", pattern(1, ExtentLimit*2))
			e.append("rows", []byte("tail"))
			e.put("file", pattern(2, MemoryLimit+9))
			e.append("file", []byte("tail"))
			if err := e.Check(ctx).Err(); err != nil {
				t.Fatalf("before: %v", err)
			}
			damage(e, t)
			errs := errors.Join(second(tryRead(e.Store, e.blobs, e.root, "rows")), second(tryRead(e.Store, e.blobs, e.root, "file")))
			if errs == nil {
				t.Error("reads do not find it")
			}
			if what != "a missing file" && !errors.Is(errs, ErrCorrupt) {
				t.Errorf("reads say %v, which is not ErrCorrupt", errs)
			}
			if e.Check(ctx).Err() == nil {
				t.Error("the check does not find it")
			}
			e.abandon()
		})
	}
}

// changeFirst changes the first row of a space; nil deletes it.
func (e *env) changeFirst(space byte, change func([]byte) []byte) {
	e.t.Helper()
	e.update(func(tx *kv.Tx) error {
		lower, upper := keys.SpaceBounds(space, e.root.ID())
		it := tx.Scan(lower, upper, kv.ScanOptions{Limit: 1})
		defer it.Close()
		if !it.Next() {
			return fmt.Errorf("no row: %v", it.Err())
		}
		if value := change(bytes.Clone(it.Value().Bytes)); value != nil {
			tx.Put(it.Key(), value)
		} else {
			tx.Delete(it.Key())
		}
		return nil
	})
}

func (e *env) changeRecords(change func(*record.Body)) {
	e.t.Helper()
	e.update(func(tx *kv.Tx) error {
		for _, name := range []string{"rows", "file"} {
			b, err := get(tx, e.root, name)
			if err != nil {
				return err
			}
			b = b.Clone()
			change(&b)
			tx.Put(rowKey(e.root, name), rowOf(b))
		}
		return nil
	})
}

func (e *env) rewriteFile(t *testing.T, change func([]byte) []byte) {
	t.Helper()
	path := e.blobs.rootDir(e.root.ID()) + "/" + e.files()[0]
	old, err := e.FS().Open(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(old)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.FS().Create(path, "blob")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(change(content)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), old.Close()); err != nil {
		t.Fatal(err)
	}
}

// abandon empties the root of a store that a test has damaged, so that the check
// at its end finds nothing.
func (e *env) abandon() {
	e.t.Helper()
	e.RegisterCheck("blob", func(context.Context, *kv.CheckView) []kv.Problem { return nil })
}

// A body's record is bounded, whatever its length (BLOB-3).
func TestRecordIsSmall(t *testing.T) {
	e := newEnv(t)
	e.put("a", nil)
	for range 300 {
		e.append("a", pattern(1, 1000))
	}
	if n := len(rowOf(e.record("a"))); n > TailLimit+200 {
		t.Errorf("a record of %d bytes", n)
	}
	e.expect("a", bytes.Repeat(pattern(1, 1000), 300))
}
