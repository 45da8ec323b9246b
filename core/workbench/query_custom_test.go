package workbench_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// indexed stores a file with custom fields, given as field:type:value.
func (b *bench) indexed(id, path string, values ...string) {
	b.t.Helper()
	req := &op.WorkbenchPutArtifactRequest{ID: id, Path: path, Text: ptr(path)}
	for _, v := range values {
		part := strings.SplitN(v, ":", 3)
		req.IndexValues = append(req.IndexValues, op.WorkbenchIndexValue{Field: part[0], Type: part[1], Value: raw(part[2])})
	}
	if _, err := b.PutArtifact(ctx, req); err != nil {
		b.t.Fatal(err)
	}
}

// matches are the paths that satisfy one predicate.
func (b *bench) matches(field, o, value string) string {
	b.t.Helper()
	p := op.WorkbenchPredicate{Field: field, Op: o}
	if value != "" {
		p.Value = raw(value)
	}
	a, err := b.Search(ctx, &op.WorkbenchSearchRequest{Predicates: []op.WorkbenchPredicate{p}})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range a.Matches {
		out = append(out, m.WorkbenchID+"/"+*m.RelativePath)
	}
	return strings.Join(out, " ")
}

func TestOperandsHaveTheTypeOfTheirField(t *testing.T) {
	b := newBench(t)
	b.indexed("w", "1", "b:boolean:false", "s:signed:-5", "u:unsigned:5", "f:float:0.5", "t:timestamp:1000", "y:bytes:\"_-8\"", "x:string:\"one\"", "n:null:null")
	b.indexed("w", "2", "b:boolean:true", "s:signed:7", "u:unsigned:18446744073709551615", "f:float:2", "t:timestamp:-1", "y:bytes:\"AA\"", "x:string:\"two\"")
	b.indexed("w", "3", "s:null:null")
	for _, c := range []struct{ field, op, value, want string }{
		{"b", "eq", "true", "w/2"}, {"b", "lt", "true", "w/1"}, {"b", "ne", "true", "w/1"},
		{"s", "eq", "7", "w/2"}, {"s", "gt", "-6", "w/1 w/2"}, {"s", "lte", "-5", "w/1"}, {"s", "in", "[-5, 7]", "w/1 w/2"}, {"s", "eq", "null", "w/3"},
		{"s", "ne", "7", "w/1 w/3"}, {"s", "exists", "", "w/1 w/2 w/3"}, {"s", "not_exists", "", ""}, {"s", "in", "[null, 7]", "w/2 w/3"},
		{"u", "gt", "5", "w/2"}, {"u", "eq", "18446744073709551615", "w/2"}, {"u", "not_exists", "", "w/3"},
		{"f", "eq", "2", "w/2"}, {"f", "gte", "0.5", "w/1 w/2"}, {"f", "lt", "1e0", "w/1"},
		{"t", "lt", "0", "w/2"}, {"t", "eq", "1000", "w/1"},
		{"y", "eq", `"_-8"`, "w/1"}, {"y", "prefix", `"_w"`, "w/1"}, {"y", "contains", `"AA"`, "w/2"},
		{"x", "suffix", `"o"`, "w/2"}, {"x", "prefix", `"o"`, "w/1"}, {"x", "gt", `"one"`, "w/2"},
		{"n", "exists", "null", "w/1"}, {"n", "eq", "null", "w/1"}, {"n", "eq", "5", ""}, {"n", "ne", "5", "w/1"}, {"n", "lt", `"a"`, ""},
	} {
		if got := b.matches(c.field, c.op, c.value); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.field, c.op, c.value, got, c.want)
		}
	}
	for _, c := range []struct{ field, op, value string }{
		{"b", "eq", "1"}, {"s", "eq", "1.5"}, {"s", "eq", "9223372036854775808"}, {"s", "eq", `"7"`}, {"u", "gt", "-1"}, {"f", "eq", "9007199254740993"},
		{"t", "eq", `"1970"`}, {"y", "eq", `"=="`}, {"x", "eq", "1"}, {"x", "eq", `""`}, {"s", "prefix", "1"}, {"s", "in", "[7, 7]"}, {"none", "eq", "1"}, {"a b", "eq", "1"},
	} {
		if got := b.matches(c.field, c.op, c.value); !strings.HasPrefix(got, "WB_INVALID_ARGUMENTS: $.predicates[0].") {
			t.Errorf("%s %s %s: %q", c.field, c.op, c.value, got)
		}
	}
	// Nobody's file has the field in this scope, others' have.
	a, err := b.Search(ctx, &op.WorkbenchSearchRequest{ID: ptr("v"), Predicates: []op.WorkbenchPredicate{{Field: "x", Op: "eq", Value: raw(`"one"`)}}})
	if err != nil || a.MatchCount != 0 {
		t.Error(a, err)
	}
}

