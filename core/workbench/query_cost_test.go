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
	digest := ""
	for i := range 10 {
		text, kind := "a rare body", "text/rare"
		res, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: fmt.Sprintf("rare-%d", i), Text: &text, ContentType: &kind})
		if err != nil {
			t.Fatal(err)
		}
		digest = res.DigestURI
	}
	is := func(field, o, value string) op.WorkbenchPredicate {
		return op.WorkbenchPredicate{Field: field, Op: o, Value: []byte(value)}
	}
	type all = []op.WorkbenchPredicate
	for _, c := range []struct {
		name string
		ps   all
		hits int
		most int
	}{
		{"an equality", all{is("logical_size", "eq", "11")}, 10, 100},
		{"in", all{is("logical_size", "in", "[11,99]")}, 10, 100},
		{"behind a common equality", all{is("generation", "eq", "1"), is("content_type", "gte", `"text/"`), is("logical_size", "eq", "11")}, 10, 1000},
		{"none there", all{is("logical_size", "eq", "99")}, 0, 10},
		{"a range", all{is("logical_size", "lt", "12")}, 10, 100},
		{"up to a value", all{is("logical_size", "lte", "11")}, 10, 100},
		{"up to the end", all{is("logical_size", "gt", "12")}, 0, 10},
		{"two bounds", all{is("logical_size", "gte", "11"), is("logical_size", "lt", "12")}, 10, 100},
		{"bounds that leave nothing", all{is("logical_size", "gt", "12"), is("logical_size", "lt", "12")}, 0, 10},
		{"another value than the common one", all{is("logical_size", "ne", "12")}, 10, 100},
		{"a range behind common ones", all{is("generation", "gte", "1"), is("content_type", "prefix", `"text/"`), is("logical_size", "lt", "12")}, 10, 1000},
		{"a rare beginning", all{is("content_type", "prefix", `"text/r"`)}, 10, 100},
		{"a range of texts", all{is("content_type", "gt", `"text/q"`), is("content_type", "lt", `"text/s"`)}, 10, 100},
		{"a beginning of a digest", all{is("body_digest_uri", "prefix", `"`+digest[:20]+`"`)}, 10, 100},
		{"one path", all{is("path", "eq", `"outputs/many/00000007"`)}, 1, 10},
		{"two paths", all{is("path", "in", `["outputs/many/00000007","outputs/many/00000009"]`)}, 2, 20},
		{"a beginning of a path", all{is("path", "prefix", `"outputs/many/0000001"`)}, 10, 50},
		{"one small workbench by a common value", all{is("workbench_id", "eq", `"wb1"`), is("generation", "eq", "1")}, 10, 100},
		{"some workbenches by a common value", all{is("workbench_id", "prefix", `"w"`), is("generation", "eq", "1")}, 10, 100},
		{"a common value in a few places", all{is("workbench_id", "eq", `"big"`), is("generation", "eq", "1"), is("path", "prefix", `"outputs/many/0000001"`)}, 10, 100},
		{"no index", all{is("path", "suffix", `"0"`)}, files/10 + 1, files + 100},
		{"a range of everything", all{is("logical_size", "gte", "11")}, files + 10, 3 * files},
	} {
		hits, looks, err := b.Looks(ctx, &op.WorkbenchSearchRequest{Predicates: c.ps})
		if err != nil || hits != c.hits {
			t.Errorf("%s: %d hits, want %d; %v", c.name, hits, c.hits, err)
		}
		if looks > c.most {
			t.Errorf("%s: %d keys and rows looked at for %d hits, want at most %d", c.name, looks, hits, c.most)
		}
	}
}
