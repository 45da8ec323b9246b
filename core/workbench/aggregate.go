package workbench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// quantity is one thing that an aggregate computes.
type quantity struct {
	name, op string
	field    field
	rows     bool // count without a field
	member   string
}

// check refuses a measure of a field whose type it makes no sense of. A field that
// is nothing but null in the scope has none.
func (m *quantity) check(cs columns) error {
	if m.rows || m.op != "sum" && m.op != "avg" {
		return nil
	}
	if kind := cs.kind(m.field); !numeric(kind) && kind != record.KindNull {
		return invalid(m.member, "must be a numeric field for "+m.op)
	}
	return nil
}

// group is the rows of one key, and what was computed of them so far.
type group struct {
	key  []scalar
	sums []accumulator
}

// accumulator is the state of a measure.
type accumulator struct {
	count    uint64
	total    total
	min, max scalar
}

func (a *accumulator) add(cs columns, m *quantity, r *row) {
	if m.rows {
		a.count++
		return
	}
	v := cs.value(r, m.field)
	if v.Kind == record.KindNull || v == missing {
		return
	}
	if a.count == 0 || compareScalars(v, a.min) < 0 {
		a.min = v
	}
	if a.count == 0 || compareScalars(v, a.max) > 0 {
		a.max = v
	}
	a.count++
	a.total.add(v)
}

func (a *accumulator) result(m *quantity) (scalar, error) {
	switch {
	case m.op == "count":
		return record.Unsigned(a.count), nil
	case a.count == 0:
		return scalar{}, nil
	case m.op == "min":
		return a.min, nil
	case m.op == "max":
		return a.max, nil
	}
	s, ok := a.total.sum()
	if m.op == "avg" {
		s, ok = a.total.mean(a.count)
	}
	if !ok {
		return scalar{}, fault.New(op.ReasonWBInvalidState, "The "+m.op+" "+m.name+" is more than its type holds; narrow the scope.")
	}
	return s, nil
}

