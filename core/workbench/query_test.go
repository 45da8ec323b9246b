package workbench_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// fact is a file as the naive model of queries knows it.
type fact struct {
	id, path, contentType, digest string
	generation, size              uint64
	// stage and score are custom fields; a file may have none of them.
	stage *string
	score *int64
}

func (f *fact) value(field string) any {
	switch field {
	case "workbench_id":
		return f.id
	case "path":
		return f.path
	case "content_type":
		return f.contentType
	case "body_digest_uri":
		return f.digest
	case "generation":
		return f.generation
	case "stage":
		if f.stage != nil {
			return *f.stage
		}
		return nil
	case "score":
		if f.score != nil {
			return *f.score
		}
		return nil
	}
	return f.size
}

// compareAny orders what is missing before every value.
func compareAny(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch n := a.(type) {
	case uint64:
		return cmp.Compare(n, b.(uint64))
	case int64:
		return cmp.Compare(n, b.(int64))
	}
	return strings.Compare(a.(string), b.(string))
}

func factHolds(f *fact, field, o string, operand any) bool {
	v := f.value(field)
	if o == "not_exists" || v == nil {
		return (o == "not_exists") == (v == nil)
	}
	switch o {
	case "exists":
		return true
	case "in":
		return slices.ContainsFunc(operand.([]any), func(x any) bool { return compareAny(v, x) == 0 })
	case "prefix":
		return strings.HasPrefix(v.(string), operand.(string))
	case "suffix":
		return strings.HasSuffix(v.(string), operand.(string))
	case "contains":
		return strings.Contains(v.(string), operand.(string))
	}
	c := compareAny(v, operand)
	return map[string]bool{"eq": c == 0, "ne": c != 0, "lt": c < 0, "lte": c <= 0, "gt": c > 0, "gte": c >= 0}[o]
}

// world is random files in random workbenches, and the model of them.
type world struct {
	*bench
	rng   *rand.Rand
	facts map[string]*fact
	wide  bool // many paths and sizes
}

func (w *world) write() {
	w.t.Helper()
	id := fmt.Sprintf("wb%d", w.rng.IntN(3))
	section := []string{"input", "outputs"}[w.rng.IntN(2)]
	path := []string{"a", "a/b", "a-b", "c", "d/e", "d/é"}[w.rng.IntN(6)]
	if strings.HasPrefix(path, "a") && w.rng.IntN(2) == 0 {
		path += ".txt"
	}
	if w.wide {
		path += fmt.Sprintf("/%d", w.rng.IntN(100))
	}
	types := []string{"text/plain", "application/json", "text/csv", "x/" + strings.Repeat("y", 252) + "1", "x/" + strings.Repeat("y", 252) + "2"}
	sizes := 5
	if w.wide {
		sizes = 40
	}
	body, contentType := strings.Repeat("x", w.rng.IntN(sizes)), types[w.rng.IntN(len(types))]
	key := id + "\x00" + section + "/" + path
	old, there := w.facts[key]
	var values []op.WorkbenchIndexValue
	var stage *string
	var score *int64
	if w.rng.IntN(3) > 0 {
		stage = &[]string{"raw", "raw-2", "done", strings.Repeat("z", 300), strings.Repeat("z", 300) + "1"}[w.rng.IntN(5)]
		values = append(values, op.WorkbenchIndexValue{Field: "stage", Type: "string", Value: raw(`"` + *stage + `"`)})
	}
	if w.rng.IntN(3) > 0 {
		score = ptr(int64(w.rng.IntN(9) - 4))
		values = append(values, op.WorkbenchIndexValue{Field: "score", Type: "signed", Value: raw(fmt.Sprint(*score))})
	}
	got, err := w.PutArtifact(ctx, &op.WorkbenchPutArtifactRequest{ID: id, Path: section + "/" + path, Text: &body, ContentType: &contentType, Replace: &there, IndexValues: values})
	if err != nil {
		w.t.Fatal(err)
	}
	f := &fact{stage: stage, score: score, id: id, path: section + "/" + path, contentType: contentType, digest: got.DigestURI, generation: 1, size: uint64(len(body))}
	if there {
		f.generation = old.generation + 1
	}
	w.facts[key] = f
}

