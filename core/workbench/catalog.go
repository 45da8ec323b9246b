package workbench

import (
	"context"
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
	there := false
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
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
	var numbers, strs []string
	for _, f := range queryFields {
		if !strings.HasPrefix(f.id, prefix) {
			continue
		}
		c.Sortable, c.Facetable = append(c.Sortable, f.id), append(c.Facetable, f.id)
		if f.kind == kindString {
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
