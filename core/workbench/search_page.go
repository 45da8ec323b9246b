package workbench

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// place is where a file is.
type place struct{ id, path string }

func (p place) compare(q place) int {
	return cmp.Or(strings.Compare(p.id, q.id), jail.Compare(p.path, q.path))
}

// hit is a match with its place in the order of a search.
type hit struct {
	place
	order []scalar
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
	return a.compare(b.place)
}

// setOrder fills in what the row has of the sort keys.
func (h *hit) setOrder(cs columns, r *row, order []sortKey) {
	h.place, h.order = place{r.id, r.path}, h.order[:0]
	for _, k := range order {
		h.order = append(h.order, cs.value(r, k.field))
	}
}

func (h *hit) size() int {
	n := 128 + len(h.path)
	for _, v := range h.order {
		n += 32 + len(v.Text)
	}
	return n
}

// A search keeps not only the matches of its page but those of many pages that
// follow, so that these need not look for them again: this many, in that much
// memory.
const (
	windowHits  = 4096
	windowBytes = 1 << 20
)

// found is what a search knows of its matches. It is not changed any more.
type found struct {
	count  int64
	facets []op.WorkbenchFacet
	// window is matches in their order, the first of all or those after a place;
	// whole says that no others follow.
	after  *place
	window []place
	whole  bool
}

// page returns the next matches after a place, and whether there are others after
// them; not ok when the window does not tell.
func (f *found) page(after *place, limit int) (page []place, more, ok bool) {
	if f == nil {
		return nil, false, false
	}
	rest := f.window
	if after != nil && (f.after == nil || *f.after != *after) {
		i := slices.Index(f.window, *after)
		if i < 0 {
			return nil, false, false
		}
		rest = f.window[i+1:]
	}
	if len(rest) > limit {
		return rest[:limit], true, true
	}
	return rest, false, f.whole
}

// size is about how much memory it takes.
func (f *found) size() int {
	n := 256
	for _, p := range f.window {
		n += 48 + len(p.path)
	}
	for i := range f.facets {
		for _, v := range f.facets[i].Values {
			n += 48 + len(v.Value)
		}
	}
	return n
}

// window collects the first hits of many in their order. It is a heap with the
// last of them on top.
type window struct {
	order []sortKey
	least int // so many are kept, whatever memory they take
	hits  []*hit
	bytes int
	// full says that hits were left out.
	full bool
}

func (w *window) Len() int           { return len(w.hits) }
func (w *window) Less(i, j int) bool { return compareHits(w.order, w.hits[i], w.hits[j]) > 0 }
func (w *window) Swap(i, j int)      { w.hits[i], w.hits[j] = w.hits[j], w.hits[i] }
func (w *window) Push(x any)         { w.hits = append(w.hits, x.(*hit)) }

func (w *window) Pop() any {
	h := w.hits[len(w.hits)-1]
	w.hits = w.hits[:len(w.hits)-1]
	return h
}

// add takes a hit, or leaves it out when there are enough smaller ones.
func (w *window) add(h *hit) (kept bool) {
	if w.full && compareHits(w.order, h, w.hits[0]) > 0 {
		return false
	}
	heap.Push(w, h)
	w.bytes += h.size()
	for len(w.hits) > w.least && (len(w.hits) > windowHits || w.bytes > windowBytes) {
		w.bytes -= heap.Pop(w).(*hit).size()
		w.full = true
	}
	return true
}

// places empties the window in order.
func (w *window) places() []place {
	out := make([]place, len(w.hits))
	slices.SortFunc(w.hits, func(a, b *hit) int { return compareHits(w.order, a, b) })
	for i, h := range w.hits {
		out[i] = h.place
	}
	return out
}

// run looks for the matches, and returns a page of them. What is known of them
// already is not counted again.
func (s *search) run(ctx context.Context) (page []place, more bool, err error) {
	s.w.pause("search.run")
	next := &found{after: s.after}
	counting := s.have == nil
	if !counting {
		next.count, next.facets = s.have.count, s.have.facets
	}
	natural := len(s.order) == 0
	var after *hit
	if s.after != nil {
		after = &hit{place: *s.after}
	}
	if after != nil && !natural {
		err := s.read(ctx, func(v *kv.View) error {
			r, err := s.t.row(v, *s.after)
			if err == nil {
				after.setOrder(s.columns, r, s.order)
			}
			return err
		})
		if err != nil {
			return nil, false, err
		}
	}
	counts := newTallies(s.columns, s.facets)
	first := window{order: s.order, least: s.limit + 1}
	q := query{t: s.t, scope: s.scope, columns: s.columns, predicates: s.predicates, read: s.read, bare: !s.readsRecords(counting)}
	if natural && !counting {
		q.after = s.after
	}
	h := new(hit)
	err = q.each(ctx, func(r *row) error {
		if counting {
			next.count++
			if err := counts.add(r); err != nil {
				return err
			}
		}
		// In the scope's own order, nothing precedes what was seen already.
		if natural && q.inOrder && first.full {
			if !counting {
				return errEnough
			}
			return nil
		}
		if h.setOrder(s.columns, r, s.order); after != nil && compareHits(s.order, h, after) <= 0 {
			return nil
		}
		if first.add(h) {
			h = new(hit)
		}
		return nil
	}, func(v *kv.View) error {
		if counting {
			next.facets = counts.facets()
		}
		next.window, next.whole = first.places(), !first.full
		s.have = next
		page, more, _ = next.page(s.after, s.limit)
		return s.show(v, page)
	})
	return page, more, err
}

// readsRecords reports whether more of the matches is looked at than their
// places.
func (s *search) readsRecords(counting bool) bool {
	for _, k := range s.order {
		if k.field.inRecord() {
			return true
		}
	}
	return counting && slices.ContainsFunc(s.facets, field.inRecord)
}
