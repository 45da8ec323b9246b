package workbench

import (
	"context"
	"errors"
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
	return (s.id == "" || r.id == s.id) && s.within(r.path)
}

// within reports whether a path is the scope's or below it.
func (s scope) within(path string) bool {
	return s.full == "" || path == s.full ||
		len(path) > len(s.full) && path[len(s.full)] == '/' && strings.HasPrefix(path, s.full)
}

// The candidates of the indexes and the rows of the scope are counted up to a
// limit that grows from firstProbe to lastProbe, until one of the counts ends.
const (
	firstProbe = 256
	lastProbe  = 64 << 10
)

// probeStep is what the limit grows by, so that all counting together costs
// little more than the last round of it.
const probeStep = 4

// scopeRows is how many rows of the scope can be read while one candidate of an
// index is looked up.
const scopeRows = 2

// checkEvery is how many rows are visited between two looks at the context.
const checkEvery = 1024

// query goes over the rows of a scope that satisfy all predicates, at the
// revision of v.
type query struct {
	t          *tenant
	scope      scope
	predicates []predicate
	// visited is how many keys and rows were looked at.
	visited int
}

// each calls fn with every match, in no particular order. The row is fn's until
// it returns.
func (q *query) each(ctx context.Context, v *kv.View, fn func(r *row) error) error {
	if !q.narrow() {
		return nil
	}
	prefixes, ok, err := q.choose(ctx, v)
	if err != nil {
		return err
	}
	if !ok {
		return q.workbenches(v, func(id string, in keys.Incarnation) error { return q.byPath(ctx, v, id, in, fn) })
	}
	for _, p := range prefixes {
		if err := q.byIndex(ctx, v, p, fn); err != nil {
			return err
		}
	}
	return nil
}

// narrow draws the scope in around a workbench or a path that a predicate
// demands. It reports false when there can be no match.
func (q *query) narrow() bool {
	for i := range q.predicates {
		p := &q.predicates[i]
		if len(p.operands) != 1 || p.op != "eq" && p.op != "in" {
			if p.op == "in" && len(p.operands) == 0 || p.op == "not_exists" {
				return false
			}
			continue
		}
		o := p.operands[0]
		switch p.field {
		case fieldWorkbench:
			if o.kind != kindString || jail.CheckID(o.text) != nil || q.scope.id != "" && q.scope.id != o.text {
				return false
			}
			q.scope.id = o.text
		case fieldPath:
			if o.kind != kindString || !keys.ValidPath(o.text) || !q.scope.within(o.text) {
				return false
			}
			q.scope.full = o.text
		}
	}
	return true
}

// workbenches calls fn with each workbench of the scope that is there.
func (q *query) workbenches(v *kv.View, fn func(id string, in keys.Incarnation) error) error {
	if q.scope.id != "" {
		in, ok, err := q.t.see(v, q.scope.id)
		if err != nil || !ok {
			return err
		}
		return fn(q.scope.id, in)
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
		if err := fn(id, m.Incarnation); err != nil {
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
// predicate of the fewest candidates; not ok when no predicate has an index, or
// when reading the scope itself is less work.
func (q *query) choose(ctx context.Context, v *kv.View) (best [][]byte, ok bool, err error) {
	var usable [][][]byte
	for i := range q.predicates {
		if prefixes, has := q.prefixes(&q.predicates[i]); has {
			usable = append(usable, prefixes)
		}
	}
	if len(usable) == 0 {
		return nil, false, nil
	}
	for limit := firstProbe; ; limit *= probeStep {
		fewest := limit + 1
		for _, prefixes := range usable {
			n := 0
			for _, p := range prefixes {
				if n, err = q.count(ctx, v, p, n, fewest); err != nil {
					return nil, false, err
				}
			}
			if n < fewest {
				best, fewest = prefixes, n
			}
		}
		n, most := 0, min(fewest, limit)*scopeRows
		err := q.workbenches(v, func(_ string, in keys.Incarnation) error {
			if n++; n > most {
				return errEnough
			}
			n, err = q.count(ctx, v, q.pathRecords(in), n, most+1)
			return err
		})
		switch {
		case err != nil && !errors.Is(err, errEnough):
			return nil, false, err
		case n <= most:
			return nil, false, nil
		case best != nil:
			return best, true, nil
		case limit == lastProbe:
			return usable[0], true, nil
		}
	}
}

// errEnough ends a count.
var errEnough = errors.New("workbench: counted enough")

// count adds the keys behind a prefix to n, until n is limit.
func (q *query) count(ctx context.Context, v *kv.View, prefix []byte, n, limit int) (int, error) {
	if n >= limit {
		return n, nil
	}
	it := v.Scan(prefix, keys.AppendEnd(nil, prefix), kv.ScanOptions{Limit: limit - n})
	defer func() { _ = it.Close() }()
	for n < limit && it.Next() {
		n++
		if err := q.step(ctx); err != nil {
			return n, err
		}
	}
	return n, it.Err()
}

// pathRecords is what the keys of the scope's files in a workbench begin with.
func (q *query) pathRecords(in keys.Incarnation) []byte {
	k := keys.AppendPathRecords(nil, q.t.root.ID(), in)
	if q.scope.full != "" {
		k = keys.AppendPathInside(k, q.scope.full)
	}
	return k
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
	lower := q.pathRecords(in)
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
