package blob

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Publish makes a sealed upload a body, as part of tx. The caller writes a row
// with the returned record in a governed space in the same Update; when the
// Update is durable, so is the body. An Update that fails leaves the upload as
// it was, to be published by another.
//
// The record may alias the upload's bytes: it is encoded before they change.
//
// Errors: ErrStagingGone.
func (s *Store) Publish(tx *kv.Tx, d *Sealed) (record.Body, error) {
	b := record.Body{Length: d.size, SHA256: d.sum}
	if d.gone {
		return record.Body{}, ErrStagingGone
	}
	if d.size <= TailLimit {
		setTail(&b, d.data)
		return b, nil
	}
	l, err := s.newList(tx, record.List{})
	if err != nil {
		return record.Body{}, err
	}
	at, err := s.extend(tx, l, 0, d)
	if err != nil {
		return record.Body{}, err
	}
	b.Spans = []record.BodySpan{{List: l, End: at}}
	b.Hash = d.end
	return b, nil
}

// Append makes a body of base and the upload's bytes after it, as part of tx;
// for the rest it is Publish. What it reads and writes depends on the upload
// only, not on the length of base (BLOB-3). base stays a body of its own.
//
// Errors: ErrStagingGone; ErrNotReady when the digest of the result would have
// to be computed over more than HashLimit bytes, or base goes through MaxSpans
// lists and has to be copied: then Prepare, outside of the Update.
func (s *Store) Append(tx *kv.Tx, base record.Body, d *Sealed) (record.Body, error) {
	if base.Length == 0 {
		return s.Publish(tx, d)
	}
	if d.size == 0 {
		return base, nil
	}
	if p := d.preparedFor(&base); p != nil && p.whole != nil {
		return s.Publish(tx, p.whole)
	}
	b := record.Body{Length: base.Length + d.size}
	if int64(len(base.Tail))+d.size <= TailLimit {
		tail := make([]byte, 0, len(base.Tail)+len(d.data))
		tail = append(append(tail, base.Tail...), d.data...)
		b.Spans, b.Hash = base.Spans, base.Hash
		setTail(&b, tail)
		var err error
		b.SHA256, err = digestOf(&b)
		return b, err
	}
	if err := s.spillInto(tx, &b, &base, d); err != nil {
		return record.Body{}, err
	}
	return b, nil
}

// HashLimit is how many bytes an Update hashes at most.
const HashLimit = 64 << 10

// spillInto puts base's tail and the upload into base's last list, or into a
// fork, and fills in the rest of b.
func (s *Store) spillInto(tx *kv.Tx, b, base *record.Body, d *Sealed) error {
	p := d.preparedFor(base)
	if p == nil && int64(len(base.Tail))+d.size > HashLimit {
		return ErrNotReady
	}
	list, spans, err := s.listFor(tx, base)
	if err != nil {
		return err
	}
	end, err := s.extendWithTail(tx, list, base, d)
	if err != nil {
		return err
	}
	if len(spans) > 0 && spans[len(spans)-1].List == list {
		spans = spans[:len(spans)-1]
	}
	// base.Spans is shared by every copy of the record: never written to.
	b.Spans = append(spans[:len(spans):len(spans)], record.BodySpan{List: list, End: end})
	if p != nil {
		b.SHA256, b.Hash = p.sum, p.end
		return nil
	}
	b.SHA256, b.Hash, err = hashOver(base, d)
	return err
}

// listFor returns the list that base goes on in. That is its last one when
// nobody has gone on from there yet; else, or without one, it is a new list.
func (s *Store) listFor(tx *kv.Tx, base *record.Body) (record.BodyList, []record.BodySpan, error) {
	end := base.Spanned()
	if n := len(base.Spans); n > 0 {
		last := base.Spans[n-1].List
		taken, err := anyExtentAfter(tx, last, end)
		if err != nil {
			return record.BodyList{}, nil, err
		}
		if !taken {
			return last, base.Spans, nil
		}
		if n == MaxSpans {
			return record.BodyList{}, nil, ErrNotReady
		}
	}
	hash := base.Hash
	if end == 0 {
		hash = record.HashState{}
	}
	l, err := s.newList(tx, record.List{Start: end, Hash: hash})
	return l, base.Spans, err
}

func anyExtentAfter(tx *kv.Tx, list record.BodyList, end int64) (bool, error) {
	root := tx.Root().ID()
	lower := keys.AppendBodyExtent(nil, root, keys.ListID(list), uint64(end)+1)
	upper := keys.AppendEnd(nil, keys.AppendBodyExtents(nil, root, keys.ListID(list)))
	it := tx.Scan(lower, upper, kv.ScanOptions{Limit: 1})
	defer it.Close()
	return it.Next(), it.Err()
}

