package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

var ctx = context.Background()

// env is a store with bodies in the rows of one versioned space: what a user of
// this package looks like. The check at the test's end covers the bodies.
type env struct {
	*kvtest.Env
	t     testing.TB
	blobs *Store
	root  kv.Root
}

func newEnv(t testing.TB, changes ...func(*kv.Options)) *env {
	t.Helper()
	e := &env{Env: kvtest.New(t, changes...), t: t}
	e.open()
	return e
}

// open opens the bodies after the store was opened.
func (e *env) open() {
	e.t.Helper()
	var err error
	if e.blobs, err = openBlobs(e.Store); err != nil {
		e.t.Fatal(err)
	}
	e.root = e.Root("workbench", "r")
}

func openBlobs(s *kv.Store) (*Store, error) {
	b, err := Open(s, Options{NoBackground: true})
	if err != nil {
		return nil, err
	}
	b.Govern(keys.SpacePathRecord, bodiesOf)
	b.Govern(keys.SpaceLease, bodiesOf)
	return b, nil
}

func (e *env) reopen() { e.t.Helper(); e.Reopen(); e.open() }

func (e *env) crash(seed uint64) { e.t.Helper(); e.Crash(seed); e.open() }

// A row of these tests is a version byte and a body.
func rowOf(b record.Body) []byte { return record.AppendBody([]byte{1}, b) }

func bodyOf(value []byte) (record.Body, error) {
	_, r := record.NewReader(value, 1)
	b := record.ReadBody(&r)
	return b, r.Done()
}

func bodiesOf(value []byte) ([]record.Body, error) {
	b, err := bodyOf(value)
	return []record.Body{b}, err
}

func rowKey(root kv.Root, name string) []byte {
	return keys.AppendPath(keys.AppendPrefix(nil, keys.SpacePathRecord, root.ID()), name)
}

var errNoRow = errors.New("no such row")

// get returns the body of a row.
func get(r kv.Reader, root kv.Root, name string) (record.Body, error) {
	row, ok, err := r.Get(rowKey(root, name))
	if err != nil {
		return record.Body{}, err
	}
	if !ok {
		return record.Body{}, errNoRow
	}
	return bodyOf(row.Bytes)
}

// tryPut, tryAppend and tryRead are what a user of this package does.
func tryPut(s *kv.Store, b *Store, root kv.Root, name string, data []byte) error {
	d, err := b.PutBytes(ctx, root, data)
	if err != nil {
		return err
	}
	defer d.Release()
	return s.Update(ctx, root, func(tx *kv.Tx) error {
		body, err := b.Publish(tx, d)
		if err != nil {
			return err
		}
		tx.Put(rowKey(root, name), rowOf(body))
		return nil
	})
}

func tryAppend(s *kv.Store, b *Store, root kv.Root, name string, data []byte) error {
	d, err := b.PutBytes(ctx, root, data)
	if err != nil {
		return err
	}
	defer d.Release()
	return appendSealed(s, b, root, name, d)
}

func appendSealed(s *kv.Store, b *Store, root kv.Root, name string, d *Sealed) error {
	for {
		err := s.Update(ctx, root, func(tx *kv.Tx) error {
			base, err := get(tx, root, name)
			if err != nil {
				return err
			}
			body, err := b.Append(tx, base, d)
			if err != nil {
				return err
			}
			tx.Put(rowKey(root, name), rowOf(body))
			return nil
		})
		if !errors.Is(err, ErrNotReady) {
			return err
		}
		read := func(r kv.Reader) (record.Body, error) { return get(r, root, name) }
		if err := b.Prepare(ctx, root, read, d); err != nil {
			return err
		}
	}
}

