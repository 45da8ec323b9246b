package workbench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

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

// viewRows is how many keys one View is used for: a query over many files keeps
// none open for long.
const viewRows = 4096

// checkEvery is how many rows are visited between two looks at the context.
const checkEvery = 1024

// query goes over the rows of a scope that satisfy all predicates, at one
// revision and in short Views.
type query struct {
	t          *tenant
	scope      scope
	columns    columns
	predicates []predicate
	// read runs fn in a View; all Views of a query are of one revision.
	read func(ctx context.Context, fn func(v *kv.View) error) error
	// bare says that of a match only its workbench and path are asked for.
	bare bool
	// after, when it is set, is a place that all matches which are asked for follow
	// in the order of workbenches and paths.
	after *place
	// inOrder says that the matches come in that order. It is set before the first.
	inOrder  bool
	resolved bool
	// ids and paths are what the predicates leave of the scope, as keys hold it.
	ids, paths []span
	// visited is how many keys and rows were looked at.
	visited int
}

// source is a workbench of the scope.
type source struct {
	id string
	in keys.Incarnation
}

// piece is a range of keys to go through: of path records of a workbench, or of
// an index when it has none.
type piece struct {
	span
	of source
	// tag is whatever the feed's owner wants to know again.
	tag int
}

// each calls fn with every match, in no particular order, and then end in the
// last of its Views. The row is fn's until it returns.
func (q *query) each(ctx context.Context, fn func(r *row) error, end func(v *kv.View) error) error {
	if err := q.resolve(ctx); err != nil {
		return err
	}
	q.narrow()
	var w *walk
	least := q.chooser(ctx)
	// Most queries need no other View than the first.
	err := q.read(ctx, func(v *kv.View) error {
		c, decided, err := least.choose(v, firstProbe)
		if err != nil || !decided {
			return err
		}
		w = q.begin(ctx, c, fn, end)
		return w.part(v)
	})
	for limit := firstProbe * probeStep; err == nil && w == nil; limit *= probeStep {
		c, decided, failed := least.choose(nil, limit)
		if err = failed; decided {
			w = q.begin(ctx, c, fn, end)
		}
	}
	for err == nil && !w.over {
		err = q.read(ctx, w.part)
	}
	return err
}

// begin starts to go through candidates, or through the records of the scope when
// they are nil.
func (q *query) begin(ctx context.Context, c *candidates, fn func(r *row) error, end func(v *kv.View) error) *walk {
	if c == nil {
		q.inOrder = true
		return &walk{q: q, ctx: ctx, feed: &records{q: q}, visit: q.offerRecord(fn), end: end}
	}
	return &walk{q: q, ctx: ctx, feed: &indexed{c: c}, visit: q.offerIndexed(fn), end: end}
}

// narrow draws in what is looked at around the workbenches and paths that the
// predicates demand; of nothing, nothing is left.
func (q *query) narrow() {
	q.ids, q.paths = everything(), everything()
	if q.scope.id != "" {
		q.ids = []span{only(keys.AppendText(nil, q.scope.id))}
	}
	if q.after != nil {
		q.ids = intersect(q.ids, reach(keys.AppendText(nil, q.after.id), nil))
	}
	if q.scope.full != "" {
		inside := keys.AppendPathInside(nil, q.scope.full)
		q.paths = reach(inside, keys.AppendEnd(nil, inside))
	}
	for i := range q.predicates {
		p := &q.predicates[i]
		if p.op == "not_exists" && p.field < fieldCustom {
			q.ids, q.paths = nil, nil
			return
		}
		switch p.field {
		case fieldWorkbench:
			if ss, ok := p.spans(); ok {
				q.ids = intersect(q.ids, ss)
			}
		case fieldPath:
			if ss, ok := p.spans(); ok {
				q.paths = intersect(q.paths, ss)
			}
		}
	}
}

// feed gives the pieces that a walk goes through, some at a time and all in one
// space; none when there are no more.
type feed interface {
	next(v *kv.View) ([]piece, error)
}

// someSources is how many workbenches are looked up at one time.
const someSources = 256

// records feeds the path records of the scope, in the order of workbenches and
// paths.
type records struct {
	q     *query
	at    int    // in q.ids
	lower []byte // where in it to go on; nil at its beginning
}

func (f *records) next(v *kv.View) ([]piece, error) {
	root := f.q.t.root.ID()
	var out []piece
	for f.at < len(f.q.ids) && len(out) < someSources {
		ids := f.q.ids[f.at]
		if ids.one {
			f.at++
			s, ok, err := f.q.source(v, ids)
			if err != nil {
				return nil, err
			} else if ok {
				out = f.q.records(out, s)
			}
			continue
		}
		markers := within(keys.AppendPrefix(nil, keys.SpaceWorkbenchMarker, root), ids)
		if f.lower != nil {
			markers.lower = f.lower
		}
		it := v.Scan(markers.lower, markers.upper, kv.ScanOptions{Limit: someSources})
		n := 0
		for ; it.Next(); n++ {
			f.lower = append(append(f.lower[:0], it.Key()...), 0)
			_, id, err := keys.CutWorkbenchMarker(it.Key())
			if err != nil {
				return nil, errors.Join(corrupt(err), it.Close())
			}
			m, err := record.DecodeWorkbench(it.Value().Bytes)
			if err != nil {
				return nil, errors.Join(corrupt(err), it.Close())
			}
			out = f.q.records(out, source{id, m.Incarnation})
		}
		if err := it.Close(); err != nil {
			return nil, err
		}
		f.q.visited += n
		if n < someSources {
			f.at, f.lower = f.at+1, nil
		}
	}
	return out, nil
}