// newList begins an extent list. Its name is the update's revision and the
// first number that this update has not used.
func (s *Store) newList(tx *kv.Tx, l record.List) (record.BodyList, error) {
	id := record.BodyList{Revision: uint64(tx.Revision())}
	for ; ; id.Number++ {
		key := keys.AppendBodyList(nil, tx.Root().ID(), keys.ListID(id))
		_, taken, err := tx.Get(key)
		if err != nil {
			return id, err
		}
		if !taken {
			tx.Put(key, record.AppendList(nil, l))
			return id, nil
		}
	}
}

// extendWithTail puts base's tail and then the upload at the end of a list.
func (s *Store) extendWithTail(tx *kv.Tx, list record.BodyList, base *record.Body, d *Sealed) (end int64, err error) {
	at := base.Spanned()
	if len(base.Tail) == 0 {
		return s.extend(tx, list, at, d)
	}
	if d.staged {
		return s.extend(tx, list, s.putData(tx, list, at, base.Tail), d)
	}
	// One run of bytes, so that many small appends do not leave two extents each.
	data := make([]byte, 0, len(base.Tail)+len(d.data))
	return s.putData(tx, list, at, append(append(data, base.Tail...), d.data...)), nil
}

// extend puts the upload's bytes at byte at of a list and returns where they end.
func (s *Store) extend(tx *kv.Tx, list record.BodyList, at int64, d *Sealed) (end int64, err error) {
	if !d.staged {
		return s.putData(tx, list, at, d.data), nil
	}
	root := tx.Root().ID()
	if root != d.root.ID() {
		return 0, fmt.Errorf("blob: an upload into root %d is published in root %d", d.root.ID(), root)
	}
	staging := keys.AppendStaging(nil, root, d.id)
	if _, ok, err := tx.Get(staging); err != nil {
		return 0, err
	} else if !ok {
		return 0, ErrStagingGone
	}
	tx.Delete(staging)
	end = at + d.size
	tx.Put(keys.AppendBodyExtent(nil, root, keys.ListID(list), uint64(end)),
		record.AppendExtent(nil, record.Extent{Length: d.size, Segment: true, SegmentID: d.id}))
	tx.Put(keys.AppendSegment(nil, root, d.id),
		record.AppendSegment(nil, record.Segment{Length: d.size, List: list, End: end}))
	tx.OnDurable(d.published)
	return end, nil
}

// putData writes data as extents in rows.
func (s *Store) putData(tx *kv.Tx, list record.BodyList, at int64, data []byte) (end int64) {
	var key, value []byte
	for len(data) > 0 {
		piece := data[:min(len(data), ExtentLimit)]
		data = data[len(piece):]
		at += int64(len(piece))
		key = keys.AppendBodyExtent(key[:0], tx.Root().ID(), keys.ListID(list), uint64(at))
		value = record.AppendExtent(value[:0], record.Extent{Length: int64(len(piece)), Data: piece, Sum: crc32.Checksum(piece, castagnoli)})
		tx.Put(key, value)
	}
	return at
}

// published is called when the Update that published the upload is durable.
func (d *Sealed) published() {
	d.s.mu.Lock()
	delete(d.s.uploads, segmentKey{d.root.ID(), d.id})
	d.s.mu.Unlock()
	d.gone = true
}

func setTail(b *record.Body, tail []byte) {
	b.Tail = tail
	b.TailSum = 0
	if len(tail) > 0 {
		b.TailSum = crc32.Checksum(tail, castagnoli)
	}
}

// digestOf returns the digest that a body has by its hash state and tail.
func digestOf(b *record.Body) ([sha256.Size]byte, error) {
	if len(b.Spans) == 0 {
		return sha256.Sum256(b.Tail), nil
	}
	h := newHasher()
	defer h.free()
	if err := h.resumeAtSpans(b); err != nil {
		return [sha256.Size]byte{}, err
	}
	h.Write(b.Tail)
	return h.digest(), nil
}

// hashOver returns digest and state after base and then the upload. An upload
// that is not in memory is read from its file: not inside an Update.
func hashOver(base *record.Body, d *Sealed) (sum [sha256.Size]byte, end record.HashState, err error) {
	h := newHasher()
	defer h.free()
	if err := h.resumeAtSpans(base); err != nil {
		return sum, end, err
	}
	h.Write(base.Tail)
	if err := d.read(func(p []byte) error { h.Write(p); return nil }); err != nil {
		return sum, end, err
	}
	end, err = h.state()
	return h.digest(), end, err
}
