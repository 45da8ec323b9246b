package kv_test

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// The peers of these benchmarks are bare Pebble on the same disk, with the same
// memory. README.md holds the figures of one run and how to repeat it.

func openDisk(b *testing.B) (*kv.Store, kv.Root) {
	b.Helper()
	s, err := kv.Open(kv.Options{Dir: b.TempDir(), NoBackground: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	root, err := s.Root(ctx, "bench", "tenant", "root")
	if err != nil {
		b.Fatal(err)
	}
	return s, root
}

func openBare(b *testing.B) *pebble.DB {
	b.Helper()
	db, err := pebble.Open(b.TempDir(), &pebble.Options{
		FormatMajorVersion: pebble.FormatValueSeparation, MemTableSize: 64 << 20,
		CacheSize: 64 << 20, Logger: quietLogger{},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db
}

type quietLogger struct{}

func (quietLogger) Infof(string, ...any)      {}
func (quietLogger) Errorf(string, ...any)     {}
func (quietLogger) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

// scatter makes the n-th key random and unique.
func scatter(n uint64) uint64 { return n * 0x9E3779B97F4A7C15 }

// putSeven is what a put of a new small file costs: a record of 1 KiB and six
// small rows, two of which are read before.
func putSeven(tx *kv.Tx, root kv.Root, n uint64, body, buf []byte) error {
	id := scatter(n)
	key := keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpacePathRecord, root.ID()), id)
	if _, _, err := tx.Get(key); err != nil {
		return err
	}
	tx.Put(key, body)
	head := keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpaceWorkbenchHead, root.ID()), id%64)
	if _, _, err := tx.Get(head); err != nil {
		return err
	}
	tx.Put(head, body[:40])
	for i, space := range []byte{keys.SpaceIndexDigest, keys.SpaceIndexType, keys.SpaceIndexGeneration, keys.SpaceIndexSize} {
		k := keys.AppendUint64(keys.AppendPrefix(buf[:0], space, root.ID()), id+uint64(i))
		tx.Insert(k, nil)
	}
	tx.Insert(keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpaceAudit, root.ID()), n), body[:60])
	return nil
}

func updateSeven(b *testing.B, s *kv.Store, root kv.Root, counter *atomic.Uint64, body, buf []byte) {
	n := counter.Add(1)
	err := s.Update(ctx, root, func(tx *kv.Tx) error { return putSeven(tx, root, n, body, buf) })
	if err != nil {
		b.Error(err)
	}
}

func BenchmarkUpdateOneClient(b *testing.B) {
	s, root := openDisk(b)
	var counter atomic.Uint64
	body, buf := make([]byte, 1024), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		updateSeven(b, s, root, &counter, body, buf)
	}
}

func BenchmarkUpdate64Clients(b *testing.B) {
	s, root := openDisk(b)
	var counter atomic.Uint64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		body, buf := make([]byte, 1024), make([]byte, 0, 64)
		for p.Next() {
			updateSeven(b, s, root, &counter, body, buf)
		}
	})
}

// BenchmarkUpdateOneRow is the nearest thing to bare Pebble's set.
func BenchmarkUpdateOneRowOneClient(b *testing.B) {
	s, root := openDisk(b)
	body, buf := make([]byte, 1024), make([]byte, 0, 64)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		err := s.Update(ctx, root, func(tx *kv.Tx) error {
			tx.Insert(keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpacePathRecord, root.ID()), scatter(n)), body)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareSetOneClient(b *testing.B) {
	db := openBare(b)
	body := make([]byte, 1024)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		if err := db.Set(binary.BigEndian.AppendUint64(nil, scatter(n)), body, pebble.Sync); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareSet64Clients(b *testing.B) {
	db := openBare(b)
	var counter atomic.Uint64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		body := make([]byte, 1024)
		for p.Next() {
			if err := db.Set(binary.BigEndian.AppendUint64(nil, scatter(counter.Add(1))), body, pebble.Sync); err != nil {
				b.Error(err)
			}
		}
	})
}

func bareSeven(db *pebble.DB, n uint64, body []byte) error {
	w := db.NewBatch()
	id := scatter(n)
	for i := range uint64(7) {
		value := body[:40]
		if i == 0 {
			value = body
		}
		if err := w.Set(binary.BigEndian.AppendUint64([]byte{byte(i)}, id), value, nil); err != nil {
			return err
		}
	}
	if err := w.Commit(pebble.Sync); err != nil {
		return err
	}
	return w.Close()
}

func BenchmarkBareBatchOfSevenOneClient(b *testing.B) {
	db := openBare(b)
	body := make([]byte, 1024)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		if err := bareSeven(db, n, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareBatchOfSeven64Clients(b *testing.B) {
	db := openBare(b)
	var counter atomic.Uint64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		body := make([]byte, 1024)
		for p.Next() {
			if err := bareSeven(db, counter.Add(1), body); err != nil {
				b.Error(err)
			}
		}
	})
}

func fill(b *testing.B, s *kv.Store, root kv.Root, rows uint64) {
	b.Helper()
	body, buf := make([]byte, 256), make([]byte, 0, 64)
	for n := uint64(0); n < rows; {
		err := s.Update(ctx, root, func(tx *kv.Tx) error {
			for range 1000 {
				n++
				tx.Insert(keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpacePathRecord, root.ID()), scatter(n)), body)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

const filled = 100_000

func BenchmarkViewGet(b *testing.B) {
	s, root := openDisk(b)
	fill(b, s, root, filled)
	buf := make([]byte, 0, 64)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n = n%filled + 1
		key := keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpacePathRecord, root.ID()), scatter(n))
		err := s.View(ctx, root, func(v *kv.View) error {
			_, ok, err := v.Get(key)
			if err == nil && !ok {
				b.Fatal("a row is missing")
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkViewGetAbsent(b *testing.B) {
	s, root := openDisk(b)
	fill(b, s, root, filled)
	buf := make([]byte, 0, 64)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		key := keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpacePathRecord, root.ID()), scatter(n+2*filled))
		err := s.View(ctx, root, func(v *kv.View) error {
			_, _, err := v.Get(key)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareGet(b *testing.B) {
	db := openBare(b)
	body := make([]byte, 256)
	for n := uint64(1); n <= filled; n++ {
		if err := db.Set(binary.BigEndian.AppendUint64(nil, scatter(n)), body, pebble.NoSync); err != nil {
			b.Fatal(err)
		}
	}
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n = n%filled + 1
		_, closer, err := db.Get(binary.BigEndian.AppendUint64(nil, scatter(n)))
		if err != nil {
			b.Fatal(err)
		}
		if err := closer.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkViewScan100(b *testing.B) {
	s, root := openDisk(b)
	fill(b, s, root, filled)
	_, upper := keys.SpaceBounds(keys.SpacePathRecord, root.ID())
	buf := make([]byte, 0, 64)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		lower := keys.AppendUint64(keys.AppendPrefix(buf[:0], keys.SpacePathRecord, root.ID()), scatter(n)/2)
		err := s.View(ctx, root, func(v *kv.View) error {
			it := v.Scan(lower, upper, kv.ScanOptions{Limit: 100})
			for it.Next() {
			}
			return it.Close()
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