// Aggregate computes measures over the files that satisfy all predicates, in
// groups, at one revision. Groups beyond the limit are counted only.
func (w *Workbench) Aggregate(ctx context.Context, req *op.WorkbenchAggregateRequest) (*op.WorkbenchAggregateResult, error) {
	s, err := parseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, err
	}
	var cs columns
	ps, err := cs.parsePredicates(req.Predicates)
	if err != nil {
		return nil, err
	}
	by, err := cs.fields("$.group_by", req.GroupBy, int(op.LimitQueryMaxGroupKeys))
	if err != nil {
		return nil, err
	}
	ms, err := cs.parseMeasures(req.Measures, req.GroupBy)
	if err != nil {
		return nil, err
	}
	order, err := parseGroupSort(req.Sort, req.GroupBy, ms)
	if err != nil {
		return nil, err
	}
	limit := int(op.LimitAggregateDefaultLimit)
	if req.Limit != nil {
		limit = int(*req.Limit)
	}
	if limit < 1 || limit > int(op.LimitAggregateMaxLimit) {
		return nil, invalid("$.limit", "must be from 1 to 100")
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
	a := &op.WorkbenchAggregateResult{Path: w.present(s), Groups: []op.WorkbenchAggregateGroup{}}
	groups := make(map[[op.LimitQueryMaxGroupKeys]scalar]*group)
	open := func(k [op.LimitQueryMaxGroupKeys]scalar) *group {
		g := &group{key: slices.Clone(k[:len(by)]), sums: make([]accumulator, len(ms))}
		groups[k] = g
		return g
	}
	if len(by) == 0 {
		open([op.LimitQueryMaxGroupKeys]scalar{})
	}
	c := crawl{tool: "aggregate"}
	q := query{t: t, scope: s, columns: cs, predicates: ps, read: func(ctx context.Context, fn func(v *kv.View) error) error { return w.readCrawl(ctx, t, &c, nil, fn) }}
	if err := q.resolve(ctx); err != nil {
		return nil, err
	}
	for i := range ms {
		if err := ms[i].check(cs); err != nil {
			return nil, err
		}
	}
	var kept distinct
	err = q.each(ctx, func(r *row) error {
		a.InputMatchCount++
		var k [op.LimitQueryMaxGroupKeys]scalar
		size := 256 + 128*len(ms)
		for i, f := range by {
			if k[i] = cs.value(r, f); k[i] == missing {
				k[i] = scalar{} // the group of null
			}
			size += len(k[i].Text)
		}
		g := groups[k]
		if g == nil {
			if !kept.room(len(groups), size) {
				return invalid("$.group_by", "must give fewer groups; narrow the scope: "+kept.rule())
			}
			g = open(k)
		}
		for i := range ms {
			g.sums[i].add(cs, &ms[i], r)
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	a.RowCount, a.GroupCount = a.InputMatchCount, int64(len(groups))
	return a, fillGroups(a, groups, cs, by, ms, order, limit)
}

// fillGroups sorts the groups and writes the first of them.
func fillGroups(a *op.WorkbenchAggregateResult, groups map[[op.LimitQueryMaxGroupKeys]scalar]*group, cs columns, by []field, ms []quantity, order []groupSort, limit int) error {
	type line struct{ key, values []scalar }
	lines := make([]line, 0, len(groups))
	for _, g := range groups {
		l := line{g.key, make([]scalar, len(ms))}
		for i := range ms {
			var err error
			if l.values[i], err = g.sums[i].result(&ms[i]); err != nil {
				return err
			}
		}
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(x, y line) int {
		for _, o := range order {
			p, q := x.key, y.key
			if o.measure {
				p, q = x.values, y.values
			}
			if c := compareScalars(p[o.at], q[o.at]); c != 0 {
				if o.desc {
					return -c
				}
				return c
			}
		}
		return slices.CompareFunc(x.key, y.key, compareScalars)
	})
	if len(lines) > limit {
		lines, a.Truncated = lines[:limit], true
	}
	keyNames, names := make([]string, len(by)), make([]string, len(ms))
	for i, f := range by {
		keyNames[i] = cs.id(f)
	}
	for i := range ms {
		names[i] = ms[i].name
	}
	for _, l := range lines {
		a.Groups = append(a.Groups, op.WorkbenchAggregateGroup{Key: appendObject(keyNames, l.key), Values: appendObject(names, l.values)})
	}
	return nil
}

// appendObject writes an object with its members sorted by name.
func appendObject(names []string, values []scalar) []byte {
	at := make([]int, len(names))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	dst := []byte{'{'}
	for n, i := range at {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(canon.AppendString(dst, names[i]), ':')
		dst = appendScalar(dst, values[i])
	}
	return append(dst, '}')
}

func (cs *columns) parseMeasures(in []op.WorkbenchMeasure, groupBy []string) ([]quantity, error) {
	if len(in) < 1 || len(in) > int(op.LimitQueryMaxMeasures) {
		return nil, invalid("$.measures", fmt.Sprintf("must be 1 to %d", op.LimitQueryMaxMeasures))
	}
	out := make([]quantity, 0, len(in))
	for i := range in {
		at := fmt.Sprintf("$.measures[%d]", i)
		m := quantity{name: in[i].Name, op: in[i].Op}
		if !legalFieldID(m.name) {
			return nil, invalid(at+".name", "must be 1 to 128 letters, digits, dots, hyphens or underscores")
		}
		if slices.Contains(groupBy, m.name) || slices.ContainsFunc(out, func(o quantity) bool { return o.name == m.name }) {
			return nil, invalid(at+".name", "must not be the name of another measure or of a group field")
		}
		if in[i].Field == nil {
			if m.rows = m.op == "count"; !m.rows {
				return nil, invalid(at+".field", "must be given for "+m.op)
			}
		} else {
			var err error
			m.member = at + ".field"
			if m.field, err = cs.field(m.member, *in[i].Field); err != nil {
				return nil, err
			}
			if m.field < fieldCustom {
				if err := m.check(*cs); err != nil {
					return nil, err
				}
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// groupSort is a sort key of groups: a position among the group fields or among
// the measures.
type groupSort struct {
	measure bool
	at      int
	desc    bool
}

func parseGroupSort(in []op.WorkbenchSort, groupBy []string, ms []quantity) ([]groupSort, error) {
	if len(in) > int(op.LimitQueryMaxSortKeys) {
		return nil, invalid("$.sort", fmt.Sprintf("must be at most %d fields", op.LimitQueryMaxSortKeys))
	}
	out := make([]groupSort, 0, len(in))
	for i := range in {
		at := fmt.Sprintf("$.sort[%d].field", i)
		key := slices.Index(groupBy, in[i].Field)
		value := slices.IndexFunc(ms, func(m quantity) bool { return m.name == in[i].Field })
		if key < 0 && value < 0 {
			return nil, invalid(at, "must be a group field or the name of a measure")
		}
		g := groupSort{measure: key < 0, at: max(key, value), desc: in[i].Direction != nil && *in[i].Direction == "desc"}
		if slices.ContainsFunc(out, func(o groupSort) bool { return o.at == g.at && o.measure == g.measure }) {
			return nil, invalid(at, "must not be repeated")
		}
		out = append(out, g)
	}
	return out, nil
}
