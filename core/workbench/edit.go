package workbench

import (
	"bytes"
	"context"
	"errors"
	"unicode/utf8"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// substitution is one exact-string replacement.
type substitution struct {
	old, new []byte
	all      bool
	maximum  int64
}

// apply replaces in a body. Occurrences are counted from the left and do not
// overlap. The result is the body itself when nothing changes.
func (s substitution) apply(p jail.Place, body []byte) (result []byte, n int, err error) {
	if !utf8.Valid(body) {
		return nil, 0, fault.New(op.ReasonWBInvalidUTF8, "The file is not UTF-8 text and cannot be edited as such.").With("path", p.Full)
	}
	n = bytes.Count(body, s.old)
	switch {
	case n == 0:
		return nil, 0, fault.New(op.ReasonWBNoMatch, "").With("path", p.Full)
	case n > 1 && !s.all:
		return nil, 0, fault.New(op.ReasonWBAmbiguousEdit, "").With("matches", n)
	case bytes.Equal(s.old, s.new):
		return body, n, nil
	}
	size := int64(len(body)) + int64(n)*int64(len(s.new)-len(s.old))
	if size > s.maximum {
		return nil, 0, tooLarge(size, s.maximum, "The file would be larger after the edit than this tool carries.")
	}
	return bytes.ReplaceAll(body, s.old, s.new), n, nil
}

// Edit replaces an exact string in a UTF-8 file. A result that is the same byte
// for byte publishes nothing (WB-3).
func (w *Workbench) Edit(ctx context.Context, req *op.WorkbenchEditRequest) (*op.WorkbenchEditResult, error) {
	p, err := jail.ParseWritable(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	s := substitution{old: []byte(req.OldString), new: []byte(req.NewString), all: req.ReplaceAll != nil && *req.ReplaceAll, maximum: w.o.MaxArtifactBytes}
	switch {
	case len(s.old) == 0:
		return nil, invalid("$.old_string", "must not be empty; workbench_append adds at the end")
	case int64(max(len(s.old), len(s.new))) > s.maximum:
		return nil, tooLarge(int64(max(len(s.old), len(s.new))), s.maximum, "The strings of an edit are larger than this tool carries.")
	case !utf8.Valid(s.new):
		return nil, invalid("$.new_string", "must be valid UTF-8")
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	e, err := w.edit(ctx, t, p, s)
	if err != nil {
		return nil, err
	}
	return &op.WorkbenchEditResult{
		WorkbenchID: p.ID, Section: req.Section, RelativePath: p.Relative, Path: w.root.Path(p.ID, p.Full),
		Replacements: int64(e.replacements), SizeBytes: e.size, Generation: int64(e.generation), NoChange: e.noChange,
	}, nil
}

// edited is what an edit came to.
type edited struct {
	replacements int
	size         int64
	generation   uint64
	noChange     bool
}

// errOvertaken says that another writer published between the read and the
// update.
var errOvertaken = errors.New("workbench: another writer published first")

func (w *Workbench) edit(ctx context.Context, t *tenant, p jail.Place, s substitution) (edited, error) {
	attempts := op.LimitEditMaxAttempts
	if !w.slow.busy(t, p) {
		e, err := w.tryEdit(ctx, t, p, s)
		if !errors.Is(err, errOvertaken) {
			return e, err
		}
		attempts--
	}
	leave, err := w.slow.enter(ctx, t, p)
	if err != nil {
		return edited{}, err
	}
	defer leave()
	for range attempts {
		e, err := w.tryEdit(ctx, t, p, s)
		if !errors.Is(err, errOvertaken) {
			return e, err
		}
	}
	return edited{}, writeConflict(op.LimitEditMaxAttempts)
}

// tryEdit reads and matches in a View, then publishes if the file is still at
// the generation that was read. A refusal that only needed reading never takes
// a turn.
func (w *Workbench) tryEdit(ctx context.Context, t *tenant, p jail.Place, s substitution) (edited, error) {
	r, err := w.open(ctx, t, p)
	if err != nil {
		return edited{}, err
	}
	defer r.close()
	if r.file.Body.Length > s.maximum {
		return edited{}, tooLarge(r.file.Body.Length, s.maximum, "The file is larger than this tool can edit.")
	}
	release, err := w.reserve(ctx, 3*r.file.Body.Length)
	if err != nil {
		return edited{}, err
	}
	defer release()
	body, err := r.all(ctx)
	if err != nil {
		return edited{}, err
	}
	result, n, err := s.apply(p, body)
	if err != nil {
		return edited{}, err
	}
	if bytes.Equal(s.old, s.new) {
		return edited{n, r.file.Body.Length, r.file.Generation, true}, nil
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, result)
	if err != nil {
		return edited{}, bodyFault(err)
	}
	defer sealed.Release()
	var e edited
	err = w.update(ctx, t, p.ID, func(tx *kv.Tx) (life, error) {
		l, ok, err := t.find(tx, p.ID)
		if err != nil {
			return l, err
		}
		if !ok {
			return l, noWorkbench(p)
		}
		old, ok, err := t.file(tx, l.incarnation, p.Full)
		if err != nil {
			return l, err
		}
		if !ok {
			return l, notFound(p)
		}
		publish, n := sealed, n
		if old.Generation != r.file.Generation {
			if publish, n, err = w.editInTurn(ctx, t, p, s, &old.Body); err != nil {
				return l, err
			}
		}
		b, err := w.bodies.Publish(tx, publish)
		if err != nil {
			return l, bodyFault(err)
		}
		next := record.File{ContentType: old.ContentType, Body: b}
		t.publish(tx, p.ID, l.incarnation, p.Full, &old, &next)
		e = edited{n, next.Body.Length, next.Generation, false}
		return l, nil
	})
	return e, err
}

// inTurnBytes bounds what an edit that was overtaken does inside the update.
const inTurnBytes = 32 << 10

// editInTurn applies an edit to the newest body when that is at hand and small,
// so that clients who edit one small file never starve each other.
func (w *Workbench) editInTurn(ctx context.Context, t *tenant, p jail.Place, s substitution, body *record.Body) (*blob.Sealed, int, error) {
	if len(body.Spans) > 0 || len(s.old) > inTurnBytes {
		return nil, 0, errOvertaken
	}
	if n := bytes.Count(body.Tail, s.old); int64(len(body.Tail))+int64(n)*int64(len(s.new)-len(s.old)) > inTurnBytes {
		return nil, 0, errOvertaken
	}
	result, n, err := s.apply(p, body.Tail)
	if err != nil {
		return nil, 0, err
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, result)
	if err != nil {
		return nil, 0, bodyFault(err)
	}
	return sealed, n, nil
}