var queryable = []string{"workbench_id", "path", "content_type", "body_digest_uri", "generation", "logical_size", "stage", "score"}

// operand is a value that some file has, or one near by.
func (w *world) operand(field string) any {
	var some *fact
	for _, f := range w.facts {
		if f.value(field) != nil && (some == nil || w.rng.IntN(4) == 0) {
			some = f
		}
	}
	switch v := some.value(field).(type) {
	case int64:
		return v + w.rng.Int64N(3) - 1
	case uint64:
		return max(1, v+w.rng.Uint64N(3)) - 1
	case string:
		switch cut := 1 + w.rng.IntN(len(v)); w.rng.IntN(8) {
		case 0, 1:
			return v[:cut]
		case 2:
			return v + "0"
		case 3:
			return v[:cut-1] + string(rune('"'+w.rng.IntN(90)))
		case 4:
			return []string{"s", "sha256:", "sha256:F", "sha256:g", "t", "\x00", "outputs//", "wb"}[w.rng.IntN(8)]
		}
		return v
	}
	panic("no value")
}

// request makes a random search and the model's answer to it.
func (w *world) request() (*op.WorkbenchSearchRequest, []*fact) {
	req := &op.WorkbenchSearchRequest{Fields: queryable}
	all := make([]*fact, 0, len(w.facts))
	for _, f := range w.facts {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *fact) int { return cmp.Or(strings.Compare(a.id, b.id), jail.Compare(a.path, b.path)) })
	if w.rng.IntN(2) == 0 {
		id := fmt.Sprintf("wb%d", w.rng.IntN(4))
		req.ID = &id
		all = slices.DeleteFunc(all, func(f *fact) bool { return f.id != id })
	}
	if w.rng.IntN(2) == 0 {
		section, under := "outputs", "outputs"
		req.Section = &section
		if w.rng.IntN(2) == 0 {
			path := "a"
			req.Path, under = &path, "outputs/a"
		}
		all = slices.DeleteFunc(all, func(f *fact) bool { return f.path != under && !strings.HasPrefix(f.path, under+"/") })
	}
	for range w.rng.IntN(4) {
		field := queryable[w.rng.IntN(len(queryable))]
		ops := []string{"eq", "eq", "in", "ne", "lt", "lte", "gt", "gte", "prefix", "prefix", "suffix", "contains"}
		if field == "generation" || field == "logical_size" || field == "score" {
			ops = ops[:8]
		}
		if field == "stage" || field == "score" {
			ops = append(ops, "exists", "not_exists")
		}
		o := ops[w.rng.IntN(len(ops))]
		operand := w.operand(field)
		if o == "exists" || o == "not_exists" {
			operand = nil
		}
		if o == "in" {
			var many []any
			for range w.rng.IntN(4) {
				if v := w.operand(field); !slices.Contains(many, v) {
					many = append(many, v)
				}
			}
			operand = append([]any{}, many...)
		}
		raw, err := json.Marshal(operand)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Predicates = append(req.Predicates, op.WorkbenchPredicate{Field: field, Op: o, Value: raw})
		all = slices.DeleteFunc(all, func(f *fact) bool { return !factHolds(f, field, o, operand) })
	}
	if w.rng.IntN(2) == 0 {
		field, direction := queryable[w.rng.IntN(len(queryable))], []string{"asc", "desc"}[w.rng.IntN(2)]
		req.Sort = []op.WorkbenchSort{{Field: field, Direction: &direction}}
		slices.SortStableFunc(all, func(a, b *fact) int {
			if direction == "desc" {
				a, b = b, a
			}
			return compareAny(a.value(field), b.value(field))
		})
	}
	limit := int32(1 + w.rng.IntN(10))
	req.Limit = &limit
	return req, all
}

