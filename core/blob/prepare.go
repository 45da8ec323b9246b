package blob

import (
	"context"
	"crypto/sha256"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// prepared is what an append to one base needs and an Update must not compute.
type prepared struct {
	// length and base name the base: its length and digest.
	length int64
	base   [sha256.Size]byte
	// sum and end are the digest and the hash state of base and upload together.
	sum [sha256.Size]byte
	end record.HashState
	// whole holds base and upload as one upload; nil when base may keep its lists.
	whole *Sealed
}

func (d *Sealed) preparedFor(base *record.Body) *prepared {
	if p := d.prepared; p != nil && p.length == base.Length && p.base == base.SHA256 {
		return p
	}
	return nil
}

func (d *Sealed) dropPrepared() {
	if p := d.prepared; p != nil && p.whole != nil {
		p.whole.Release()
	}
	d.prepared = nil
}

// Prepare does what an append of d to the current base needs and an Update must
// not do: it hashes the upload after the base, or, when the base goes through
// MaxSpans lists, copies base and upload into one new upload. read returns the
// base's record from whatever it is given. Prepare takes time in proportion to
// the upload, and to the base when it copies. What it found out stays in d and
// is good for that base only: when the base moves on, Append asks again.
//
//	for range attempts {
//		err := store.Update(ctx, root, func(tx *kv.Tx) error {
//			base, err := read(tx)
//			…
//			body, err := blobs.Append(tx, base, d)
//			…
//		})
//		if !errors.Is(err, blob.ErrNotReady) {
//			return err
//		}
//		if err := blobs.Prepare(ctx, root, read, d); err != nil {
//			return err
//		}
//	}
//
// Errors: that of read; ErrCorrupt; those of Writer.
func (s *Store) Prepare(ctx context.Context, root kv.Root, read func(kv.Reader) (record.Body, error), d *Sealed) error {
	d.dropPrepared()
	var body *Body
	err := s.kv.View(ctx, root, func(v *kv.View) error {
		base, err := read(v)
		if err == nil {
			body = s.Open(v, base)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer body.Close()
	p := &prepared{length: body.rec.Length, base: body.rec.SHA256}
	if len(body.rec.Spans) < MaxSpans {
		p.sum, p.end, err = hashOver(&body.rec, d)
	} else {
		p.whole, err = s.copyWhole(ctx, root, body, d)
	}
	if err != nil {
		return err
	}
	d.prepared = p
	return nil
}

// copyWhole uploads the bytes of a body and then those of an upload.
func (s *Store) copyWhole(ctx context.Context, root kv.Root, body *Body, d *Sealed) (*Sealed, error) {
	w := s.Create(ctx, root)
	defer w.Abort()
	if err := body.WriteRange(ctx, w, 0, body.rec.Length); err != nil {
		return nil, err
	}
	err := d.read(func(piece []byte) error {
		_, err := w.Write(piece)
		return err
	})
	if err != nil {
		return nil, err
	}
	return w.Seal()
}
