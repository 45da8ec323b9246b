package workbench

import (
	"bytes"
	"context"
	"errors"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// bodyFault gives the errors of core/blob their reasons.
func bodyFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blob.ErrCorrupt):
		return corrupt(err)
	case errors.Is(err, blob.ErrStagingGone):
		return fault.New(op.ReasonUnavailable, "The upload rested for too long and was given up; send it again.").Because(err)
	}
	return err
}

// reading is one revision of a file, pinned: no View is open, and whatever is
// written later, its bytes stay.
type reading struct {
	file record.File
	body *blob.Body
}

// open resolves a file and pins its body (WB-9).
//
// Errors: NOT_FOUND also for a directory and a missing workbench.
func (w *Workbench) open(ctx context.Context, t *tenant, p jail.Place) (*reading, error) {
	r := new(reading)
	err := w.store.View(ctx, t.root, func(v *kv.View) error {
		in, ok, err := t.see(v, p.ID)
		if err != nil {
			return err
		}
		if !ok {
			return noWorkbench(p)
		}
		if r.file, ok, err = t.file(v, in, p.Full); err != nil {
			return err
		}
		if !ok {
			return notFound(p)
		}
		if err := t.accept(v, in, p.Full, &r.file); err != nil {
			return err
		}
		r.pin(w, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// pin takes what a View lends and makes it last. Of the record's own body only
// length and digest are used afterwards: the rest aliases the View.
func (r *reading) pin(w *Workbench, v *kv.View) {
	r.body = w.bodies.Open(v, r.file.Body)
	r.file.Body = record.Body{Length: r.file.Body.Length, SHA256: r.file.Body.SHA256}
}

func (r *reading) close() {
	if r.body != nil {
		r.body.Close()
	}
}

// all reads the whole body into memory; the caller has looked at its length.
func (r *reading) all(ctx context.Context) ([]byte, error) {
	return r.span(ctx, 0, r.file.Body.Length)
}

// span reads n bytes from off on.
func (r *reading) span(ctx context.Context, off, n int64) ([]byte, error) {
	buf := bytes.NewBuffer(make([]byte, 0, n))
	if err := r.body.WriteRange(ctx, buf, off, n); err != nil {
		return nil, bodyFault(err)
	}
	return buf.Bytes(), nil
}

// reserve waits until memory for n bytes is free among all calls that load
// bodies.
func (w *Workbench) reserve(ctx context.Context, n int64) (release func(), err error) {
	n = min(n, loadBudgetBytes)
	if err := w.loads.Acquire(ctx, n); err != nil {
		return nil, fault.From(err)
	}
	return func() { w.loads.Release(n) }, nil
}