// source returns the workbench of a span of ids that is one.
func (q *query) source(v *kv.View, ids span) (source, bool, error) {
	id, _, err := keys.CutText(nil, ids.lower)
	if err != nil || jail.CheckID(string(id)) != nil {
		return source{}, false, nil // an operand that is no id
	}
	in, ok, err := q.t.see(v, string(id))
	return source{string(id), in}, ok, err
}

// records appends the pieces with the path records of a workbench.
func (q *query) records(dst []piece, s source) []piece {
	rows := keys.AppendPathRecords(nil, q.t.root.ID(), s.in)
	wanted := q.paths
	if q.after != nil && q.after.id == s.id {
		wanted = intersect(wanted, reach(append(keys.AppendPath(nil, q.after.path), 0), nil))
	}
	for _, paths := range wanted {
		dst = append(dst, piece{span: within(rows, paths), of: s})
	}
	return dst
}

// within is a span behind a prefix.
func within(prefix []byte, s span) span {
	out := span{lower: append(bytes.Clone(prefix), s.lower...), one: s.one}
	if s.upper != nil {
		out.upper = append(bytes.Clone(prefix), s.upper...)
	} else {
		out.upper = keys.AppendEnd(nil, prefix)
	}
	return out
}

var (
	errEnough = errors.New("workbench: looked at enough")
	errNext   = errors.New("workbench: looked at enough of a piece")
)

// walk goes through the rows of pieces, part by part.
type walk struct {
	q    *query
	ctx  context.Context
	feed feed
	// visit may read the row at which it is until it returns; errEnough ends the
	// walk, errNext the piece, and neither is an error.
	visit func(v *kv.View, p *piece, it *kv.Iter) error
	// end, when there is one, is called in the View that comes to the end.
	end  func(v *kv.View) error
	rest []piece
	over bool
	most int // rows that a part looks at; 0 means viewRows
}

// part goes on with the walk as long as one View may be used.
func (w *walk) part(v *kv.View) error {
	for left := cmp.Or(w.most, viewRows); left > 0; {
		if len(w.rest) == 0 {
			var err error
			if w.rest, err = w.feed.next(v); err != nil {
				return err
			}
		}
		if len(w.rest) > 0 {
			err := w.some(v, &left)
			if err == nil {
				continue
			} else if !errors.Is(err, errEnough) {
				return err
			}
		}
		w.over = true
		if w.end != nil {
			return w.end(v)
		}
		return nil
	}
	return nil
}

// some goes through the pieces that are at hand, as long as left allows.
func (w *walk) some(v *kv.View, left *int) error {
	lower, upper := keys.SpaceBounds(w.rest[0].lower[0], w.q.t.root.ID())
	if len(w.rest) == 1 {
		lower, upper = w.rest[0].lower, w.rest[0].upper
	}
	it := v.Scan(lower, upper, kv.ScanOptions{})
	defer func() { _ = it.Close() }()
	for ; len(w.rest) > 0 && *left > 0; w.rest = w.rest[1:] {
		p := &w.rest[0]
		if err := w.step(left); err != nil {
			return err
		}
		for ok := it.SeekGE(p.lower); ok && bytes.Compare(it.Key(), p.upper) < 0; ok = it.Next() {
			if err := w.step(left); err != nil {
				return err
			}
			if err := w.visit(v, p, it); errors.Is(err, errNext) {
				break
			} else if err != nil {
				return err
			}
			if *left <= 0 {
				p.lower = append(bytes.Clone(it.Key()), 0)
				return it.Err()
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step(left *int) error {
	*left--
	if w.q.visited++; w.q.visited%checkEvery == 0 && w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return nil
}

// offerRecord gives a path record's row to fn if it is a match.
func (q *query) offerRecord(fn func(r *row) error) func(v *kv.View, p *piece, it *kv.Iter) error {
	return func(_ *kv.View, p *piece, it *kv.Iter) error {
		_, _, path, err := keys.CutPathRecord(it.Key())
		if err != nil {
			return corrupt(err)
		}
		return q.offer(&row{id: p.of.id, path: path}, it.Value().Bytes, fn)
	}
}

// offerIndexed gives the row that a key of an index names to fn if it is a match.
func (q *query) offerIndexed(fn func(r *row) error) func(v *kv.View, p *piece, it *kv.Iter) error {
	var record []byte
	return func(v *kv.View, _ *piece, it *kv.Iter) error {
		_, id, in, path, err := keys.CutIndexed(it.Key())
		if err != nil {
			return corrupt(err)
		}
		r := row{id: id, path: path}
		if !q.scope.covers(&r) {
			return nil
		}
		if ok, err := q.lives(v, id, in); err != nil || !ok {
			return err
		}
		record = keys.AppendPathRecord(record[:0], q.t.root.ID(), in, path)
		value, ok, err := v.Get(record)
		if err != nil || !ok {
			return err
		}
		return q.offer(&r, value.Bytes, fn)
	}
}

// lives reports whether a row is of the life that the marker names. One that is
// not is not there.
func (q *query) lives(v *kv.View, id string, in keys.Incarnation) (bool, error) {
	now, ok, err := q.t.see(v, id)
	return ok && now == in, err
}

func (q *query) offer(r *row, value []byte, fn func(r *row) error) (err error) {
	decoded := false
	for i := range q.predicates {
		p := &q.predicates[i]
		if !decoded && p.field.inRecord() {
			if r.file, err = record.DecodeFile(value); err != nil {
				return corrupt(err)
			}
			decoded = true
		}
		if !p.holds(q.columns, r) {
			return nil
		}
	}
	if !decoded && !q.bare {
		if r.file, err = record.DecodeFile(value); err != nil {
			return corrupt(err)
		}
	}
	return fn(r)
}
