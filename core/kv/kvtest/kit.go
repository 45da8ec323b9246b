package kvtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// Reader is the reading half of the storage interface: a get and a bounded
// ordered scan, at one revision.
type Reader interface {
	Revision() kv.Revision
	Get(key []byte) (kv.Value, bool, error)
	// Page returns rows of [lower, upper) in key order, at most limit of them. A
	// page may be short of the limit when there is more: next is then where to go
	// on, and nil at the end.
	Page(lower, upper []byte, limit int) (rows []Row, next []byte, err error)
}

// Row is one row of a Page, with memory of its own.
type Row struct {
	Key, Value []byte
	Rev        kv.Revision
}

// Writer is what an update's closure gets.
type Writer interface {
	Reader
	Now() time.Time
	Put(key, value []byte)
	Delete(key []byte)
}

// Engine is the storage interface that everything above core/kv can do with.
// kv.Store is the embedded one, by Adapt.
type Engine interface {
	// Root returns the id of a root, and registers it when it is new.
	Root(ctx context.Context, area, tenant, name string) (uint32, error)
	Update(ctx context.Context, root uint32, fn func(w Writer) error) error
	View(ctx context.Context, root uint32, fn func(r Reader) error) error
	// ViewAt fails with kv.ErrAhead and kv.ErrBelowFloor.
	ViewAt(ctx context.Context, root uint32, rev kv.Revision, fn func(r Reader) error) error
}

// Adapt makes an Engine of a Store.
func Adapt(s *kv.Store) Engine { return adapter{s} }

type adapter struct{ s *kv.Store }

func (a adapter) Root(ctx context.Context, area, tenant, name string) (uint32, error) {
	root, err := a.s.Root(ctx, area, tenant, name)
	return root.ID(), err
}

func (a adapter) find(id uint32) kv.Root {
	roots, _ := a.s.Roots()
	if id == 0 || int(id) > len(roots) {
		return kv.Root{}
	}
	return roots[id-1]
}

func (a adapter) Update(ctx context.Context, root uint32, fn func(w Writer) error) error {
	return a.s.Update(ctx, a.find(root), func(tx *kv.Tx) error { return fn(adaptedTx{tx, adaptedReader{tx}}) })
}

func (a adapter) View(ctx context.Context, root uint32, fn func(r Reader) error) error {
	return a.s.View(ctx, a.find(root), func(v *kv.View) error { return fn(adaptedReader{v}) })
}

func (a adapter) ViewAt(ctx context.Context, root uint32, rev kv.Revision, fn func(r Reader) error) error {
	return a.s.ViewAt(ctx, a.find(root), rev, func(v *kv.View) error { return fn(adaptedReader{v}) })
}

type adaptedReader struct{ r kv.Reader }

func (a adaptedReader) Revision() kv.Revision { return a.r.Revision() }

func (a adaptedReader) Get(key []byte) (kv.Value, bool, error) { return a.r.Get(key) }

func (a adaptedReader) Page(lower, upper []byte, limit int) (rows []Row, next []byte, err error) {
	it := a.r.Scan(lower, upper, kv.ScanOptions{Limit: limit})
	for it.Next() {
		v := it.Value()
		rows = append(rows, Row{Key: append([]byte(nil), it.Key()...), Value: append([]byte(nil), v.Bytes...), Rev: v.Rev})
	}
	if err := it.Close(); err != nil {
		return nil, nil, err
	}
	if limit > 0 && len(rows) == limit {
		next = append(append([]byte(nil), rows[limit-1].Key...), 0)
	}
	return rows, next, nil
}

type adaptedTx struct {
	tx *kv.Tx
	adaptedReader
}

func (a adaptedTx) Now() time.Time        { return a.tx.Now() }
func (a adaptedTx) Put(key, value []byte) { a.tx.Put(key, value) }
func (a adaptedTx) Delete(key []byte)     { a.tx.Delete(key) }

// Run is the kit that every implementation of Engine passes. open returns a fresh
// one for each test, and ends it with the test.
func Run(t *testing.T, open func(t *testing.T) Engine) {
	for _, c := range []struct {
		name string
		test func(k *kit)
	}{
		{"an update is seen whole, at one revision", (*kit).whole},
		{"an update that fails leaves no trace", (*kit).failed},
		{"an update sees its own writes", (*kit).own},
		{"every revision can be read again", (*kit).versions},
		{"a scan is ordered, bounded and paged", (*kit).pages},
		{"concurrent updates lose nothing", (*kit).counter},
		{"roots do not see each other", (*kit).roots},
		{"values up to the limit, and no larger", (*kit).limits},
		{"time does not run backwards", (*kit).clock},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &kit{T: t, e: open(t)}
			k.root = k.newRoot("a")
			c.test(k)
		})
	}
}

type kit struct {
	*testing.T
	e    Engine
	root uint32
}

var errKit = errors.New("kvtest: refused")

