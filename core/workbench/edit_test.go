package workbench_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestEditReplacesAnExactString(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one two two")
	res, err := b.edit("a.txt", "one", "1", false)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, res)
	want := `{"generation":2,"no_change":false,"path":"/agents/default/wb/wb1/outputs/a.txt","relative_path":"a.txt","replacements":1,` +
		`"section":"outputs","size_bytes":9,"status":"success","workbench_id":"wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, err = b.edit("a.txt", "two", "2", false)
	refused(t, err, op.ReasonWBAmbiguousEdit, "matches", 2)
	if res, err = b.edit("a.txt", "two", "", true); err != nil || res.Replacements != 2 || res.SizeBytes != 3 || res.Generation != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	if got := b.body("a.txt"); got != "1  " {
		t.Errorf("%q", got)
	}
	if got := *b.card("a.txt").DigestURI; got != uriOf("1  ") {
		t.Error(got)
	}
}

func TestEditCountsFromTheLeftWithoutOverlap(t *testing.T) {
	b := newBench(t)
	for i, c := range []struct {
		body, from, to string
		all            bool
		n              int64
		want           string
	}{
		{"aaaa", "aa", "b", true, 2, "bb"},
		{"aaa", "aa", "b", false, 1, "ba"},
		{"aXa", "X", "XX", false, 1, "aXXa"},
		{"日本日本", "本", "x", true, 2, "日x日x"},
		{"a\x00b", "\x00", "", false, 1, "ab"},
		{"line\r\nline\n", "\r\n", "\n", false, 1, "line\nline\n"},
		{"whole", "whole", "", false, 1, ""},
	} {
		path := fmt.Sprint(i)
		b.put(path, c.body)
		res, err := b.edit(path, c.from, c.to, c.all)
		if err != nil || res.Replacements != c.n || b.body(path) != c.want {
			t.Errorf("%+v: %+v %q %v", c, res, b.body(path), err)
		}
	}
}

func TestEditThatChangesNothingPublishesNothing(t *testing.T) {
	b := newBench(t)
	b.put("a", "x y x")
	cursor := firstCursor(t, b)
	res, err := b.edit("a", "x", "x", true)
	if err != nil || !res.NoChange || res.Generation != 1 || res.Replacements != 2 || res.SizeBytes != 5 {
		t.Errorf("%+v, %v", res, err)
	}
	valid(t, res)
	for _, c := range []struct {
		from, to string
		reason   op.Reason
		details  []any
	}{
		{"z", "z", op.ReasonWBNoMatch, []any{"path", "outputs/a"}},
		{"x", "x", op.ReasonWBAmbiguousEdit, []any{"matches", 2}},
	} {
		_, err := b.edit("a", c.from, c.to, false)
		refused(t, err, c.reason, c.details...)
	}
	if g := *b.card("a").Generation; g != 1 {
		t.Errorf("generation is %d", g)
	}
	// WB-4: the fence of a listing did not move either.
	if _, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.Cursor, r.Limit = &cursor, ptr(int32(1)) }); err != nil {
		t.Error(err)
	}
}

// firstCursor lists outputs by one entry; there are at least two afterwards.
func firstCursor(t *testing.T, b *bench) string {
	t.Helper()
	b.put("zz", "")
	res, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.Limit = ptr(int32(1)) })
	if err != nil || res.NextCursor == nil {
		t.Fatal(res, err)
	}
	return *res.NextCursor
}

func TestEditRefusals(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = 100 })
	_, err := b.edit("a", "x", "y", false)
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/a")
	_, err = b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotFound, "path", "")

	b.put("dir/a", "x")
	_, err = b.edit("dir", "x", "y", false)
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/dir")
	_, err = b.edit("dir/a", "", "y", false)
	refused(t, err, op.ReasonWBInvalidArguments)
	_, err = b.edit("dir/a", "x", "\xff", false)
	refused(t, err, op.ReasonWBInvalidArguments)
	_, err = b.edit("dir/a", "x", strings.Repeat("y", 101), false)
	refused(t, err, op.ReasonWBPayloadTooLarge, "actual_bytes", 101, "maximum_bytes", 100)

	b.put("sixty", strings.Repeat("x", 60))
	_, err = b.edit("sixty", "x", "yy", true)
	refused(t, err, op.ReasonWBPayloadTooLarge, "actual_bytes", 120, "maximum_bytes", 100)
	for range 2 {
		b.append("long", strings.Repeat("x", 60))
	}
	_, err = b.edit("long", "x", "y", true)
	refused(t, err, op.ReasonWBPayloadTooLarge, "actual_bytes", 120, "maximum_bytes", 100)

	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "binary", Base64: b64([]byte("x\xff"))}); err != nil {
		t.Fatal(err)
	}
	_, err = b.edit("binary", "x", "y", false)
	refused(t, err, op.ReasonWBInvalidUTF8, "path", "outputs/binary")
	for path, generation := range map[string]int64{"dir/a": 1, "sixty": 1, "long": 2, "binary": 1} {
		if g := *b.card(path).Generation; g != generation {
			t.Errorf("a refused edit left %s at generation %d", path, g)
		}
	}
}

func TestEditKeepsTheContentType(t *testing.T) {
	b := newBench(t)
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Text: ptr("{}"), ContentType: ptr("application/json")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.edit("a", "{}", "[]", false); err != nil {
		t.Fatal(err)
	}
	if got := *b.card("a").ContentType; got != "application/json" {
		t.Error(got)
	}
}

// Every writer counts a number up that the file holds; each edit quotes the
// number it saw, so an edit of an outdated body would be lost or refused. Small
// files are edited again inside the update, large ones queue up.
func TestConcurrentEditsNeverPublishOverAnother(t *testing.T) {
	for name, padding := range map[string]int{"small": 0, "large": blob.ExtentLimit + 1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			const writers = 8
			var text strings.Builder
			for w := range writers {
				fmt.Fprintf(&text, "<%d:0>\n", w)
			}
			text.WriteString(strings.Repeat(".", padding))
			b.put("a", text.String())
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for n := range 5 {
						if _, err := b.edit("a", fmt.Sprintf("<%d:%d>", w, n), fmt.Sprintf("<%d:%d>", w, n+1), false); err != nil {
							t.Errorf("edit %d of writer %d: %v", n, w, err)
						}
					}
				})
			}
			wg.Wait()
			body := b.body("a")
			for w := range writers {
				if !strings.Contains(body, fmt.Sprintf("<%d:5>\n", w)) {
					t.Errorf("an edit of writer %d was lost: %q", w, body[:64])
				}
			}
			if g := *b.card("a").Generation; g != 1+writers*5 {
				t.Errorf("generation %d", g)
			}
		})
	}
}
