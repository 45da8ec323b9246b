package workbench_test

import (
	"fmt"
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// What a query looks at is in proportion to the candidates of its best
// predicate, and never much more than reading its scope would be (WB-25).
func TestQueriesLookAtWhatTheirBestPredicateHolds(t *testing.T) {
	const files = 100_000
	b := newBench(t)
	if err := b.Fill(ctx, "big", "outputs/many", files); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		b.put(fmt.Sprintf("rare-%d", i), "a rare body")
	}
	rare := func(o, value string) op.WorkbenchPredicate {
		return op.WorkbenchPredicate{Field: "logical_size", Op: o, Value: []byte(value)}
	}
	is := func(field, value string) op.WorkbenchPredicate {
		return op.WorkbenchPredicate{Field: field, Op: "eq", Value: []byte(value)}
	}
	for _, c := range []struct {
		name  string
		ps    []op.WorkbenchPredicate
		hits  int
		least int
		most  int
	}{
		{"an equality", []op.WorkbenchPredicate{rare("eq", "11")}, 10, 10, 200},
		{"in", []op.WorkbenchPredicate{rare("in", "[11,99]")}, 10, 10, 200},
		{"behind a common equality", []op.WorkbenchPredicate{is("generation", "1"), is("content_type", `"text/plain; charset=utf-8"`), rare("eq", "11")}, 10, 10, 1000},
		{"none there", []op.WorkbenchPredicate{rare("eq", "99")}, 0, 0, 10},
		{"one path", []op.WorkbenchPredicate{is("path", `"outputs/many/00000007"`)}, 1, 1, 10},
		{"one small workbench by a common value", []op.WorkbenchPredicate{is("workbench_id", `"wb1"`), is("generation", "1")}, 10, 10, 200},
		{"no index", []op.WorkbenchPredicate{rare("gt", "11")}, files, files, files + 10},
	} {
		hits, looks, err := b.Looks(ctx, &op.WorkbenchSearchRequest{Predicates: c.ps})
		if err != nil || hits != c.hits {
			t.Errorf("%s: %d hits, want %d; %v", c.name, hits, c.hits, err)
		}
		if looks < c.least || looks > c.most {
			t.Errorf("%s: %d keys and rows looked at for %d hits, want at most %d", c.name, looks, hits, c.most)
		}
	}
}