func (k *kit) newRoot(name string) uint32 {
	k.Helper()
	id, err := k.e.Root(context.Background(), "kit", "tenant", name)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

func kitKey(root uint32, name string) []byte {
	return keys.AppendText(keys.AppendPrefix(nil, keys.SpacePathRecord, root), name)
}

func (k *kit) update(root uint32, fn func(w Writer) error) error {
	return k.e.Update(context.Background(), root, fn)
}

func (k *kit) put(pairs ...string) {
	k.Helper()
	err := k.update(k.root, func(w Writer) error {
		for i := 0; i < len(pairs); i += 2 {
			w.Put(kitKey(k.root, pairs[i]), []byte(pairs[i+1]))
		}
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
}

// rows returns everything in the root at a revision, as "name=value@rev …";
// revision 0 means the newest.
func (k *kit) rows(root uint32, rev kv.Revision) (out string) {
	k.Helper()
	read := func(r Reader) error {
		lower, upper := keys.SpaceBounds(keys.SpacePathRecord, root)
		out = ""
		for lower != nil {
			rows, next, err := r.Page(lower, upper, 2)
			if err != nil {
				return err
			}
			for _, row := range rows {
				name, _, err := keys.CutText(nil, row.Key[keys.PrefixLen:])
				if err != nil {
					return err
				}
				out += fmt.Sprintf("%s=%s@%d ", name, row.Value, row.Rev)
			}
			lower = next
		}
		return nil
	}
	err := k.e.View(context.Background(), root, read)
	if rev != 0 {
		err = k.e.ViewAt(context.Background(), root, rev, read)
	}
	if err != nil {
		k.Fatal(err)
	}
	return out
}

func (k *kit) want(rev kv.Revision, want string) {
	k.Helper()
	if got := k.rows(k.root, rev); got != want {
		k.Errorf("at %d: %q, want %q", rev, got, want)
	}
}

func (k *kit) whole() {
	k.put("x", "1", "y", "2")
	k.want(0, "x=1@1 y=2@1 ")
}

func (k *kit) failed() {
	k.put("x", "1")
	err := k.update(k.root, func(w Writer) error {
		w.Put(kitKey(k.root, "x"), []byte("2"))
		w.Delete(kitKey(k.root, "y"))
		return errKit
	})
	if !errors.Is(err, errKit) {
		k.Fatalf("the closure's error comes back as %v", err)
	}
	k.put("y", "3")
	k.want(0, "x=1@1 y=3@2 ")
}

func (k *kit) own() {
	k.put("x", "1", "z", "1")
	err := k.update(k.root, func(w Writer) error {
		w.Put(kitKey(k.root, "y"), []byte("2"))
		w.Delete(kitKey(k.root, "x"))
		lower, upper := keys.SpaceBounds(keys.SpacePathRecord, k.root)
		rows, _, err := w.Page(lower, upper, 10)
		if len(rows) != 2 || string(rows[0].Value) != "2" || rows[0].Rev != w.Revision() || rows[1].Rev != 1 {
			k.Errorf("inside the update: %+v", rows)
		}
		if _, ok, _ := w.Get(kitKey(k.root, "x")); ok {
			k.Error("a deleted row is there")
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	k.want(0, "y=2@2 z=1@1 ")
}

func (k *kit) versions() {
	k.put("x", "1")
	k.put("x", "2", "y", "2")
	if err := k.update(k.root, func(w Writer) error { w.Delete(kitKey(k.root, "x")); return nil }); err != nil {
		k.Fatal(err)
	}
	k.want(1, "x=1@1 ")
	k.want(2, "x=2@2 y=2@2 ")
	k.want(3, "y=2@2 ")
	err := k.e.ViewAt(context.Background(), k.root, 4, func(Reader) error { return nil })
	if !errors.Is(err, kv.ErrAhead) {
		k.Errorf("a revision to come: %v", err)
	}
}

func (k *kit) pages() {
	k.put("a", "1", "a\x00", "2", "ab", "3", "b", "4", "c", "5")
	k.want(0, "a=1@1 a\x00=2@1 ab=3@1 b=4@1 c=5@1 ")
	err := k.e.View(context.Background(), k.root, func(r Reader) error {
		rows, _, err := r.Page(kitKey(k.root, "ab"), kitKey(k.root, "c"), 10)
		if len(rows) != 2 || string(rows[0].Value) != "3" || string(rows[1].Value) != "4" {
			k.Errorf("from ab up to c: %+v", rows)
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) counter() {
	const workers, each = 8, 25
	done := make(chan error, workers)
	for range workers {
		go func() {
			for range each {
				err := k.update(k.root, func(w Writer) error {
					v, _, err := w.Get(kitKey(k.root, "n"))
					if err == nil {
						w.Put(kitKey(k.root, "n"), append(append([]byte(nil), v.Bytes...), 'x'))
					}
					return err
				})
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			k.Fatal(err)
		}
	}
	err := k.e.View(context.Background(), k.root, func(r Reader) error {
		v, _, err := r.Get(kitKey(k.root, "n"))
		if len(v.Bytes) != workers*each || r.Revision() != workers*each {
			k.Errorf("%d of %d updates count, at revision %d", len(v.Bytes), workers*each, r.Revision())
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) roots() {
	other := k.newRoot("b")
	if other == k.root || k.newRoot("a") != k.root {
		k.Fatal("roots are mixed up")
	}
	k.put("x", "1")
	if got := k.rows(other, 0); got != "" {
		k.Errorf("the other root has %q", got)
	}
	if err := k.update(other, func(w Writer) error { w.Put(kitKey(k.root, "x"), nil); return nil }); err == nil {
		k.Error("an update wrote into another root")
	}
	k.want(0, "x=1@1 ")
}

func (k *kit) limits() {
	value := make([]byte, kv.MaxValueBytes)
	if err := k.update(k.root, func(w Writer) error { w.Put(kitKey(k.root, "x"), value); return nil }); err != nil {
		k.Errorf("a value of the largest size: %v", err)
	}
	err := k.update(k.root, func(w Writer) error { w.Put(kitKey(k.root, "x"), append(value, 0)); return nil })
	if !errors.Is(err, kv.ErrTooLarge) {
		k.Errorf("one byte more: %v", err)
	}
}

func (k *kit) clock() {
	var last time.Time
	for range 3 {
		err := k.update(k.root, func(w Writer) error {
			now := w.Now()
			if now.Before(last) || !now.Equal(w.Now()) {
				k.Errorf("%v after %v", now, last)
			}
			last = now
			w.Put(kitKey(k.root, "x"), nil)
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
	}
}
