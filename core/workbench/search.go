package workbench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

type sortKey struct {
	field field
	desc  bool
}

// hit is a match that a page may show.
type hit struct {
	id, path string
	order    []scalar
	values   []byte
}

// compareHits orders by the sort keys, then by workbench and path.
func compareHits(sort []sortKey, a, b *hit) int {
	for i, k := range sort {
		if c := compareScalars(a.order[i], b.order[i]); c != 0 {
			if k.desc {
				return -c
			}
			return c
		}
	}
	return cmp.Or(strings.Compare(a.id, b.id), jail.Compare(a.path, b.path))
}

// Search gives one page of the files that satisfy all predicates, with the count
// of all of them and, when asked for, facets over all of them. All pages show the
// revision of the first one.
func (w *Workbench) Search(ctx context.Context, req *op.WorkbenchSearchRequest) (*op.WorkbenchSearchResult, error) {
	s, err := parseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, err
	}
	ps, err := parsePredicates(req.Predicates)
	if err != nil {
		return nil, err
	}
	shown, err := fieldsOf("$.fields", req.Fields, int(op.LimitQueryMaxFields))
	if err != nil {
		return nil, err
	}
	slices.Sort(shown)
	facets, err := fieldsOf("$.facets", req.Facets, int(op.LimitQueryMaxFacets))
	if err != nil {
		return nil, err
	}
	order, err := parseSort(req.Sort)
	if err != nil {
		return nil, err
	}
	limit := int(op.LimitSearchDefaultLimit)
	if req.Limit != nil {
		limit = int(*req.Limit)
	}
	if limit < 1 || limit > int(op.LimitSearchMaxLimit) {
		return nil, invalid("$.limit", "must be from 1 to 10")
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	bound := *req
	bound.Cursor, bound.Limit = nil, nil
	digest := sha256.Sum256(bound.AppendJSON(nil))
	c, err := w.openCrawl(t, "search", digest, req.Cursor)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, fn func(v *kv.View) error) error { return w.readCrawl(ctx, t, &c, nil, fn) }
	var after *hit
	if req.Cursor != nil {
		err := read(ctx, func(v *kv.View) (err error) {
			after, err = t.anchor(v, c.anchor, order)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	a := &op.WorkbenchSearchResult{Path: w.present(s), Matches: []op.WorkbenchSearchMatch{}}
	var page []*hit
	counts := newTallies(facets)
	q := query{t: t, scope: s, predicates: ps, read: read}
	err = q.each(ctx, func(r *row) error {
		a.MatchCount++
		if err := counts.add(r); err != nil {
			return err
		}
		h := hitOf(r, order)
		if after != nil && compareHits(order, h, after) <= 0 {
			return nil
		}
		at, _ := slices.BinarySearchFunc(page, h, func(x, y *hit) int { return compareHits(order, x, y) })
		if at > limit {
			return nil
		}
		h.values = r.appendValues(nil, shown)
		if page = slices.Insert(page, at, h); len(page) > limit+1 {
			page = page[:limit+1]
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	a.Facets = counts.facets()
	if len(page) > limit {
		page = page[:limit]
		last := page[limit-1]
		next := w.sealCrawl(t, "search", digest, c, []byte(last.id+"\x00"+last.path))
		a.NextCursor, a.Truncated = &next, true
	}
	for _, h := range page {
		m := op.WorkbenchSearchMatch{WorkbenchID: h.id, Path: w.root.Path(h.id, h.path), Values: h.values}
		section, relative := jail.Split(h.path)
		m.Section, m.RelativePath = child(section, relative, new(string), new(string))
		a.Matches = append(a.Matches, m)
	}
	return a, nil
}

func parseSort(keys []op.WorkbenchSort) ([]sortKey, error) {
	ids := make([]string, len(keys))
	for i := range keys {
		ids[i] = keys[i].Field
	}
	fs, err := fieldsOf("$.sort", ids, int(op.LimitQueryMaxSortKeys))
	if err != nil {
		return nil, err
	}
	out := make([]sortKey, len(fs))
	for i, f := range fs {
		out[i] = sortKey{f, keys[i].Direction != nil && *keys[i].Direction == "desc"}
	}
	return out, nil
}

func hitOf(r *row, order []sortKey) *hit {
	h := &hit{id: r.id, path: r.path, order: make([]scalar, len(order))}
	for i, k := range order {
		h.order[i] = r.value(k.field)
	}
	return h
}

// anchor finds the last match of the page before, which is still there at the
// revision of the crawl.
func (t *tenant) anchor(v *kv.View, anchor []byte, order []sortKey) (*hit, error) {
	id, path, _ := strings.Cut(string(anchor), "\x00")
	gone := func() (*hit, error) {
		return nil, corrupt(errors.New("workbench: a crawl's anchor is not at its revision"))
	}
	in, ok, err := t.see(v, id)
	if err != nil {
		return nil, err
	} else if !ok {
		return gone()
	}
	f, ok, err := t.file(v, in, path)
	if err != nil {
		return nil, err
	} else if !ok {
		return gone()
	}
	return hitOf(&row{id: id, path: path, file: f}, order), nil
}

// appendValues writes an object of fields, which are sorted.
func (r *row) appendValues(dst []byte, fs []field) []byte {
	dst = append(dst, '{')
	for i, f := range fs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), queryFields[f].id...), `":`...)
		dst = r.value(f).appendJSON(dst)
	}
	return append(dst, '}')
}

// tallies count the values of facets.
type tallies struct {
	fields []field
	counts []map[scalar]int64
}

func newTallies(fs []field) *tallies {
	t := &tallies{fs, make([]map[scalar]int64, len(fs))}
	for i := range t.counts {
		t.counts[i] = make(map[scalar]int64)
	}
	return t
}

func (t *tallies) add(r *row) error {
	for i, f := range t.fields {
		t.counts[i][r.value(f)]++
		if len(t.counts[i]) > int(op.LimitQueryMaxDistinct) {
			return invalid(fmt.Sprintf("$.facets[%d]", i), fmt.Sprintf("must have at most %d distinct values in the scope; narrow it", op.LimitQueryMaxDistinct))
		}
	}
	return nil
}

// facets orders buckets by count, the largest first, then by value.
func (t *tallies) facets() []op.WorkbenchFacet {
	out := make([]op.WorkbenchFacet, len(t.fields))
	for i, f := range t.fields {
		vs := make([]scalar, 0, len(t.counts[i]))
		for v := range t.counts[i] {
			vs = append(vs, v)
		}
		slices.SortFunc(vs, func(a, b scalar) int {
			return cmp.Or(cmp.Compare(t.counts[i][b], t.counts[i][a]), compareScalars(a, b))
		})
		out[i] = op.WorkbenchFacet{Field: queryFields[f].id, DistinctCount: int64(len(vs)), Values: []op.WorkbenchFacetBucket{}}
		if len(vs) > int(op.LimitQueryMaxFacetBuckets) {
			vs, out[i].Truncated = vs[:op.LimitQueryMaxFacetBuckets], true
		}
		for _, v := range vs {
			out[i].Values = append(out[i].Values, op.WorkbenchFacetBucket{Value: v.appendJSON(nil), Count: t.counts[i][v]})
		}
	}
	return out
}
