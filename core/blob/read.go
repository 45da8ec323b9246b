package blob

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"sort"
	"sync/atomic"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Body is an open body: its bytes stay until it is closed, whatever happens to
// the row that it came from. It is safe for concurrent use.
type Body struct {
	s      *Store
	root   kv.Root
	rec    record.Body
	closed atomic.Bool
}

// Open returns the body of a record that was read in v, and keeps its bytes
// from being collected until Close. The View may end before the first byte is
// read, so that no View lives across a network write.
func (s *Store) Open(v *kv.View, rec record.Body) *Body {
	b := &Body{s: s, root: v.Root(), rec: rec.Clone()}
	s.pin(b.root.ID(), b.rec.Spans)
	return b
}

// Length returns the number of bytes.
func (b *Body) Length() int64 { return b.rec.Length }

// Close lets the bytes go. Calling it twice does nothing. A read that runs
// meanwhile may fail.
func (b *Body) Close() {
	if !b.closed.Swap(true) {
		b.s.unpin(b.root.ID(), b.rec.Spans)
	}
}

// ReadAll returns the whole body, checked against its digest. It is for bodies
// of which the caller knows that they are small.
func (b *Body) ReadAll(ctx context.Context) ([]byte, error) {
	w := byteSink{make([]byte, 0, b.rec.Length)}
	if err := b.WriteRange(ctx, &w, 0, b.rec.Length); err != nil {
		return nil, err
	}
	return w.bytes, nil
}

type byteSink struct{ bytes []byte }

func (w *byteSink) Write(p []byte) (int, error) {
	w.bytes = append(w.bytes, p...)
	return len(p), nil
}

// WriteRange writes n bytes from byte off on to w, in pieces of at most 64 KiB.
// Each piece is checked before it is written (BLOB-1); when the range is the
// whole body, its digest is checked too, which can only fail after the last
// byte was written: on ErrCorrupt the receiver must not take the bytes for
// complete.
//
// Errors: ErrRange; ErrClosed; ErrCorrupt; that of w or of the context; an error
// of the file system.
func (b *Body) WriteRange(ctx context.Context, w io.Writer, off, n int64) error {
	if off < 0 || n < 0 || off > b.rec.Length-n {
		return ErrRange
	}
	if b.closed.Load() {
		return ErrClosed
	}
	r := bodyReader{ctx: ctx, b: b, w: w}
	defer r.close()
	if off == 0 && n == b.rec.Length {
		r.sum = newHasher()
		defer r.sum.free()
	}
	if err := r.run(off, off+n); err != nil {
		return err
	}
	if r.sum != nil && r.sum.digest() != b.rec.SHA256 {
		return corrupt("a body of %d bytes has another digest than its record says", b.rec.Length)
	}
	return nil
}

// WritePieces is WriteRange for whoever looks at the bytes of a long body as they
// come, and at all of them alike: each piece is checked before it is written
// (BLOB-1), and the digest of a whole body is not computed.
func (b *Body) WritePieces(ctx context.Context, w io.Writer, off, n int64) error {
	if off < 0 || n < 0 || off > b.rec.Length-n {
		return ErrRange
	}
	if b.closed.Load() {
		return ErrClosed
	}
	r := bodyReader{ctx: ctx, b: b, w: w}
	defer r.close()
	return r.run(off, off+n)
}

// bodyReader is one WriteRange or WritePieces.
type bodyReader struct {
	ctx context.Context
	b   *Body
	w   io.Writer
	sum *hasher // nil unless the whole body is read

	// buf holds the frames of a file, or the extents of a batch, in turn.
	buf     *[batchFrames * frameSize]byte
	extents []loadedExtent
}

// loadedExtent is an extent that was copied out of a View.
type loadedExtent struct {
	start, end int64
	segment    bool
	id         keys.SegmentID
	data       []byte // in bodyReader.buf
}

func (r *bodyReader) close() {
	if r.buf != nil {
		batchBuffers.Put(r.buf)
		r.buf = nil
	}
}

func (r *bodyReader) write(p []byte) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.sum != nil {
		r.sum.Write(p)
	}
	n, err := r.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

