package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Kinds of entry.
const (
	kindFile      = "file"
	kindDirectory = "directory"
)

// Stat describes a file, a directory or the workbench, as it is or as a snapshot
// keeps it. It reads no body.
func (w *Workbench) Stat(ctx context.Context, req *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
	p, err := jail.ParseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	if err := checkSelector(req.AtSnapshot); err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	a := w.newStatAnswer(p)
	a.AtSnapshot = req.AtSnapshot
	err = w.look(ctx, t, p, req.AtSnapshot, func(v *kv.View, m moment) error {
		if !p.Root() {
			f, ok, err := t.file(v, m.in, p.Full)
			if err != nil {
				return err
			}
			if ok {
				a.describe(&f)
				return nil
			}
			if ok, err = t.below(v, m.in, p.Full); err != nil {
				return err
			} else if !ok && !p.SectionRoot() {
				return notFound(p)
			}
		}
		a.Card.Kind = kindDirectory
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &a.WorkbenchStatResult, nil
}

// statAnswer is a result together with what its pointers point to.
type statAnswer struct {
	op.WorkbenchStatResult
	section, relative, digest, contentType string
	cardSection, cardRelative              string
	size, generation                       int64
}

func (w *Workbench) newStatAnswer(p jail.Place) *statAnswer {
	path := w.root.Path(p.ID, p.Full)
	a := &statAnswer{}
	a.WorkbenchID = p.ID
	a.Path = path
	a.WorkbenchPath = path[:len(w.root)+1+len(p.ID)]
	a.Section, a.RelativePath = echo(p, &a.section, &a.relative)
	a.Card.Name, a.Card.Path = p.ID, path
	if !p.Root() {
		a.Card.Name = jail.Name(p.Full)
		s, rest := jail.Split(p.Full)
		a.Card.Section, a.Card.RelativePath = child(s, rest, &a.cardSection, &a.cardRelative)
	}
	return a
}

func (a *statAnswer) describe(f *record.File) {
	c := &a.Card
	c.Kind = kindFile
	a.size, a.generation = f.Body.Length, int64(f.Generation)
	a.contentType, a.digest = f.ContentType, digestURI(f.Body.SHA256)
	c.SizeBytes, c.Generation, c.ContentType, c.DigestURI = &a.size, &a.generation, &a.contentType, &a.digest
	c.Producer, c.ManifestID = f.Producer, f.ManifestID
}

// echo gives section and path back as the caller said them; the memory is the
// answer's own.
func echo(p jail.Place, section, relative *string) (s, r *string) {
	return child(p.Section, p.Relative, section, relative)
}

// child presents a section and the path in it; what is missing is null.
func child(section jail.Section, relative string, s, r *string) (sp, rp *string) {
	if section != jail.NoSection {
		*s = section.String()
		sp = s
	}
	if relative != "" {
		*r = relative
		rp = r
	}
	return sp, rp
}
