package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// PutFile publishes a whole body: as the first revision of a path, or with
// replace as the next one of a path that has one. It never does whichever
// happens to fit.
func (w *Workbench) PutFile(ctx context.Context, req *op.WorkbenchPutFileRequest) (*op.WorkbenchPutFileResult, error) {
	p, err := jail.ParseWritable(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	load, err := decodePayload(req.Text, req.Base64, req.ContentType, w.o.MaxArtifactBytes)
	if err != nil {
		return nil, err
	}
	f, replaced, err := w.putBody(ctx, p, req.Replace, load, record.File{ContentType: load.contentType})
	if err != nil {
		return nil, err
	}
	return &op.WorkbenchPutFileResult{
		WorkbenchID: p.ID, Section: req.Section, RelativePath: p.Relative, Path: w.root.Path(p.ID, p.Full),
		SizeBytes: f.Body.Length, Generation: int64(f.Generation), DigestURI: digestURI(f.Body.SHA256),
		ContentType: f.ContentType, Replace: replaced,
	}, nil
}

// putBody publishes what a call brought, as the first revision or as the next
// one, and reports whether it was to replace one.
func (w *Workbench) putBody(ctx context.Context, p jail.Place, replace *bool, load payload, about record.File) (f record.File, replaced bool, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return f, false, err
	}
	cond := condition{kind: createOnly}
	if replace != nil && *replace {
		cond.kind = replaceOnly
	}
	if len(load.data) > blob.MemoryLimit {
		// A file is about to be written and synced: see first whether it is for
		// nothing.
		if err := w.foresee(ctx, t, p, cond); err != nil {
			return f, false, err
		}
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, load.data)
	if err != nil {
		return f, false, bodyFault(err)
	}
	defer sealed.Release()
	f, err = w.put(ctx, t, p, cond, about, sealed)
	return f, cond.kind == replaceOnly, err
}

// condition is what must hold for a whole body to be published.
type condition struct {
	kind       conditionKind
	generation int64 // of replaceExactly
}

type conditionKind uint8

const (
	createOnly     conditionKind = iota // the path has no file
	replaceOnly                         // the path has a file
	replaceExactly                      // the path's file has this generation
)

// check refuses when the condition does not hold. below asks whether the path
// is a directory.
func (c condition) check(p jail.Place, old *record.File, below func() (bool, error)) error {
	switch {
	case c.kind == createOnly && old != nil:
		return fault.New(op.ReasonWBAlreadyExists, "").With("conflict", "PathGeneration").
			With("generation", old.Generation).With("digest_uri", digestURI(old.Body.SHA256)).With("path", p.Full)
	case c.kind == replaceOnly && old == nil:
		directory, err := below()
		if err != nil {
			return err
		}
		if directory {
			return fault.New(op.ReasonWBNotArtifact, "").With("path", p.Full)
		}
		return notFound(p)
	case c.kind == replaceExactly && old == nil:
		return fault.New(op.ReasonPreconditionFailed, "").With("path", p.Full)
	case c.kind == replaceExactly && old.Generation != uint64(c.generation):
		return fault.New(op.ReasonPreconditionFailed, "").With("path", p.Full).With("current_generation", old.Generation)
	}
	return nil
}

// foresee is check before there is a body to publish. What it accepts may still
// be refused later.
func (w *Workbench) foresee(ctx context.Context, t *tenant, p jail.Place, c condition) error {
	return w.store.View(ctx, t.root, func(v *kv.View) error {
		in, ok, err := t.see(v, p.ID)
		if err != nil {
			return err
		}
		var old *record.File
		if ok {
			f, exists, err := t.file(v, in, p.Full)
			if err != nil {
				return err
			}
			if exists {
				old = &f
			}
		}
		return c.check(p, old, func() (bool, error) {
			if !ok {
				return false, noWorkbench(p)
			}
			return t.below(v, in, p.Full)
		})
	})
}

// put publishes a sealed body, described as about is, when the condition holds. A condition that a
// missing workbench can meet creates it.
func (w *Workbench) put(ctx context.Context, t *tenant, p jail.Place, c condition, about record.File, sealed *blob.Sealed) (record.File, error) {
	var in keys.Incarnation
	if c.kind == createOnly {
		var err error
		if in, err = w.mint(t, p.ID); err != nil {
			return record.File{}, err
		}
	}
	var next record.File
	err := w.update(ctx, t, p.ID, func(tx *kv.Tx) (life, error) {
		l, ok, err := t.find(tx, p.ID)
		if err != nil {
			return l, err
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
		err = c.check(p, old, func() (bool, error) {
			if !ok {
				return false, noWorkbench(p)
			}
			return t.below(tx, l.incarnation, p.Full)
		})
		if err != nil {
			return l, err
		}
		if !ok {
			t.begin(tx, p.ID, in)
			l = life{in, tx.Revision()}
		}
		body, err := w.bodies.Publish(tx, sealed)
		if err != nil {
			return l, bodyFault(err)
		}
		next = about
		next.Body = body
		t.publish(tx, p.ID, l.incarnation, p.Full, old, &next)
		return l, nil
	})
	return next, err
}

// update is kv.Update for a closure that finds or creates a workbench. Once the
// update is durable, so is the marker that the closure saw, and it is kept in
// mind.
func (w *Workbench) update(ctx context.Context, t *tenant, id string, fn func(tx *kv.Tx) (life, error)) error {
	var l life
	err := w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		seen, err := fn(tx)
		l = seen
		return err
	})
	if err == nil && l.since != 0 {
		if _, ok := t.known(id); !ok {
			t.learn(id, l)
		}
	}
	return err
}
