package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// The candidates of the indexes and the rows of the scope are counted up to a
// limit that grows from firstProbe on until one of the counts ends. So counting
// is in proportion to the least work that there is (WB-25).
const (
	firstProbe = 256
	// probeStep is what the limit grows by, so that all rounds together cost little
	// more than the last one.
	probeStep = 4
	// scopeRows is how many rows of the scope can be read while one candidate of an
	// index is looked up.
	scopeRows = 2
	// maxPieces is how many ranges of an index a query is cut into, to leave out
	// what other predicates leave out.
	maxPieces = 1024
)

// candidates are the rows of an index that the predicates on its field leave.
type candidates struct {
	q      *query
	prefix []byte // of the index
	values []span
}

// indexes returns the candidates of each index that the predicates narrow. All
// predicates on a field are taken together: two bounds are one range.
func (q *query) indexes() []*candidates {
	var out []*candidates
	byField := make(map[field]*candidates)
	for i := range q.predicates {
		p := &q.predicates[i]
		prefix, ok := q.columns.indexPrefix(nil, q.t.root.ID(), p.field)
		if !ok {
			continue
		}
		ss, ok := p.spans()
		if !ok {
			continue
		}
		c := byField[p.field]
		if c == nil {
			c = &candidates{q, prefix, everything()}
			byField[p.field], out = c, append(out, c)
		}
		c.values = intersect(c.values, ss)
	}
	return out
}

// indexed feeds the keys of an index, all pieces at once. Where a piece is of one
// value, it is cut down to the workbenches and paths that are asked for.
type indexed struct {
	c    *candidates
	over bool
}

func (f *indexed) next(v *kv.View) ([]piece, error) {
	if f.over {
		return nil, nil
	}
	f.over = true
	q := f.c.q
	prefix := f.c.prefix
	var out []piece
	byID := !unbounded(q.ids) && len(f.c.values)*len(q.ids) <= maxPieces
	byPath := byID && !unbounded(q.paths) && len(f.c.values)*len(q.ids)*len(q.paths) <= maxPieces
	for _, value := range f.c.values {
		if !value.one || !byID {
			out = append(out, piece{span: within(prefix, value)})
			continue
		}
		behind := append(prefix[:len(prefix):len(prefix)], value.lower...)
		for _, ids := range q.ids {
			if !ids.one {
				out = append(out, piece{span: within(behind, ids)})
				continue
			}
			s, ok, err := q.source(v, ids)
			if err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			of := keys.AppendFixed(append(behind[:len(behind):len(behind)], ids.lower...), s.in[:])
			if !byPath {
				out = append(out, piece{span: span{lower: of, upper: keys.AppendEnd(nil, of)}})
				continue
			}
			for _, paths := range q.paths {
				out = append(out, piece{span: within(of, paths)})
			}
		}
	}
	return out, nil
}

// probe counts how much work a feed is: its keys, and its pieces but one.
type probe struct {
	c *candidates // nil for the records of the scope
	n int
	walk
}

func (q *query) probe(ctx context.Context, c *candidates) *probe {
	p := &probe{c: c, n: -1}
	var from feed = &records{q: q}
	if c != nil {
		from = &indexed{c: c}
	}
	p.walk = walk{q: q, ctx: ctx, feed: countedFeed{from, p}, visit: func(*kv.View, *piece, *kv.Iter) error {
		p.n++
		return nil
	}}
	return p
}

// countedFeed counts the pieces of a feed.
type countedFeed struct {
	feed
	p *probe
}

func (c countedFeed) next(v *kv.View) ([]piece, error) {
	ps, err := c.feed.next(v)
	c.p.n += len(ps)
	return ps, err
}

// upTo counts on until everything is counted or the count is a limit. It uses a
// View if it is given one, and else short ones.
func (p *probe) upTo(v *kv.View, limit int) (n int, err error) {
	for !p.over && p.n < limit {
		if p.most = min(viewRows, limit-p.n); v != nil {
			err = p.part(v)
		} else {
			err = p.q.read(p.ctx, p.part)
		}
		if err != nil {
			return 0, err
		}
	}
	return max(p.n, 0), nil
}

// chooser looks for the least work.
type chooser struct {
	indexes []*probe
	scope   *probe
}

func (q *query) chooser(ctx context.Context) *chooser {
	c := new(chooser)
	for _, i := range q.indexes() {
		c.indexes = append(c.indexes, q.probe(ctx, i))
	}
	c.scope = q.probe(ctx, nil)
	return c
}

// choose returns the candidates of which there are fewest, or nil when no
// predicate has an index or reading the scope itself is less work. It counts up
// to a limit, from where it was, and decides nothing when neither is known to be
// little by then.
func (c *chooser) choose(v *kv.View, limit int) (best *candidates, decided bool, err error) {
	if len(c.indexes) == 0 {
		return nil, true, nil
	}
	fewest := limit + 1
	for _, p := range c.indexes {
		n, err := p.upTo(v, fewest)
		if err != nil {
			return nil, false, err
		}
		if n < fewest {
			best, fewest = p.c, n
		}
	}
	most := min(fewest, limit) * scopeRows
	n, err := c.scope.upTo(v, most+1)
	if err != nil {
		return nil, false, err
	}
	if n <= most {
		return nil, true, nil
	}
	return best, best != nil, nil
}
