package workbench

import (
	"context"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// PutArtifact publishes a whole body at any path, with its whole description,
// under the conditions of PutFile.
func (w *Workbench) PutArtifact(ctx context.Context, req *op.WorkbenchPutArtifactRequest) (*op.WorkbenchPutArtifactResult, error) {
	p, err := jail.ParseArtifact(req.ID, req.Path)
	if err != nil {
		return nil, named(err)
	}
	load, err := decodePayload(req.Text, req.Base64, req.ContentType, w.o.MaxArtifactBytes)
	if err != nil {
		return nil, err
	}
	about := record.File{ContentType: load.contentType}
	if about.Producer, err = checkDescriptor("$.producer", req.Producer); err != nil {
		return nil, err
	}
	if about.ManifestID, err = checkDescriptor("$.manifest_id", req.ManifestID); err != nil {
		return nil, err
	}
	if about.Index, err = parseIndexValues(req.IndexValues); err != nil {
		return nil, err
	}
	f, replaced, err := w.putBody(ctx, p, req.Replace, load, about)
	if err != nil {
		return nil, err
	}
	return &op.WorkbenchPutArtifactResult{
		WorkbenchID: p.ID, Section: sectionOf(p), RelativePath: p.Relative, Path: w.root.Path(p.ID, p.Full),
		SizeBytes: f.Body.Length, Generation: int64(f.Generation), DigestURI: digestURI(f.Body.SHA256), ContentType: f.ContentType,
		Producer: f.Producer, ManifestID: f.ManifestID, IndexValues: presentIndexValues(f.Index), Replace: replaced,
	}, nil
}

// SetIndexValues gives a file another set of custom fields. Its generation and
// body stay; the content revision of its workbench is raised, for what a
// listing or a commit of it says has changed (WB-4). An equal set changes
// nothing.
func (w *Workbench) SetIndexValues(ctx context.Context, req *op.WorkbenchSetIndexValuesRequest) (*op.WorkbenchSetIndexValuesResult, error) {
	p, err := jail.ParseArtifact(req.ID, req.Path)
	if err != nil {
		return nil, named(err)
	}
	values, err := parseIndexValues(req.IndexValues)
	if err != nil {
		return nil, err
	}
	c := condition{kind: replaceOnly}
	if req.IfGeneration != nil {
		c = condition{replaceExactly, *req.IfGeneration}
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var generation uint64
	err = w.update(ctx, t, p.ID, func(tx *kv.Tx) (life, error) {
		l, ok, err := t.find(tx, p.ID)
		if err != nil {
			return l, err
		}
		if !ok {
			return l, noWorkbench(p)
		}
		old, there, err := t.file(tx, l.incarnation, p.Full)
		if err != nil {
			return l, err
		}
		if !there {
			directory, err := t.below(tx, l.incarnation, p.Full)
			switch {
			case err != nil:
				return l, err
			case directory:
				return l, fault.New(op.ReasonWBNotArtifact, "").With("path", p.Full)
			}
			return l, notFound(p)
		}
		if err := c.check(p, &old, nil); err != nil {
			return l, err
		}
		generation = old.Generation
		if slices.Equal(old.Index, values) {
			return l, nil
		}
		next := old
		next.Index = values
		t.describe(tx, p.ID, l.incarnation, p.Full, &old, &next)
		return l, nil
	})
	if err != nil {
		return nil, err
	}
	return &op.WorkbenchSetIndexValuesResult{
		WorkbenchID: p.ID, Section: sectionOf(p), RelativePath: p.Relative, Path: w.root.Path(p.ID, p.Full),
		Generation: int64(generation), IndexValues: presentIndexValues(values),
	}, nil
}

// describe writes a file's record anew without publishing it: the generation and
// the instant stay.
func (t *tenant) describe(tx *kv.Tx, id string, in keys.Incarnation, full string, old, next *record.File) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.key = keys.AppendPathRecord(s.key[:0], t.root.ID(), in, full)
	s.value = record.AppendFile(s.value[:0], *next)
	tx.Put(s.key, s.value)
	t.indexCustom(tx, s, id, in, full, old, next)
	writeHead(tx, t.root.ID(), in)
}

// sectionOf is the section of an artifact; nil outside of them.
func sectionOf(p jail.Place) *string {
	if p.Section == jail.NoSection {
		return nil
	}
	name := p.Section.String()
	return &name
}
