package workbench_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestListShowsDirectChildrenInPathOrder(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"src-gen/a", "src/b/c", "src/a", "b", "a", "a/x", "a/y/z", "ab", "日本", "B"} {
		b.put(path, path)
	}
	res, err := b.list(ptr("outputs"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, res)
	if got, want := entries(res), []string{"B", "a", "ab", "b", "src/", "src-gen/", "日本"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	res, err = b.list(ptr("outputs"), ptr("src"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"entries":[{"entry_count":null,"kind":"file","name":"a","path":"/agents/default/wb/wb1/outputs/src/a","relative_path":"src/a","section":"outputs","size_bytes":5},` +
		`{"entry_count":null,"kind":"directory","name":"b","path":"/agents/default/wb/wb1/outputs/src/b","relative_path":"src/b","section":"outputs","size_bytes":null}],` +
		`"entry_count":2,"next_cursor":null,"path":"/agents/default/wb/wb1/outputs/src","relative_path":"src","section":"outputs","status":"success","truncated":false,` +
		`"workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// By its full path the same children, under the name that the caller used.
	full, err := b.list(nil, ptr("outputs/src"), nil)
	if err != nil || full.Section != nil || *full.RelativePath != "outputs/src" || !slices.EqualFunc(full.Entries, res.Entries, func(x, y op.WorkbenchListEntry) bool {
		return string(x.AppendJSON(nil)) == string(y.AppendJSON(nil))
	}) {
		t.Errorf("%+v, %v", full, err)
	}
	// One name, two things: the file is the entry, and what is below can be listed.
	if res, err = b.list(ptr("outputs"), ptr("a"), nil); err != nil || !slices.Equal(entries(res), []string{"x", "y/"}) {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestListOfTheRootShowsTheSections(t *testing.T) {
	b := newBench(t)
	if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Fatal(err)
	}
	sections := []string{"input/", "logs/", "metadata/", "outputs/", "scripts/"}
	for range 2 {
		res, err := b.list(nil, nil, nil)
		if err != nil || !slices.Equal(entries(res), sections) {
			t.Fatalf("%+v, %v", res, err)
		}
		valid(t, res)
		if e := res.Entries[0]; *e.Section != "input" || e.RelativePath != nil || e.Path != "/agents/default/wb/wb1/input" {
			t.Errorf("%+v", e)
		}
		b.put(fmt.Sprint("f", puts()), "") // sections with something in them look the same
	}
	// By pages of every size, each section once.
	for limit := int32(1); limit <= 6; limit++ {
		if got := crawl(t, b, nil, nil, limit); !slices.Equal(got, sections) {
			t.Errorf("by %d: %q", limit, got)
		}
	}
}

// crawl follows the cursors of a listing to its end.
func crawl(t *testing.T, b *bench, section, path *string, limit int32) []string {
	t.Helper()
	var all []string
	var cursor *string
	for {
		res, err := b.list(section, path, func(r *op.WorkbenchListRequest) { r.Limit, r.Cursor = &limit, cursor })
		if err != nil {
			t.Fatal(err)
		}
		if res.Truncated != (res.NextCursor != nil) || int(res.EntryCount) != len(res.Entries) || res.EntryCount > limit || res.Truncated && res.EntryCount != limit {
			t.Fatalf("%+v", res)
		}
		all = append(all, entries(res)...)
		if cursor = res.NextCursor; cursor == nil {
			return all
		}
	}
}

func TestListOfNothing(t *testing.T) {
	b := newBench(t)
	_, err := b.list(nil, nil, nil)
	refused(t, err, op.ReasonWBNotFound, "path", "")
	_, err = b.list(ptr("logs"), ptr("a"), nil)
	refused(t, err, op.ReasonWBNotFound, "path", "logs/a")
	b.put("a", "x")
	for _, path := range []string{"b", "b/c", "a/b"} {
		res, err := b.list(ptr("outputs"), &path, nil)
		if err != nil || res.Entries == nil || len(res.Entries) != 0 || res.Truncated {
			t.Errorf("%s: %+v, %v", path, res, err)
		}
	}
	if res, err := b.list(ptr("logs"), nil, nil); err != nil || len(res.Entries) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = b.list(ptr("outputs"), ptr("a"), nil)
	refused(t, err, op.ReasonWBNotDirectory, "path", "outputs/a")
	for _, limit := range []int32{0, -1, 101} {
		_, err = b.list(nil, nil, func(r *op.WorkbenchListRequest) { r.Limit = &limit })
		refused(t, err, op.ReasonWBInvalidArguments)
	}
}

// Following the cursors gives every child once and in order, whatever the shape
// of the tree: compared with a listing worked out from the paths alone.
func TestListAgreesWithAModel(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a-", "a.b", "ab", "b", "\x01", "\x7f", "é", "z z"}
	paths := map[string]bool{}
	for range 120 {
		var parts []string
		for range 1 + rng.IntN(4) {
			parts = append(parts, names[rng.IntN(len(names))])
		}
		path := strings.Join(parts, "/")
		if !paths[path] {
			paths[path] = true
			b.put(path, path)
		}
	}
	dirs := map[string]bool{"": true}
	for p := range paths {
		for i := range len(p) {
			if p[i] == '/' {
				dirs[p[:i]] = true
			}
		}
	}
	for dir := range dirs {
		children := map[string]bool{} // name -> is a file
		for p := range paths {
			rest := p
			if dir != "" {
				var ok bool
				if rest, ok = strings.CutPrefix(p, dir+"/"); !ok {
					continue
				}
			}
			name, _, deeper := strings.Cut(rest, "/")
			children[name] = children[name] || !deeper
		}
		want := []string{}
		for name := range children {
			want = append(want, name)
		}
		slices.SortFunc(want, jail.Compare)
		for i, name := range want {
			if !children[name] {
				want[i] += "/"
			}
		}
		for _, limit := range []int32{1, 2, 3, 100} {
			if got := crawl(t, b, ptr("outputs"), &dir, limit); !slices.Equal(got, want) {
				t.Errorf("%q by %d: %q, want %q", dir, limit, got, want)
			}
		}
	}
}

// WB-7
func TestListCursorsAreBound(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		b.put(fmt.Sprint("dir/", i), "")
		b.put(fmt.Sprint("other/", i), "")
	}
	page := func(section, path *string, cursor string) (*op.WorkbenchListResult, error) {
		return b.list(section, path, func(r *op.WorkbenchListRequest) { r.Limit, r.Cursor = ptr(int32(2)), &cursor })
	}
	first, err := b.list(ptr("outputs"), ptr("dir"), func(r *op.WorkbenchListRequest) { r.Limit = ptr(int32(2)) })
	if err != nil || first.NextCursor == nil {
		t.Fatal(first, err)
	}
	cursor := *first.NextCursor
	if res, err := page(ptr("outputs"), ptr("dir"), cursor); err != nil || !slices.Equal(entries(res), []string{"2", "3"}) || res.Truncated {
		t.Errorf("%+v, %v", res, err)
	}
	// The scope is the directory, however it is spelled.
	if res, err := page(nil, ptr("outputs/dir"), cursor); err != nil || len(res.Entries) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = page(ptr("outputs"), ptr("other"), cursor)
	refused(t, err, op.ReasonWBBadCursor)
	_, err = page(ptr("outputs"), nil, cursor)
	refused(t, err, op.ReasonWBBadCursor)
	if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb2"}); err != nil {
		t.Fatal(err)
	}
	_, err = b.List(ctx, &op.WorkbenchListRequest{ID: "wb2", Section: ptr("outputs"), Path: ptr("dir"), Cursor: &cursor})
	refused(t, err, op.ReasonWBBadCursor)
	_, err = b.List(actor.With(ctx, actor.Principal{Tenant: [16]byte{9}}), &op.WorkbenchListRequest{ID: "wb1", Section: ptr("outputs"), Path: ptr("dir"), Cursor: &cursor})
	refused(t, err, op.ReasonWBBadCursor)

	// Not one bit of it may differ.
	for _, spelled := range []string{cursor + "\n", cursor[:4] + "\r\n" + cursor[4:]} {
		_, err := page(ptr("outputs"), ptr("dir"), spelled)
		refused(t, err, op.ReasonWBBadCursor)
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		forged := slices.Clone(raw)
		forged[i] ^= 1
		_, err := page(ptr("outputs"), ptr("dir"), base64.RawURLEncoding.EncodeToString(forged))
		refused(t, err, op.ReasonWBBadCursor)
	}
	for _, s := range []string{"", "x", "r:1", cursor + "=", cursor + "A", cursor[1:], strings.Repeat("A", 10_000), "!" + cursor} {
		_, err := page(ptr("outputs"), ptr("dir"), s)
		refused(t, err, op.ReasonWBBadCursor)
	}
	// Another store has another key.
	b.reopen(func(o *workbench.Options) { o.CursorKey = []byte("quite another secret") })
	_, err = page(ptr("outputs"), ptr("dir"), cursor)
	refused(t, err, op.ReasonWBBadCursor)
	// The same store goes on after a restart.
	b.reopen()
	if _, err := page(ptr("outputs"), ptr("dir"), cursor); err != nil {
		t.Error(err)
	}
}

func TestListCursorsEndWhenTheWorkbenchChanges(t *testing.T) {
	b := newBench(t)
	fresh := func() *string {
		c := firstCursor(t, b)
		return &c
	}
	b.put("a", "x")
	next := func(cursor *string) error {
		_, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.Limit, r.Cursor = ptr(int32(1)), cursor })
		return err
	}
	changes := map[string]func(){
		"put":     func() { b.put("n/new", "") },
		"replace": func() { b.replace("a", "y") },
		"append":  func() { b.append("a", "z") },
		"edit": func() {
			if _, err := b.edit("a", "z", "", false); err != nil {
				t.Error(err)
			}
		},
	}
	cursor := fresh()
	for _, name := range []string{"put", "replace", "append", "edit"} {
		if err := next(cursor); err != nil {
			t.Errorf("before %s: %v", name, err)
		}
		changes[name]()
		refused(t, next(cursor), op.ReasonWBReadFenceChanged, "operation", "list")
		res, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.Limit = ptr(int32(1)) })
		if err != nil {
			t.Fatal(err)
		}
		cursor = res.NextCursor
	}
	// What changes nothing, and other workbenches, leave the cursor good.
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Text: ptr("")}); err == nil {
		t.Error("a put over a file went through")
	}
	if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Error(err)
	}
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb2", Section: "outputs", Path: "a", Text: ptr("")}); err != nil {
		t.Error(err)
	}
	if err := next(cursor); err != nil {
		t.Error(err)
	}
}
