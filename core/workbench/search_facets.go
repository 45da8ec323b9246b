package workbench

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

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
