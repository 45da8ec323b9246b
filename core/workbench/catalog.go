package workbench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

var (
	stringOperators = []string{"eq", "ne", "in", "lt", "lte", "gt", "gte", "prefix", "suffix", "contains", "exists", "not_exists"}
	numberOperators = []string{"eq", "ne", "in", "lt", "lte", "gt", "gte", "exists", "not_exists"}
)

const maxFieldID = 128

// Catalog lists the fields that queries of a scope may name. The fields of a
// workbench that is there are listed also while it holds no file.
func (w *Workbench) Catalog(ctx context.Context, req *op.WorkbenchCatalogRequest) (*op.WorkbenchCatalogResult, error) {
	s, err := parseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if req.FieldPrefix != nil {
		if prefix = *req.FieldPrefix; !legalFieldID(prefix) {
			return nil, invalid("$.field_prefix", "must be 1 to 128 letters, digits, dots, hyphens or underscores")
		}
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	leave, err := w.queries.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	at := crawl{tool: "catalog"}
	q := query{t: t, scope: s, read: func(ctx context.Context, fn func(v *kv.View) error) error { return w.readCrawl(ctx, t, &at, nil, fn) }}
	there := false
	err = q.read(ctx, func(v *kv.View) error {
		if s.id != "" {
			_, ok, err := t.see(v, s.id)
			there = ok
			return err
		}
		lower, upper := keys.SpaceBounds(keys.SpaceWorkbenchMarker, t.root.ID())
		it := v.Scan(lower, upper, kv.ScanOptions{Limit: 1})
		defer func() { _ = it.Close() }()
		there = it.Next()
		return it.Err()
	})
	if err != nil {
		return nil, err
	}
	a := &op.WorkbenchCatalogResult{Path: w.present(s), CatalogEmpty: true, ChildCatalogs: []string{}}
	c := &a.Catalog
	c.Filterable, c.Sortable, c.Facetable, c.Facets = []op.WorkbenchFilterGroup{}, []string{}, []string{}, []string{}
	if !there {
		return a, nil
	}
	fields, err := q.customFields(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, f := range queryFields {
		if strings.HasPrefix(f.id, prefix) {
			fields = append(fields, column{id: f.id, kind: f.kind})
		}
	}
	slices.SortFunc(fields, func(a, b column) int { return strings.Compare(a.id, b.id) })
	var numbers, strs []string
	for _, f := range fields {
		c.Sortable, c.Facetable = append(c.Sortable, f.id), append(c.Facetable, f.id)
		if textual(f.kind) {
			strs = append(strs, f.id)
		} else {
			numbers = append(numbers, f.id)
		}
	}
	// The groups are in the order of their operators: exists sorts before prefix.
	if numbers != nil {
		c.Filterable = append(c.Filterable, op.WorkbenchFilterGroup{Operators: numberOperators, Fields: numbers})
	}
	if strs != nil {
		c.Filterable = append(c.Filterable, op.WorkbenchFilterGroup{Operators: stringOperators, Fields: strs})
	}
	a.CatalogEmpty = false
	return a, nil
}

// customFields finds the custom fields of the scope whose ids begin with a prefix:
// in one workbench by its files, in all of them by the first rows of each field in
// the index.
//
// Errors: InvalidState for a field of several types, InvalidArguments when there
// are too many fields.
func (q *query) customFields(ctx context.Context, prefix string) (columns, error) {
	found := make(map[string]*kinds)
	add := func(id string) (*kinds, error) {
		ks := found[id]
		if ks == nil {
			if len(found) >= int(op.LimitCatalogMaxCustomFields) {
				return nil, invalid("$.field_prefix", fmt.Sprintf("must leave at most %d custom fields in the scope; narrow it", op.LimitCatalogMaxCustomFields))
			}
			ks = new(kinds)
			found[id] = ks
		}
		return ks, nil
	}
	some, err := q.hasCustomFields(ctx)
	switch {
	case err != nil || !some:
		return nil, err
	case q.scope.id != "":
		err = q.each(ctx, func(r *row) error {
			for i := range r.file.Index {
				if v := &r.file.Index[i]; strings.HasPrefix(v.Field, prefix) {
					ks, err := add(v.Field)
					if err != nil {
						return err
					}
					ks[v.Value.Kind] = true
				}
			}
			return nil
		}, nil)
	default:
		err = q.indexedFields(ctx, prefix, add)
	}
	if err != nil {
		return nil, err
	}
	out := make(columns, 0, len(found))
	for _, id := range slices.Sorted(maps.Keys(found)) {
		kind, ok := found[id].one()
		if !ok {
			return nil, mixed(id)
		}
		out = append(out, column{id: id, kind: kind})
	}
	return out, nil
}

// hasCustomFields reports whether any file of the root has custom fields. Most
// roots have none, and then their files need not be looked at.
func (q *query) hasCustomFields(ctx context.Context) (some bool, err error) {
	lower, upper := keys.SpaceBounds(keys.SpaceIndexCustom, q.t.root.ID())
	err = q.read(ctx, func(v *kv.View) error {
		it := v.Scan(lower, upper, kv.ScanOptions{Limit: 1})
		defer func() { _ = it.Close() }()
		some = it.Next()
		return it.Err()
	})
	return some, err
}

// someFields is how many custom fields are looked up at one time.
const someFields = 256

// indexedFields is customFields by the index: it skips from field to field.
func (q *query) indexedFields(ctx context.Context, prefix string, add func(id string) (*kinds, error)) error {
	lower := append(keys.AppendPrefix(nil, keys.SpaceIndexCustom, q.t.root.ID()), openText([]byte(prefix))...)
	upper := keys.AppendEnd(nil, lower)
	for {
		var ids []string
		err := q.read(ctx, func(v *kv.View) error {
			it := v.Scan(lower, upper, kv.ScanOptions{})
			defer func() { _ = it.Close() }()
			for ok := it.SeekGE(lower); ok && len(ids) < someFields; ok = it.SeekGE(lower) {
				id, _, err := keys.CutIndexCustomField(it.Key())
				if err != nil {
					return corrupt(err)
				}
				ids = append(ids, id)
				lower = keys.AppendEnd(nil, keys.AppendIndexCustomField(nil, q.t.root.ID(), id))
			}
			return it.Err()
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		found, err := q.kindsOf(ctx, ids, q.scope)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if !found[i].any() {
				continue
			}
			ks, err := add(id)
			if err != nil {
				return err
			}
			*ks = found[i]
		}
	}
}

func legalFieldID(id string) bool {
	if id == "" || len(id) > maxFieldID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return true
}
