package workbench_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Whatever predicates are parsed from, the keys that they look at hold every
// value that satisfies them (WB-24).
func FuzzPredicates(f *testing.F) {
	for _, seed := range []struct{ field, op, value, content string }{
		{"logical_size", "gte", "18446744073709551615", "text/plain"},
		{"generation", "ne", "1", "a"},
		{"content_type", "prefix", `"text/\u0000"`, "text/\x00x"},
		{"content_type", "in", `["a","b",null]`, "b"},
		{"body_digest_uri", "lt", `"sha256:0g"`, ""},
		{"path", "prefix", `"a//"`, "a"},
		{"workbench_id", "gt", `"\ud800"`, ""},
		{"producer", "eq", "null", ""},
		{"signed", "lt", "-1", ""}, {"float", "gte", "0.5", ""}, {"bytes", "prefix", `"AA"`, "\x00\x00"}, {"string", "ne", `"a"`, "b"},
		{"timestamp", "in", "[7, null]", ""}, {"boolean", "exists", "", ""}, {"null", "eq", "null", ""}, {"string", "contains", `"a"`, "ba"},
	} {
		f.Add(seed.field, seed.op, []byte(seed.value), seed.content, uint64(7))
	}
	f.Fuzz(func(t *testing.T, field, o string, value []byte, content string, n uint64) {
		p := op.WorkbenchPredicate{Field: field, Op: o, Value: value}
		if inv := (&op.WorkbenchSearchRequest{Predicates: []op.WorkbenchPredicate{p}}).Validate(); inv != nil {
			return
		}
		if err := workbench.PredicateCovers(p, content, n); err != nil {
			t.Error(err)
		}
	})
}