func (r *bodyReader) run(off, end int64) error {
	rec := &r.b.rec
	spanned := rec.Spanned()
	for off < min(end, spanned) {
		// The span that holds off is the first that ends after it.
		i := sort.Search(len(rec.Spans), func(i int) bool { return rec.Spans[i].End > off })
		if err := r.load(rec.Spans[i], off, end); err != nil {
			return err
		}
		for _, e := range r.extents {
			upTo := min(end, e.end)
			if err := r.emit(e, off, upTo); err != nil {
				return err
			}
			off = upTo
		}
	}
	if off < end {
		if crc32.Checksum(rec.Tail, castagnoli) != rec.TailSum {
			return corrupt("the tail of a body has a wrong checksum")
		}
		return r.write(rec.Tail[off-spanned : end-spanned])
	}
	return nil
}

// emit writes the bytes [off, end) of the body, which are in e.
func (r *bodyReader) emit(e loadedExtent, off, end int64) (err error) {
	if !e.segment {
		return r.write(e.data[off-e.start : end-e.start])
	}
	path := r.b.s.segmentPath(r.b.root.ID(), e.id)
	f, err := openSegment(r.b.s.fs, path, e.id, e.end-e.start, r.buf)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return f.read(off-e.start, end-e.start, r.write)
}

// load fills r.extents with the extents that hold the bytes from off on: as many
// as fit the buffer, or one segment. They are in one span, one after the other,
// and reach past off.
func (r *bodyReader) load(span record.BodySpan, off, end int64) error {
	if r.buf == nil {
		r.buf = batchBuffers.Get().(*[batchFrames * frameSize]byte)
	}
	r.extents = r.extents[:0]
	return r.b.s.kv.View(r.ctx, r.b.root, func(v *kv.View) error {
		root := r.b.root.ID()
		lower := keys.AppendBodyExtent(nil, root, keys.ListID(span.List), uint64(off)+1)
		upper := keys.AppendBodyExtent(nil, root, keys.ListID(span.List), uint64(span.End)+1)
		it := v.Scan(lower, upper, kv.ScanOptions{})
		defer it.Close()
		next, used := off, 0
		for next < min(end, span.End) {
			if !it.Next() {
				if err := it.Err(); err != nil {
					return err
				}
				return corrupt("list %v has no extent for byte %d", span.List, next)
			}
			e, err := loadExtent(it)
			if err != nil {
				return err
			}
			// The first may begin before off; the others begin where the one
			// before them ended (BLOB-2).
			if e.start > next || e.start < next && len(r.extents) > 0 {
				return corrupt("the extent of list %v that ends at %d begins at %d, not at %d", span.List, e.end, e.start, next)
			}
			if len(r.extents) > 0 && (e.segment || used+len(e.data) > len(r.buf)) {
				return nil
			}
			used += copy(r.buf[used:], e.data)
			e.data = r.buf[used-len(e.data) : used]
			r.extents = append(r.extents, e)
			next = e.end
			if e.segment {
				return nil
			}
		}
		return nil
	})
}

// loadExtent decodes and checks the extent at the iterator. Its data alias the
// iterator's memory.
func loadExtent(it *kv.Iter) (loadedExtent, error) {
	_, list, end, err := keys.CutBodyExtent(it.Key())
	if err != nil {
		return loadedExtent{}, corrupt("an extent has a malformed key: %v", err)
	}
	x, err := record.DecodeExtent(it.Value().Bytes)
	if err != nil {
		return loadedExtent{}, corrupt("the extent of list %v that ends at %d: %v", list, end, err)
	}
	e := loadedExtent{start: int64(end) - x.Length, end: int64(end), segment: x.Segment, id: x.SegmentID, data: x.Data}
	if e.start < 0 {
		return loadedExtent{}, corrupt("the extent of list %v that ends at %d is longer than that", list, end)
	}
	if !x.Segment && (len(x.Data) > ExtentLimit || crc32.Checksum(x.Data, castagnoli) != x.Sum) {
		return loadedExtent{}, corrupt("the extent of list %v that ends at %d has a wrong checksum", list, end)
	}
	return e, nil
}
