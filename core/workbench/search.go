package workbench

import (
	"context"
	"crypto/sha256"
	"errors"
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

// Search gives one page of the files that satisfy all predicates, with the count
// of all of them and, when asked for, facets over all of them. All pages show the
// revision of the first one.
func (w *Workbench) Search(ctx context.Context, req *op.WorkbenchSearchRequest) (*op.WorkbenchSearchResult, error) {
	s, err := parseSearch(req)
	if err != nil {
		return nil, err
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
	leave, err := w.queries.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.w, s.t = w, t
	s.read = func(ctx context.Context, fn func(v *kv.View) error) error { return w.readCrawl(ctx, t, &c, nil, fn) }
	key := searchKey{t.root.ID(), c.revision, digest}
	if req.Cursor != nil {
		id, path, _ := strings.Cut(string(c.anchor), "\x00")
		s.after = &place{id, path}
		s.have = w.searches.get(key)
	}
	page, more, ok := s.have.page(s.after, s.limit)
	if ok {
		err = s.read(ctx, func(v *kv.View) error { return s.show(v, page) })
	} else {
		page, more, err = s.run(ctx)
	}
	if err != nil {
		return nil, err
	}
	a := &op.WorkbenchSearchResult{Path: w.present(s.scope), MatchCount: s.have.count, Matches: s.shown, Facets: s.have.facets}
	if more {
		last := page[len(page)-1]
		next := w.sealCrawl(t, "search", digest, c, []byte(last.id+"\x00"+last.path))
		a.NextCursor, a.Truncated = &next, true
		key.revision = c.revision
		w.searches.put(key, s.have)
	}
	return a, nil
}

// search is one call of Search.
type search struct {
	w          *Workbench
	t          *tenant
	scope      scope
	columns    columns
	predicates []predicate
	fields     []field
	facets     []field
	order      []sortKey
	limit      int
	read       func(ctx context.Context, fn func(v *kv.View) error) error

	after *place // where the page before ended
	have  *found // what is known of the matches
	shown []op.WorkbenchSearchMatch
}

func parseSearch(req *op.WorkbenchSearchRequest) (*search, error) {
	s := &search{limit: int(op.LimitSearchDefaultLimit), shown: []op.WorkbenchSearchMatch{}}
	var err error
	if s.scope, err = parseScope(req.ID, req.Section, req.Path); err != nil {
		return nil, err
	}
	if s.predicates, err = s.columns.parsePredicates(req.Predicates); err != nil {
		return nil, err
	}
	if s.fields, err = s.columns.fields("$.fields", req.Fields, int(op.LimitQueryMaxFields)); err != nil {
		return nil, err
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(s.columns.id(a), s.columns.id(b)) })
	if s.facets, err = s.columns.fields("$.facets", req.Facets, int(op.LimitQueryMaxFacets)); err != nil {
		return nil, err
	}
	if s.order, err = s.columns.parseSort(req.Sort); err != nil {
		return nil, err
	}
	if req.Limit != nil {
		s.limit = int(*req.Limit)
	}
	if s.limit < 1 || s.limit > int(op.LimitSearchMaxLimit) {
		return nil, invalid("$.limit", "must be from 1 to 10")
	}
	return s, nil
}

func (cs *columns) parseSort(keys []op.WorkbenchSort) ([]sortKey, error) {
	ids := make([]string, len(keys))
	for i := range keys {
		ids[i] = keys[i].Field
	}
	fs, err := cs.fields("$.sort", ids, int(op.LimitQueryMaxSortKeys))
	if err != nil {
		return nil, err
	}
	out := make([]sortKey, len(fs))
	for i, f := range fs {
		out[i] = sortKey{f, keys[i].Direction != nil && *keys[i].Direction == "desc"}
	}
	return out, nil
}

// show reads the rows of a page.
func (s *search) show(v *kv.View, page []place) error {
	for _, p := range page {
		m := op.WorkbenchSearchMatch{WorkbenchID: p.id, Path: s.w.root.Path(p.id, p.path), Values: op.RawJSON("{}")}
		if len(s.fields) > 0 {
			r, err := s.t.row(v, p)
			if err != nil {
				return err
			}
			m.Values = s.columns.appendValues(nil, r, s.fields)
		}
		section, relative := jail.Split(p.path)
		m.Section, m.RelativePath = child(section, relative, new(string), new(string))
		s.shown = append(s.shown, m)
	}
	return nil
}

// row reads a match again, which is still there at the revision of the crawl.
func (t *tenant) row(v *kv.View, p place) (*row, error) {
	in, ok, err := t.see(v, p.id)
	if err != nil {
		return nil, err
	}
	r := &row{id: p.id, path: p.path}
	if ok {
		r.file, ok, err = t.file(v, in, p.path)
	}
	if err == nil && !ok {
		err = corrupt(errors.New("workbench: a match of a crawl is not at its revision (WB-28)"))
	}
	return r, err
}

// appendValues writes an object of fields, which are sorted; what is missing is
// left out.
func (cs columns) appendValues(dst []byte, r *row, fs []field) []byte {
	dst = append(dst, '{')
	for _, f := range fs {
		v := cs.value(r, f)
		if v == missing {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = appendScalar(append(append(append(dst, '"'), cs.id(f)...), `":`...), v)
	}
	return append(dst, '}')
}
