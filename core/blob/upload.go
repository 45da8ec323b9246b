package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// upload is a staged file of this process. Its fields are guarded by Store.mu.
type upload struct {
	// touched is when bytes last came in.
	touched time.Time
}

// Writer takes the bytes of one upload. Up to MemoryLimit bytes stay in memory;
// more go to a file as they come. It is used by one goroutine at a time, and
// ends with Seal or Abort.
type Writer struct {
	s    *Store
	ctx  context.Context
	root kv.Root
	sum  *hasher
	mem  []byte
	// id and out are set once there is a file.
	staged bool
	id     keys.SegmentID
	out    *segmentWriter
	err    error // sticks
	done   bool
}

// Create begins an upload into a root. ctx bounds the updates that the upload
// makes while it is written, not its life: a caller that gives up calls Abort.
func (s *Store) Create(ctx context.Context, root kv.Root) *Writer {
	return &Writer{s: s, ctx: ctx, root: root, sum: newHasher()}
}

// Write adds bytes to the upload. After an error every later call returns the
// same one; the caller aborts.
//
// Errors: RESOURCE_EXHAUSTED when the disk is nearly full; those of kv.Update;
// an error of the file system.
func (w *Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, ErrClosed
	}
	if w.err != nil {
		return 0, w.err
	}
	if w.out == nil && len(w.mem)+len(p) <= MemoryLimit {
		w.mem = append(w.mem, p...)
		return w.sum.Write(p)
	}
	if w.out == nil {
		if w.err = w.spill(); w.err != nil {
			return 0, w.err
		}
	}
	n, err := w.out.Write(p)
	if err != nil {
		w.err = err
		return n, err
	}
	w.s.touch(segmentKey{w.root.ID(), w.id})
	return w.sum.Write(p)
}

// Size returns how many bytes were written so far.
func (w *Writer) Size() int64 { return w.sum.n }

// spill moves the upload from memory to a file.
func (w *Writer) spill() error {
	if err := w.s.prepareRoot(w.root.ID()); err != nil {
		return err
	}
	if err := w.stage(); err != nil {
		return err
	}
	f, err := w.s.fs.Create(w.s.segmentPath(w.root.ID(), w.id), "blob")
	if err != nil {
		return fmt.Errorf("blob: creating a segment: %w", noSpace(err))
	}
	w.out = newSegmentWriter(f, w.id, w.probe)
	mem := w.mem
	w.mem = nil
	_, err = w.out.Write(mem)
	return err
}

// stage writes the staging row, which is durable before the file is created
// (BLOB-6).
func (w *Writer) stage() error {
	if _, err := io.ReadFull(w.s.kv.IDs(), w.id[:]); err != nil {
		return fmt.Errorf("blob: id source: %w", err)
	}
	key := segmentKey{w.root.ID(), w.id}
	// Known to this process before the row exists: else the collector could take
	// the row for one that a dead process left.
	w.s.mu.Lock()
	w.s.uploads[key] = &upload{touched: w.s.clk.Now()}
	w.s.mu.Unlock()
	w.staged = true
	return w.s.kv.Update(w.ctx, w.root, func(tx *kv.Tx) error {
		tx.Put(keys.AppendStaging(nil, key.root, key.id), record.AppendStaging(nil, record.Staging{AtMillis: tx.Now().UnixMilli()}))
		return nil
	})
}

// probe is asked every few MiB whether the upload may go on.
func (w *Writer) probe() error {
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	return w.s.kv.CheckSpace()
}

// Seal ends the upload. The bytes are durable when it returns, but nothing
// refers to them yet: the caller publishes them in an Update, or releases them.
// On an error the upload is aborted.
func (w *Writer) Seal() (*Sealed, error) {
	if w.done {
		return nil, ErrClosed
	}
	d, err := w.seal()
	if err != nil {
		w.Abort()
		return nil, err
	}
	w.end()
	return d, nil
}

