package workbench

import (
	"context"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// scope is what a query looks at: one workbench, or all of the root when id is
// empty; in each, full and what is below it.
type scope struct {
	id, full string
}

// anyID stands for every id where a scope without one is parsed.
const anyID = "any"

func parseScope(id, section, path *string) (scope, error) {
	if id != nil {
		p, err := jail.ParseScope(*id, section, path)
		return scope{id: *id, full: p.Full}, named(err)
	}
	p, err := jail.ParseScope(anyID, section, path)
	return scope{full: p.Full}, named(err)
}

// present is the scope's path in an answer: the bare root for all workbenches.
func (w *Workbench) present(s scope) string {
	if s.id == "" {
		return string(w.root)
	}
	return w.root.Path(s.id, s.full)
}

func (s scope) covers(r *row) bool {
	if s.id != "" && r.id != s.id {
		return false
	}
	return s.full == "" || r.path == s.full ||
		len(r.path) > len(s.full) && r.path[len(s.full)] == '/' && strings.HasPrefix(r.path, s.full)
}

// indexProbe is how many rows of an index are counted to tell which is the most
// selective one.
const indexProbe = 256

// checkEvery is how many rows are visited between two looks at the context.
const checkEvery = 1024

// query goes over the rows of a scope that satisfy all predicates, at the
// revision of v.
type query struct {
	t          *tenant
	scope      scope
	predicates []predicate
	visited    int
}

// each calls fn with every match, in no particular order. The row is fn's until
// it returns.
func (q *query) each(ctx context.Context, v *kv.View, fn func(r *row) error) error {
	if prefixes, ok, err := q.choose(v); err != nil {
		return err
	} else if ok {
		for _, p := range prefixes {
			if err := q.byIndex(ctx, v, p, fn); err != nil {
				return err
			}
		}
		return nil
	}
	if q.scope.id != "" {
		in, ok, err := q.t.see(v, q.scope.id)
		if err != nil || !ok {
			return err
		}
		return q.byPath(ctx, v, q.scope.id, in, fn)
	}
	it := v.Scan(spaceBounds(keys.SpaceWorkbenchMarker, q.t.root.ID()))
	defer func() { _ = it.Close() }()
	for it.Next() {
		_, id, err := keys.CutWorkbenchMarker(it.Key())
		if err != nil {
			return corrupt(err)
		}
		m, err := record.DecodeWorkbench(it.Value().Bytes)
		if err != nil {
			return corrupt(err)
		}
		if err := q.byPath(ctx, v, id, m.Incarnation, fn); err != nil {
			return err
		}
	}
	return it.Err()
}

func spaceBounds(space byte, root uint32) (lower, upper []byte, o kv.ScanOptions) {
	lower, upper = keys.SpaceBounds(space, root)
	return lower, upper, kv.ScanOptions{}
}

// choose returns what the index keys of all candidates begin with, for the
// equality of the fewest candidates; not ok when no predicate has an index.
func (q *query) choose(v *kv.View) (best [][]byte, ok bool, err error) {
	fewest := indexProbe + 1
	for i := range q.predicates {
		prefixes, usable := q.prefixes(&q.predicates[i])
		if !usable {
			continue
		}
		n := 0
		for _, p := range prefixes {
			it := v.Scan(p, keys.AppendEnd(nil, p), kv.ScanOptions{Limit: indexProbe - n + 1})
			for n <= indexProbe && it.Next() {
				n++
			}
			err := it.Err()
			_ = it.Close()
			if err != nil {
				return nil, false, err
			}
			if n > indexProbe {
				break
			}
		}
		if !ok || n < fewest {
			best, ok, fewest = prefixes, true, n
		}
	}
	return best, ok, nil
}

func (q *query) prefixes(p *predicate) ([][]byte, bool) {
	if p.op != "eq" && p.op != "in" {
		return nil, false
	}
	root := q.t.root.ID()
	out := make([][]byte, 0, len(p.operands))
	for _, o := range p.operands {
		var k []byte
		switch p.field {
		case fieldDigest:
			d, err := canon.ParseDigestURI(o.text)
			if err != nil || o.kind != kindString {
				continue // no body has such a digest
			}
			k = keys.AppendFixed(keys.AppendPrefix(k, keys.SpaceIndexDigest, root), d[:])
		case fieldType:
			if o.kind == kindNull {
				continue
			}
			k = keys.AppendText(keys.AppendPrefix(k, keys.SpaceIndexType, root), o.text[:min(len(o.text), keys.IndexTextLen)])
		case fieldGeneration, fieldSize:
			if o.kind == kindNull {
				continue
			}
			space := keys.SpaceIndexSize
			if p.field == fieldGeneration {
				space = keys.SpaceIndexGeneration
			}
			k = keys.AppendUint64(keys.AppendPrefix(k, space, root), o.bits)
		default:
			return nil, false
		}
		if q.scope.id != "" {
			k = keys.AppendText(k, q.scope.id)
		}
		// Two long texts may share what the index holds of them.
		if !containsKey(out, k) {
			out = append(out, k)
		}
	}
	return out, true
}

func containsKey(ks [][]byte, k []byte) bool {
	for _, have := range ks {
		if string(have) == string(k) {
			return true
		}
	}
	return false
}

func (q *query) byIndex(ctx context.Context, v *kv.View, prefix []byte, fn func(r *row) error) error {
	it := v.Scan(prefix, keys.AppendEnd(nil, prefix), kv.ScanOptions{})
	defer func() { _ = it.Close() }()
	for it.Next() {
		_, id, in, path, err := keys.CutIndexed(it.Key())
		if err != nil {
			return corrupt(err)
		}
		r := row{id: id, path: path}
		if !q.scope.covers(&r) {
			if err := q.step(ctx); err != nil {
				return err
			}
			continue
		}
		// A row of a life that no marker names is not there.
		now, ok, err := q.t.see(v, id)
		if err != nil {
			return err
		}
		if !ok || now != in {
			continue
		}
		if r.file, ok, err = q.t.file(v, in, path); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := q.offer(ctx, &r, fn); err != nil {
			return err
		}
	}
	return it.Err()
}

func (q *query) byPath(ctx context.Context, v *kv.View, id string, in keys.Incarnation, fn func(r *row) error) error {
	lower := keys.AppendPathRecords(nil, q.t.root.ID(), in)
	if q.scope.full != "" {
		lower = keys.AppendPathInside(lower, q.scope.full)
	}
	it := v.Scan(lower, keys.AppendEnd(nil, lower), kv.ScanOptions{})
	defer func() { _ = it.Close() }()
	for it.Next() {
		_, _, path, err := keys.CutPathRecord(it.Key())
		if err != nil {
			return corrupt(err)
		}
		f, err := record.DecodeFile(it.Value().Bytes)
		if err != nil {
			return corrupt(err)
		}
		if err := q.offer(ctx, &row{id: id, path: path, file: f}, fn); err != nil {
			return err
		}
	}
	return it.Err()
}

func (q *query) offer(ctx context.Context, r *row, fn func(r *row) error) error {
	if err := q.step(ctx); err != nil {
		return err
	}
	for i := range q.predicates {
		if !q.predicates[i].holds(r) {
			return nil
		}
	}
	return fn(r)
}

func (q *query) step(ctx context.Context) error {
	if q.visited++; q.visited%checkEvery == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