// Every page of every search is the model's, also while others write.
func TestSearchesAgreeWithAModel(t *testing.T) {
	for seed := range uint64(10) {
		w := &world{bench: newBench(t), rng: rand.New(rand.NewPCG(seed, 3)), facts: map[string]*fact{}, wide: seed >= 8}
		files, searches := 60, 80
		if w.wide {
			files, searches = 1200, 100
		}
		for range files {
			w.write()
		}
		for range searches {
			req, want := w.request()
			// The model's files are replaced in the map, never changed.
			asked := string(req.AppendJSON(nil))
			got := []string{}
			for {
				a, err := w.Search(ctx, req)
				if err != nil {
					t.Fatalf("%s: %v", asked, err)
				}
				valid(t, a)
				if a.MatchCount != int64(len(want)) {
					t.Fatalf("%s: %d matches, want %d", asked, a.MatchCount, len(want))
				}
				for _, m := range a.Matches {
					got = append(got, string(m.Values))
				}
				if a.NextCursor == nil {
					break
				}
				req.Cursor = a.NextCursor
				w.write()
				if w.wide && len(got) > 40 {
					want = want[:len(got)]
					break
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%s: %d matches over all pages, want %d", asked, len(got), len(want))
			}
			for i, f := range want {
				custom := ""
				if f.score != nil {
					custom += fmt.Sprintf(`"score":%d,`, *f.score)
				}
				if f.stage != nil {
					custom += fmt.Sprintf(`"stage":%q,`, *f.stage)
				}
				line := fmt.Sprintf(`{"body_digest_uri":%q,"content_type":%q,"generation":%d,"logical_size":%d,"path":%q,%s"workbench_id":%q}`,
					f.digest, f.contentType, f.generation, f.size, f.path, custom, f.id)
				if got[i] != line {
					t.Fatalf("%s: match %d is %s, want %s", asked, i, got[i], line)
				}
			}
			w.aggregateAgrees(req, want)
		}
	}
}

func (w *world) aggregateAgrees(req *op.WorkbenchSearchRequest, _ []*fact) {
	w.t.Helper()
	// Writes went on since the search, so the model is asked again.
	again := &op.WorkbenchSearchRequest{ID: req.ID, Section: req.Section, Path: req.Path, Predicates: req.Predicates, Facets: []string{"content_type"}}
	s, err := w.Search(ctx, again)
	if err != nil {
		w.t.Fatal(err)
	}
	size := "logical_size"
	a, err := w.Aggregate(ctx, &op.WorkbenchAggregateRequest{ID: req.ID, Section: req.Section, Path: req.Path, Predicates: req.Predicates,
		GroupBy: []string{"content_type"}, Measures: []op.WorkbenchMeasure{{Name: "n", Op: "count"}, {Name: "sum", Op: "sum", Field: &size}},
		Sort: []op.WorkbenchSort{{Field: "n", Direction: ptr("desc")}}})
	if err != nil {
		w.t.Fatal(err)
	}
	valid(w.t, a)
	if a.InputMatchCount != s.MatchCount || int(a.GroupCount) != len(s.Facets[0].Values) {
		w.t.Fatalf("aggregate %s, search %s", a.AppendJSON(nil), s.AppendJSON(nil))
	}
	for i, g := range a.Groups {
		bucket := s.Facets[0].Values[i]
		if string(g.Key) != `{"content_type":`+string(bucket.Value)+`}` || !strings.HasPrefix(string(g.Values), fmt.Sprintf(`{"n":%d,`, bucket.Count)) {
			w.t.Fatalf("group %s %s is not the bucket %s %d", g.Key, g.Values, bucket.Value, bucket.Count)
		}
	}
}

func TestAggregateOfNothingAndOfKnownFiles(t *testing.T) {
	b := newBench(t)
	size := "logical_size"
	req := &op.WorkbenchAggregateRequest{Measures: []op.WorkbenchMeasure{{Name: "n", Op: "count"}, {Name: "avg", Op: "avg", Field: &size},
		{Name: "max", Op: "max", Field: &size}, {Name: "min", Op: "min", Field: ptr("path")}, {Name: "sum", Op: "sum", Field: &size}}}
	for _, want := range []string{
		`{"avg":null,"max":null,"min":null,"n":0,"sum":null}`,
		`{"avg":12.0,"max":20,"min":"outputs/a","n":2,"sum":24}`,
	} {
		a, err := b.Aggregate(ctx, req)
		if err != nil || len(a.Groups) != 1 || string(a.Groups[0].Values) != want || string(a.Groups[0].Key) != "{}" {
			t.Fatal(a, err, want)
		}
		if a.InputMatchCount == 0 {
			b.put("a", "1234")
			b.put("b", "12345678901234567890")
		}
	}
	req.GroupBy, req.ID = []string{"path"}, ptr("nobody")
	if a, err := b.Aggregate(ctx, req); err != nil || a.GroupCount != 0 || len(a.Groups) != 0 {
		t.Error(a, err)
	}
}

func TestQueryRefusals(t *testing.T) {
	b := newBench(t)
	b.put("a", "1")
	for _, c := range []struct{ field, op, value, member string }{
		{"artifact.size", "eq", `1`, "$.predicates[0].field"},
		{"generation", "gt", `-1`, "$.predicates[0].value"},
		{"generation", "gt", `1.5`, "$.predicates[0].value"},
		{"generation", "prefix", `1`, "$.predicates[0].op"},
		{"path", "eq", `""`, "$.predicates[0].value"},
		{"path", "eq", ``, "$.predicates[0].value"},
		{"path", "eq", `["a"]`, "$.predicates[0].value"},
		{"path", "in", `"a"`, "$.predicates[0].value"},
		{"path", "in", `["a","a"]`, "$.predicates[0].value"},
		{"path", "exists", `"a"`, "$.predicates[0].value"},
	} {
		p := op.WorkbenchPredicate{Field: c.field, Op: c.op}
		if c.value != "" {
			p.Value = []byte(c.value)
		}
		_, err := b.Search(ctx, &op.WorkbenchSearchRequest{Predicates: []op.WorkbenchPredicate{p}})
		var f *fault.Error
		if !errors.As(err, &f) || !strings.HasPrefix(f.Error(), "WB_INVALID_ARGUMENTS") || !strings.Contains(f.Error(), c.member) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	null := []byte("null")
	for o, want := range map[string]int64{"eq": 1, "exists": 1, "not_exists": 0, "ne": 0} {
		a, err := b.Search(ctx, &op.WorkbenchSearchRequest{Predicates: []op.WorkbenchPredicate{{Field: "producer", Op: o, Value: null}}})
		if err != nil || a.MatchCount != want {
			t.Error(o, a, err)
		}
	}
}

func TestCatalogOfAScope(t *testing.T) {
	b := newBench(t)
	if a, err := b.Catalog(ctx, &op.WorkbenchCatalogRequest{ID: ptr("nobody")}); err != nil || !a.CatalogEmpty || len(a.Catalog.Filterable) != 0 {
		t.Fatal(a, err)
	}
	b.put("a", "1")
	a, err := b.Catalog(ctx, &op.WorkbenchCatalogRequest{})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, a)
	if got := strings.Join(a.Catalog.Sortable, " "); a.CatalogEmpty || got != "body_digest_uri content_type generation logical_size manifest_id path producer workbench_id" {
		t.Error(got)
	}
	if f := a.Catalog.Filterable; len(f) != 2 || !slices.Equal(f[0].Fields, []string{"generation", "logical_size"}) {
		t.Error(f)
	}
}