func (w *Writer) seal() (*Sealed, error) {
	if w.err != nil {
		return nil, w.err
	}
	d, err := w.s.sealed(w.root, w.sum)
	if err != nil || w.out == nil {
		d.data = w.mem
		return d, err
	}
	out := w.out
	w.out = nil
	if err := out.finish(); err != nil {
		return nil, err
	}
	if err := w.s.syncDir(w.s.rootDir(w.root.ID())); err != nil {
		return nil, err
	}
	d.staged, d.id = true, w.id
	return d, nil
}

// Abort gives the upload up. It does nothing after Seal or Abort.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	if w.out != nil {
		// The file is going to be removed; what closing it says does not matter.
		_ = w.out.close()
		w.out = nil
	}
	if w.staged {
		w.s.forsake(w.root, w.id)
	}
	w.end()
}

func (w *Writer) end() {
	w.done = true
	w.mem = nil
	if w.sum != nil {
		w.sum.free()
		w.sum = nil
	}
}

// forsake leaves a staged file to the collector.
func (s *Store) forsake(root kv.Root, id keys.SegmentID) {
	s.mu.Lock()
	delete(s.uploads, segmentKey{root.ID(), id})
	s.mu.Unlock()
	s.soil(root)
}

func (s *Store) touch(key segmentKey) {
	now := s.clk.Now()
	s.mu.Lock()
	if u := s.uploads[key]; u != nil {
		u.touched = now
	}
	s.mu.Unlock()
}

// Put uploads what r gives until its end.
func (s *Store) Put(ctx context.Context, root kv.Root, r io.Reader) (*Sealed, error) {
	w := s.Create(ctx, root)
	defer w.Abort()
	buf := batchBuffers.Get().(*[batchFrames * frameSize]byte)
	defer batchBuffers.Put(buf)
	// Hide the reader's own WriteTo: it would choose the size of the pieces.
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{r}, buf[:ChunkSize]); err != nil {
		return nil, err
	}
	return w.Seal()
}

// PutBytes uploads a body that is in memory already. A body of at most
// MemoryLimit bytes is not copied: data must not change until the result is
// published or dropped.
func (s *Store) PutBytes(ctx context.Context, root kv.Root, data []byte) (*Sealed, error) {
	if len(data) > MemoryLimit {
		return s.Put(ctx, root, bytes.NewReader(data))
	}
	h := newHasher()
	defer h.free()
	h.Write(data)
	d, err := s.sealed(root, h)
	d.data = data
	return d, err
}

// sealed returns an upload of the bytes that h has seen.
func (s *Store) sealed(root kv.Root, h *hasher) (*Sealed, error) {
	d := &Sealed{s: s, root: root, size: h.n, sum: h.digest()}
	if d.size <= TailLimit {
		return d, nil
	}
	var err error
	d.end, err = h.state()
	return d, err
}

// Sealed is an upload that is complete and not published. It is used by one
// goroutine at a time. Whoever has one calls Release in the end, whatever
// happened: after a publication that does nothing.
type Sealed struct {
	s    *Store
	root kv.Root
	size int64
	sum  canon.Digest
	// end is the hash state after all bytes, when they are too many for a tail.
	end record.HashState
	// data holds the bytes, unless they are in the staged file id.
	data   []byte
	staged bool
	id     keys.SegmentID
	// gone says that the staged file is published: it belongs to a body now.
	gone bool
	// prepared is what Prepare found out for one base.
	prepared *prepared
}

// Size returns the number of bytes.
func (d *Sealed) Size() int64 { return d.size }

// Digest returns the SHA-256 of the bytes.
func (d *Sealed) Digest() canon.Digest { return d.sum }

// Release gives up what was not published. It is safe at any time, also while
// it is unknown whether a publishing Update took effect: the collector finds
// that out.
func (d *Sealed) Release() {
	d.dropPrepared()
	if d.staged && !d.gone {
		d.s.forsake(d.root, d.id)
	}
}

// read calls sink with the bytes of the upload, in pieces.
func (d *Sealed) read(sink func([]byte) error) (err error) {
	if !d.staged {
		return sink(d.data)
	}
	buf := batchBuffers.Get().(*[batchFrames * frameSize]byte)
	defer batchBuffers.Put(buf)
	r, err := openSegment(d.s.fs, d.s.segmentPath(d.root.ID(), d.id), d.id, d.size, buf)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return r.read(0, d.size, sink)
}
