package workbench

import (
	"encoding/hex"
	"slices"
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// scratch is memory for one row; rows are copied as they are written.
type scratch struct {
	key, value []byte
}

var scratches = sync.Pool{New: func() any {
	return &scratch{key: make([]byte, 0, 512), value: make([]byte, 0, 2048)}
}}

// publish writes the next revision of a file: its record, its index rows and
// the content revision of its workbench (WB-1, WB-3, WB-4, WB-6). old is nil
// when the path has none. It sets next's generation and instant.
func (t *tenant) publish(tx *kv.Tx, id string, in keys.Incarnation, full string, old *record.File, next *record.File) {
	next.Generation, next.ModifiedMillis = 1, tx.Now().UnixMilli()
	if old != nil {
		next.Generation = old.Generation + 1
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.key = keys.AppendPathRecord(s.key[:0], t.root.ID(), in, full)
	s.value = record.AppendFile(s.value[:0], *next)
	tx.Put(s.key, s.value)
	t.index(tx, s, id, in, full, old, next)
	writeHead(tx, t.root.ID(), in)
}

// index writes the rows that changed. A path is never removed, so a path without
// a record has never had rows, and a generation comes once: those rows are
// inserted without a look.
func (t *tenant) index(tx *kv.Tx, s *scratch, id string, in keys.Incarnation, full string, old, next *record.File) {
	root := t.root.ID()
	s.key = keys.AppendIndexGeneration(s.key[:0], root, next.Generation, id, in, full)
	tx.Insert(s.key, nil)
	if old == nil {
		s.key = keys.AppendIndexDigest(s.key[:0], root, next.Body.SHA256, id, in, full)
		tx.Insert(s.key, nil)
		s.key = keys.AppendIndexType(s.key[:0], root, next.ContentType, id, in, full)
		tx.Insert(s.key, nil)
		s.key = keys.AppendIndexSize(s.key[:0], root, uint64(next.Body.Length), id, in, full)
		tx.Insert(s.key, nil)
		t.indexCustom(tx, s, id, in, full, nil, next)
		return
	}
	s.key = keys.AppendIndexGeneration(s.key[:0], root, old.Generation, id, in, full)
	tx.Delete(s.key)
	if old.Body.SHA256 != next.Body.SHA256 {
		s.key = keys.AppendIndexDigest(s.key[:0], root, old.Body.SHA256, id, in, full)
		tx.Delete(s.key)
		s.key = keys.AppendIndexDigest(s.key[:0], root, next.Body.SHA256, id, in, full)
		tx.Put(s.key, nil)
	}
	if old.ContentType != next.ContentType {
		s.key = keys.AppendIndexType(s.key[:0], root, old.ContentType, id, in, full)
		tx.Delete(s.key)
		s.key = keys.AppendIndexType(s.key[:0], root, next.ContentType, id, in, full)
		tx.Put(s.key, nil)
	}
	if old.Body.Length != next.Body.Length {
		s.key = keys.AppendIndexSize(s.key[:0], root, uint64(old.Body.Length), id, in, full)
		tx.Delete(s.key)
		s.key = keys.AppendIndexSize(s.key[:0], root, uint64(next.Body.Length), id, in, full)
		tx.Put(s.key, nil)
	}
	t.indexCustom(tx, s, id, in, full, old, next)
}

// indexCustom writes the rows of the custom fields that changed. Two values that
// begin alike can have one row.
func (t *tenant) indexCustom(tx *kv.Tx, s *scratch, id string, in keys.Incarnation, full string, old, next *record.File) {
	if (old == nil || len(old.Index) == 0) && len(next.Index) == 0 {
		return
	}
	key := func(v *record.IndexValue) []byte {
		s.value = v.Value.AppendOrdered(s.value[:0])
		s.key = keys.AppendIndexCustom(s.key[:0], t.root.ID(), v.Field, s.value, id, in, full)
		return s.key
	}
	if old != nil {
		for i := range old.Index {
			if !slices.Contains(next.Index, old.Index[i]) {
				tx.Delete(key(&old.Index[i]))
			}
		}
	}
	for i := range next.Index {
		if old == nil || !slices.Contains(old.Index, next.Index[i]) {
			tx.Put(key(&next.Index[i]), nil)
		}
	}
}

const digestScheme = "sha256:"

// digestURI is a digest as answers show it.
func digestURI(sum [32]byte) string {
	var text [len(digestScheme) + 64]byte
	copy(text[:], digestScheme)
	hex.Encode(text[len(digestScheme):], sum[:])
	return string(text[:])
}