func TestAFieldOfSeveralTypesIsRefused(t *testing.T) {
	b := newBench(t)
	b.indexed("w1", "a", "f:signed:1", "ok:boolean:true")
	b.indexed("w2", "a", "f:string:\"x\"", "ok:null:null")
	mixed := "WB_INVALID_STATE: The custom field f has values of several types"
	if got := b.matches("f", "eq", "1"); !strings.HasPrefix(got, mixed) {
		t.Error(got)
	}
	for _, id := range []*string{nil, ptr("w1"), ptr("w2")} {
		_, aggregated := b.Aggregate(ctx, &op.WorkbenchAggregateRequest{ID: id, GroupBy: []string{"f"}, Measures: []op.WorkbenchMeasure{{Name: "n", Op: "count"}}})
		_, searched := b.Search(ctx, &op.WorkbenchSearchRequest{ID: id, Facets: []string{"f"}})
		_, listed := b.Catalog(ctx, &op.WorkbenchCatalogRequest{ID: id})
		for _, err := range []error{aggregated, searched, listed} {
			if id == nil && (err == nil || !strings.HasPrefix(err.Error(), mixed)) || id != nil && err != nil {
				t.Error(id, err)
			}
		}
	}
	if c, err := b.Catalog(ctx, &op.WorkbenchCatalogRequest{FieldPrefix: ptr("o")}); err != nil || len(c.Catalog.Sortable) != 1 {
		t.Error(c, err)
	}
}

func TestMeasuresOfCustomFields(t *testing.T) {
	b := newBench(t)
	b.indexed("w", "a", "s:signed:-9223372036854775808", "u:unsigned:18446744073709551615", "f:float:1e308", "g:string:\"x\"", "t:timestamp:5", "n:null:null")
	b.indexed("w", "b", "s:signed:5", "u:unsigned:0", "f:float:-1e308", "g:string:\"x\"", "t:timestamp:9")
	b.indexed("w", "c", "s:signed:1", "u:unsigned:0", "f:float:0.1", "t:timestamp:7", "n:null:null")
	b.indexed("w", "d")
	run := func(o, field string, by ...string) string {
		a, err := b.Aggregate(ctx, &op.WorkbenchAggregateRequest{GroupBy: by, Measures: []op.WorkbenchMeasure{{Name: "m", Op: o, Field: &field}}})
		if err != nil {
			return err.Error()
		}
		valid(t, a)
		var out []string
		for _, g := range a.Groups {
			out = append(out, string(g.Key)+string(g.Values))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ op, field, by, want string }{
		{"sum", "s", "", `{}{"m":-9223372036854775802}`}, {"avg", "s", "", `{}{"m":-3.0744573456182584e+18}`}, {"min", "s", "", `{}{"m":-9223372036854775808}`},
		{"sum", "u", "", `{}{"m":18446744073709551615}`}, {"max", "u", "", `{}{"m":18446744073709551615}`}, {"sum", "f", "", `{}{"m":0.1}`},
		{"count", "f", "", `{}{"m":3}`}, {"max", "t", "", `{}{"m":9}`}, {"min", "g", "", `{}{"m":"x"}`}, {"sum", "n", "", `{}{"m":null}`}, {"count", "n", "", `{}{"m":0}`},
		{"count", "path", "g", `{"g":null}{"m":2} {"g":"x"}{"m":2}`},
		{"avg", "u", "g", `{"g":null}{"m":0.0} {"g":"x"}{"m":9.223372036854776e+18}`},
	} {
		var by []string
		if c.by != "" {
			by = []string{c.by}
		}
		if got := run(c.op, c.field, by...); got != c.want {
			t.Errorf("%s of %s by %s: %s, want %s", c.op, c.field, c.by, got, c.want)
		}
	}
	for _, c := range []struct{ op, field, want string }{
		{"sum", "g", "WB_INVALID_ARGUMENTS: $.measures[0].field"}, {"avg", "t", "WB_INVALID_ARGUMENTS: $.measures[0].field"}, {"sum", "none", "WB_INVALID_ARGUMENTS: $.measures[0].field"},
	} {
		if got := run(c.op, c.field); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s of %s: %s", c.op, c.field, got)
		}
	}
	b.indexed("w", "e", "s:signed:-7", "u:unsigned:1", "f:float:1e308")
	b.indexed("w", "f", "f:float:1e308")
	for _, field := range []string{"s", "u", "f"} {
		if got := run("sum", field); !strings.HasPrefix(got, "WB_INVALID_STATE: The sum m is more than its type holds") {
			t.Errorf("%s: %s", field, got)
		}
	}
}