func tryRead(s *kv.Store, b *Store, root kv.Root, name string) ([]byte, error) {
	var body *Body
	err := s.View(ctx, root, func(v *kv.View) error {
		rec, err := get(v, root, name)
		if err == nil {
			body = b.Open(v, rec)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return body.ReadAll(ctx)
}

func (e *env) put(name string, data []byte) {
	e.t.Helper()
	if err := tryPut(e.Store, e.blobs, e.root, name, data); err != nil {
		e.t.Fatalf("put %s: %v", name, err)
	}
}

func (e *env) append(name string, data []byte) {
	e.t.Helper()
	if err := tryAppend(e.Store, e.blobs, e.root, name, data); err != nil {
		e.t.Fatalf("append to %s: %v", name, err)
	}
}

func (e *env) update(fn func(tx *kv.Tx) error) {
	e.t.Helper()
	if err := e.Update(ctx, e.root, fn); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) drop(name string) {
	e.t.Helper()
	e.update(func(tx *kv.Tx) error { tx.Delete(rowKey(e.root, name)); return nil })
}

// copy lets another row have the same body, as a restore does.
func (e *env) copy(from, to string) {
	e.t.Helper()
	e.update(func(tx *kv.Tx) error {
		body, err := get(tx, e.root, from)
		if err == nil {
			tx.Put(rowKey(e.root, to), rowOf(body))
		}
		return err
	})
}

func (e *env) record(name string) (rec record.Body) {
	e.t.Helper()
	err := e.View(ctx, e.root, func(v *kv.View) (err error) {
		rec, err = get(v, e.root, name)
		rec = rec.Clone()
		return err
	})
	if err != nil {
		e.t.Fatalf("record of %s: %v", name, err)
	}
	return rec
}

func (e *env) expect(name string, want []byte) {
	e.t.Helper()
	got, err := tryRead(e.Store, e.blobs, e.root, name)
	if err != nil || !bytes.Equal(got, want) {
		e.t.Errorf("%s: read %d bytes, %v; want %d", name, len(got), err, len(want))
	}
	if rec := e.record(name); rec.SHA256 != sha256.Sum256(want) || rec.Length != int64(len(want)) {
		e.t.Errorf("%s: the record says %d bytes and another digest", name, rec.Length)
	}
}

// openBody opens the body of a row.
func (e *env) openBody(name string) (body *Body) {
	e.t.Helper()
	err := e.View(ctx, e.root, func(v *kv.View) error {
		rec, err := get(v, e.root, name)
		if err == nil {
			body = e.blobs.Open(v, rec)
		}
		return err
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return body
}

// expire lets the history window pass, and reaps and collects what it kept.
func (e *env) expire() (blocked bool) {
	e.t.Helper()
	e.Clock.Advance(time.Hour)
	if _, err := e.Reap(ctx); err != nil {
		e.t.Fatal(err)
	}
	return e.collect()
}

func (e *env) collect() (blocked bool) {
	e.t.Helper()
	blocked, err := e.blobs.Collect(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	return blocked
}

// files returns the names of the root's segment files.
func (e *env) files() []string {
	names, err := e.FS().List(e.blobs.rootDir(e.root.ID()))
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}

// rows counts the rows of a space in the root.
func (e *env) rows(space byte) (n int) {
	e.t.Helper()
	e.update(func(tx *kv.Tx) error {
		n = 0
		lower, upper := keys.SpaceBounds(space, e.root.ID())
		it := tx.Scan(lower, upper, kv.ScanOptions{})
		defer it.Close()
		for it.Next() {
			n++
		}
		return it.Err()
	})
	return n
}

// expectNothing checks that no trace of a body is left.
func (e *env) expectNothing() {
	e.t.Helper()
	if names := e.files(); len(names) != 0 {
		e.t.Errorf("files are left: %v", names)
	}
	for _, space := range []byte{keys.SpaceBodyExtent, keys.SpaceBodyList, keys.SpaceSegment, keys.SpaceBodyRef,
		keys.SpaceStaging, keys.SpaceLooseList, keys.SpaceLooseFile} {
		if n := e.rows(space); n != 0 {
			e.t.Errorf("%d rows are left in space %s", n, keys.Lookup(space).Name)
		}
	}
}

// failingReader gives n bytes and then an error.
type failingReader struct {
	n   int
	err error
}

func (r *failingReader) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, r.err
	}
	k := min(r.n, len(p))
	r.n -= k
	return k, nil
}

var _ io.Reader = (*failingReader)(nil)

func kib(n int) int { return n << 10 }

func name(i int) string { return fmt.Sprintf("f%03d", i) }
