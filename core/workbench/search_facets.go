package workbench

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// tallies count the values of facets. What is missing is no value.
type tallies struct {
	columns columns
	fields  []field
	counts  []map[scalar]int64
	distinct
}

func newTallies(cs columns, fs []field) *tallies {
	t := &tallies{columns: cs, fields: fs, counts: make([]map[scalar]int64, len(fs))}
	for i := range t.counts {
		t.counts[i] = make(map[scalar]int64)
	}
	return t
}

func (t *tallies) add(r *row) error {
	for i, f := range t.fields {
		v := t.columns.value(r, f)
		if v == missing {
			continue
		}
		n, known := t.counts[i][v]
		if !known && !t.room(len(t.counts[i]), 96+len(v.Text)) {
			return invalid(fmt.Sprintf("$.facets[%d]", i), "must have fewer distinct values in the scope; narrow it: "+t.rule())
		}
		t.counts[i][v] = n + 1
	}
	return nil
}

// distinct bounds what a query keeps of values that differ (WB-26).
type distinct struct{ bytes int }

// room takes room for one more value or group, beside n others, of some size.
func (d *distinct) room(n, size int) bool {
	d.bytes += size
	return n < int(op.LimitQueryMaxDistinct) && d.bytes <= int(op.LimitQueryMaxDistinctBytes)
}

func (d *distinct) rule() string {
	return fmt.Sprintf("a query counts at most %d of them, and %d MiB", op.LimitQueryMaxDistinct, op.LimitQueryMaxDistinctBytes>>20)
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
		out[i] = op.WorkbenchFacet{Field: t.columns.id(f), DistinctCount: int64(len(vs)), Values: []op.WorkbenchFacetBucket{}}
		if len(vs) > int(op.LimitQueryMaxFacetBuckets) {
			vs, out[i].Truncated = vs[:op.LimitQueryMaxFacetBuckets], true
		}
		for _, v := range vs {
			out[i].Values = append(out[i].Values, op.WorkbenchFacetBucket{Value: appendScalar(nil, v), Count: t.counts[i][v]})
		}
	}
	return out
}
