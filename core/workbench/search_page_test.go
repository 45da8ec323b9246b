package workbench_test

import (
	"fmt"
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// A crawl of many pages looks for its matches once in a great many pages, and
// shows each of them once (WB-39); also when what was kept of it is gone.
func TestPagesOfASearchAreFoundTogether(t *testing.T) {
	const files, window = 6000, 4096
	b := newBench(t)
	if err := b.Fill(ctx, "wb1", "outputs/d", files); err != nil {
		t.Fatal(err)
	}
	runs := 0
	b.OnStep(func(step string) {
		if step == "search.run" {
			runs++
		}
	})
	defer b.OnStep(nil)
	desc := []op.WorkbenchSort{{Field: "path", Direction: ptr("desc")}}
	some := []op.WorkbenchPredicate{{Field: "path", Op: "contains", Value: []byte(`"5"`)}}
	for _, c := range []struct {
		name   string
		req    op.WorkbenchSearchRequest
		forget int // pages after which the memory is lost
		most   int // runs
	}{
		{"in the order of paths", op.WorkbenchSearchRequest{}, 0, files/window + 1},
		{"sorted", op.WorkbenchSearchRequest{Sort: desc, Facets: []string{"generation"}}, 0, files/window + 1},
		{"by an index", op.WorkbenchSearchRequest{Predicates: []op.WorkbenchPredicate{{Field: "logical_size", Op: "in", Value: []byte("[12]")}}}, 0, files/window + 1},
		{"forgotten now and then", op.WorkbenchSearchRequest{Sort: desc, Predicates: some}, 50, files / 10 / 50},
	} {
		runs = 0
		req, seen, last, pages := c.req, map[string]bool{}, "", 0
		want := int64(files)
		req.Fields, req.ID, req.Section = []string{"path"}, ptr("wb1"), ptr("outputs")
		for {
			a, err := b.Search(ctx, &req)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if pages++; pages == 1 && c.forget > 0 {
				want = a.MatchCount
			}
			if a.MatchCount != want || len(req.Facets) != len(a.Facets) || len(a.Facets) == 1 && a.Facets[0].Values[0].Count != want {
				t.Fatalf("%s: page %d counts %s", c.name, pages, a.AppendJSON(nil))
			}
			for _, m := range a.Matches {
				if path := *m.RelativePath; last != "" && (path < last) == (req.Sort == nil) {
					t.Fatalf("%s: %s comes after %s", c.name, path, last)
				} else {
					last, seen[path] = path, true
				}
				if string(m.Values) != fmt.Sprintf(`{"path":%q}`, "outputs/"+last) {
					t.Fatalf("%s: %s has %s", c.name, last, m.Values)
				}
			}
			if req.Cursor = a.NextCursor; req.Cursor == nil {
				break
			}
			if c.forget > 0 && pages%c.forget == 0 {
				b.ForgetSearches()
			}
			// Nothing that is written meanwhile shows.
			text := "a small body"
			if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "logs", Path: fmt.Sprintf("%s-%d-5", c.name, pages), Text: &text}); err != nil {
				t.Fatal(err)
			}
		}
		if int64(len(seen)) != want {
			t.Errorf("%s: %d matches of %d", c.name, len(seen), want)
		}
		if runs > c.most {
			t.Errorf("%s: looked for the matches of %d pages %d times", c.name, pages, runs)
		}
	}
	for i := range 200 {
		if _, err := b.Search(ctx, &op.WorkbenchSearchRequest{Predicates: []op.WorkbenchPredicate{{Field: "path", Op: "ne", Value: fmt.Appendf(nil, `"x%d"`, i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.SearchBytes(); n > 16<<20 || n < 8<<20 {
		t.Errorf("%d bytes are kept of searches", n)
	}
}