// A query counts a bounded number of values that differ, and of groups (WB-26).
func TestDistinctValuesAreBounded(t *testing.T) {
	b := newBench(t)
	const most = 65536
	for i := range most {
		b.indexed("w", fmt.Sprintf("d/%d", i), fmt.Sprintf("n:unsigned:%d", i))
	}
	search := func() error {
		_, err := b.Search(ctx, &op.WorkbenchSearchRequest{Facets: []string{"n"}})
		return err
	}
	group := func() error {
		_, err := b.Aggregate(ctx, &op.WorkbenchAggregateRequest{GroupBy: []string{"n"}, Measures: []op.WorkbenchMeasure{{Name: "m", Op: "count"}}})
		return err
	}
	if err := search(); err != nil {
		t.Error(err)
	}
	if err := group(); err != nil {
		t.Error(err)
	}
	b.indexed("w", "one-more", fmt.Sprintf("n:unsigned:%d", most))
	refused(t, search(), op.ReasonWBInvalidArguments)
	refused(t, group(), op.ReasonWBInvalidArguments)
}

func TestCatalogListsCustomFields(t *testing.T) {
	b := newBench(t)
	b.indexed("w1", "outputs/a", "a.flag:boolean:true", "note:string:\"x\"", "key:bytes:\"AA\"", "none:null:null")
	b.indexed("w2", "b", "score:float:1")
	list := func(id, path, prefix *string) string {
		a, err := b.Catalog(ctx, &op.WorkbenchCatalogRequest{ID: id, Path: path, FieldPrefix: prefix})
		if err != nil {
			return err.Error()
		}
		valid(t, a)
		var out []string
		for _, g := range a.Catalog.Filterable {
			out = append(out, fmt.Sprintf("%d:%s", len(g.Operators), strings.Join(g.Fields, ",")))
		}
		return strings.Join(out, " ") + " | " + strings.Join(a.Catalog.Sortable, ",")
	}
	for _, c := range []struct {
		id, path, prefix *string
		want             string
	}{
		{nil, nil, nil, "9:a.flag,generation,logical_size,none,score 12:body_digest_uri,content_type,key,manifest_id,note,path,producer,workbench_id | a.flag,body_digest_uri,content_type,generation,key,logical_size,manifest_id,none,note,path,producer,score,workbench_id"},
		{ptr("w1"), nil, ptr("n"), "9:none 12:note | none,note"},
		{ptr("w2"), nil, ptr("s"), "9:score | score"},
		{ptr("w1"), nil, ptr("s"), " | "},
		{nil, ptr("outputs"), ptr("s"), " | "},
		{nil, ptr("outputs"), ptr("k"), "12:key | key"},
	} {
		if got := list(c.id, c.path, c.prefix); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if _, err := b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "w2", Path: "b"}); err != nil {
		t.Fatal(err)
	}
	if got := list(nil, nil, ptr("s")); got != " | " {
		t.Error("a field that nobody has any more is listed: " + got)
	}
}
