package workbench

import (
	"context"
	"errors"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Append publishes the old body with the given bytes behind it, or the bytes
// alone when the path has no file. It costs the appended bytes, whatever lies
// before them; concurrent appends all take effect, one after the other.
func (w *Workbench) Append(ctx context.Context, req *op.WorkbenchAppendRequest) (*op.WorkbenchAppendResult, error) {
	p, err := jail.ParseWritable(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	load, err := decodePayload(req.Text, req.Base64, req.ContentType, w.o.MaxArtifactBytes)
	if err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	delta, err := w.bodies.PutBytes(ctx, t.root, load.data)
	if err != nil {
		return nil, bodyFault(err)
	}
	defer delta.Release()
	f, err := w.extend(ctx, t, p, load, delta)
	if err != nil {
		return nil, err
	}
	return &op.WorkbenchAppendResult{
		WorkbenchID: p.ID, Section: req.Section, RelativePath: p.Relative, Path: w.root.Path(p.ID, p.Full),
		AppendedBytes: delta.Size(), SizeBytes: f.Body.Length, Generation: int64(f.Generation),
		Created: f.created, Digest: digestURI(delta.Digest()),
	}, nil
}

// extended is what an append published.
type extended struct {
	record.File
	created bool
}

func (w *Workbench) extend(ctx context.Context, t *tenant, p jail.Place, load payload, delta *blob.Sealed) (next extended, err error) {
	in, err := w.mint(t, p.ID)
	if err != nil {
		return next, err
	}
	attempt := func(tx *kv.Tx) (life, error) {
		l, ok, err := t.find(tx, p.ID)
		if err != nil {
			return l, err
		}
		if !ok {
			t.begin(tx, p.ID, in)
			l = life{in, tx.Revision()}
		}
		var old *record.File
		if ok {
			f, exists, err := t.file(tx, l.incarnation, p.Full)
			if err != nil {
				return l, err
			}
			if exists {
				old = &f
			}
		}
		next = extended{File: record.File{ContentType: load.contentType}, created: old == nil}
		if old == nil {
			next.Body, err = w.bodies.Publish(tx, delta)
		} else {
			next.Body, err = w.bodies.Append(tx, old.Body, delta)
			next.Producer, next.ManifestID, next.Index = old.Producer, old.ManifestID, old.Index
			if !load.named {
				next.ContentType = old.ContentType
			}
		}
		if err != nil {
			return l, bodyFault(err) // ErrNotReady stays what it is
		}
		t.publish(tx, p.ID, l.incarnation, p.Full, old, &next.File)
		return l, nil
	}
	base := func(r kv.Reader) (record.Body, error) {
		l, ok, err := t.find(r, p.ID)
		if err != nil || !ok {
			return record.Body{}, err
		}
		f, _, err := t.file(r, l.incarnation, p.Full)
		return f.Body, err
	}
	alone := !w.slow.busy(t, p)
	if alone {
		if err = w.update(ctx, t, p.ID, attempt); !errors.Is(err, blob.ErrNotReady) {
			return next, err
		}
	}
	// The append needs work outside of an update, and another writer can void it
	// meanwhile, or others who need that are waiting. Those who work like this queue up per path, so that they do not
	// void each other's.
	leave, err := w.slow.enter(ctx, t, p)
	if err != nil {
		return next, err
	}
	defer leave()
	for n := range op.LimitAppendMaxAttempts {
		if n > 0 || alone { // otherwise it may be ready as it is
			if err := w.bodies.Prepare(ctx, t.root, base, delta); err != nil {
				return next, bodyFault(err)
			}
		}
		err = w.update(ctx, t, p.ID, attempt)
		if !errors.Is(err, blob.ErrNotReady) {
			return next, err
		}
	}
	return next, writeConflict(op.LimitAppendMaxAttempts)
}

func writeConflict(attempts int64) error {
	return fault.New(op.ReasonWBWriteConflict, "").With("attempts", attempts).With("last_error", "another writer published first")
}
