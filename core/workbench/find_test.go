package workbench_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func (b *bench) find(req *op.WorkbenchFindRequest) *op.WorkbenchFindResult {
	b.t.Helper()
	res, err := b.Find(ctx, req)
	if err != nil {
		b.t.Fatalf("find: %v", err)
	}
	valid(b.t, res)
	if int(res.MatchCount) != len(res.Matches) || res.Truncated != (res.NextCursor != nil) {
		b.t.Errorf("the page contradicts itself: %d matches, says %d; truncated %v", len(res.Matches), res.MatchCount, res.Truncated)
	}
	return res
}

// run makes a workbench with a commit.
func (b *bench) run(id, manifest string) *op.WorkbenchCommitResult {
	b.t.Helper()
	res, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: id, Manifest: op.RawJSON(manifest), ContentDigestURI: digestOf(1)})
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func (b *bench) make(id string) {
	b.t.Helper()
	if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: id}); err != nil {
		b.t.Fatal(err)
	}
}

func found(res *op.WorkbenchFindResult) string {
	ids := []string{}
	for _, m := range res.Matches {
		ids = append(ids, m.WorkbenchID)
	}
	return strings.Join(ids, " ")
}

func TestFindFilters(t *testing.T) {
	b := newBench(t)
	b.run("a-run", `{"task":"Ptycho","n":1}`)
	b.make("b-empty")
	b.run("c-run", `{"task":null,"note":"Grün ÄÖÜ"}`)
	for _, c := range []struct {
		name string
		req  op.WorkbenchFindRequest
		want string
	}{
		{"no filter", op.WorkbenchFindRequest{}, "a-run b-empty c-run"},
		{"committed", op.WorkbenchFindRequest{Committed: ptr(true)}, "a-run c-run"},
		{"not committed", op.WorkbenchFindRequest{Committed: ptr(false)}, "b-empty"},
		{"text of a value, in another case", op.WorkbenchFindRequest{ManifestPattern: ptr("pTYCHO")}, "a-run"},
		{"text that crosses members", op.WorkbenchFindRequest{ManifestPattern: ptr(`"n":1,"task"`)}, "a-run"},
		{"text of the envelope", op.WorkbenchFindRequest{ManifestPattern: ptr("NOKV.workbench.run_manifest.v1")}, "a-run c-run"},
		{"the presentation path", op.WorkbenchFindRequest{ManifestPattern: ptr("/wb/c-run")}, "c-run"},
		{"case beyond ASCII counts", op.WorkbenchFindRequest{ManifestPattern: ptr("äöü")}, ""},
		{"text beyond ASCII", op.WorkbenchFindRequest{ManifestPattern: ptr("grün ÄÖÜ")}, "c-run"},
		{"no expression", op.WorkbenchFindRequest{ManifestPattern: ptr("p.*o")}, ""},
		{"the empty text", op.WorkbenchFindRequest{ManifestPattern: ptr("")}, "a-run c-run"},
		{"the empty text, not committed", op.WorkbenchFindRequest{ManifestPattern: ptr(""), Committed: ptr(false)}, ""},
	} {
		if res := b.find(&c.req); found(res) != c.want || res.EntryCount != 3 || res.NextCursor != nil {
			t.Errorf("%s: %q of %d, want %q", c.name, found(res), res.EntryCount, c.want)
		}
	}
	for _, limit := range []int32{0, 101, -1} {
		if _, err := b.Find(ctx, &op.WorkbenchFindRequest{Limit: &limit}); !fault.Is(err, op.ReasonWBInvalidArguments) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// A committed workbench comes with its summary; the envelope only when asked for.
func TestFindTellsWhatIsCommitted(t *testing.T) {
	b := newBench(t)
	c := b.run("wb1", `{"task":{"id":9007199254740993},"a":1}`)
	b.make("wb2")
	res := b.find(&op.WorkbenchFindRequest{})
	m, bare := res.Matches[0], res.Matches[1]
	if !m.Committed || !m.CommitIdentityVerified || *m.CommitIdentity != c.CommitIdentity || *m.ContentDigestURI != c.ContentDigestURI ||
		*m.ManifestDigestURI != c.ManifestDigestURI || *m.EnvelopeDigestURI != c.EnvelopeDigestURI || *m.ManifestSizeBytes != c.SizeBytes ||
		*m.ManifestGeneration != 1 || *m.ManifestPath != c.Path || m.Path != c.WorkbenchPath || m.Manifest != nil {
		t.Errorf("%+v", m)
	}
	s := m.ManifestSummary
	if s == nil || s.Schema != "nokv.workbench.run_manifest.v1" || s.WorkbenchID != "wb1" || s.CommitIdentity != c.CommitIdentity ||
		s.ContentDigestURI != c.ContentDigestURI || s.ManifestDigestURI != c.ManifestDigestURI || s.CommittedAtUnixSeconds != b.env.Clock.Now().Unix() ||
		!slices.Equal(s.ManifestKeys, []string{"a", "task"}) || string(s.ManifestTask) != `{"id":9007199254740993}` {
		t.Errorf("summary %+v", s)
	}
	if bare.Committed || bare.CommitIdentityVerified || bare.ManifestPath != nil || bare.ManifestSizeBytes != nil || bare.ManifestGeneration != nil ||
		bare.ContentDigestURI != nil || bare.ManifestDigestURI != nil || bare.CommitIdentity != nil || bare.EnvelopeDigestURI != nil ||
		bare.ManifestSummary != nil || bare.Manifest != nil {
		t.Errorf("an uncommitted one: %+v", bare)
	}
	full := b.find(&op.WorkbenchFindRequest{IncludeManifest: ptr(true)}).Matches[0]
	var envelope struct{ Manifest json.RawMessage }
	if err := json.Unmarshal(full.Manifest, &envelope); err != nil || string(envelope.Manifest) != `{"a":1,"task":{"id":9007199254740993}}` {
		t.Errorf("the manifest is %s (%v)", full.Manifest, err)
	}
	if _, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: "wb1", Manifest: op.RawJSON(`{}`), ContentDigestURI: digestOf(1), Replace: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	if m := b.find(&op.WorkbenchFindRequest{}).Matches[0]; *m.ManifestGeneration != 2 || m.ManifestSummary.ManifestTask != nil || len(m.ManifestSummary.ManifestKeys) != 0 {
		t.Errorf("after a replacement: %+v", m)
	}
}

// All pages show the state of the first one, whatever is written meanwhile.
func TestFindPagesAreOfOneRevision(t *testing.T) {
	b := newBench(t)
	for i := range 7 {
		b.run(fmt.Sprintf("wb%d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	var ids, keys []string
	req := &op.WorkbenchFindRequest{Limit: ptr(int32(2))}
	for page := 0; ; page++ {
		res := b.find(req)
		if page == 0 {
			b.make("wb3a")
			if _, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: "wb5", Manifest: op.RawJSON(`{"later":1}`), ContentDigestURI: digestOf(2), Replace: ptr(true)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range res.Matches {
			ids, keys = append(ids, m.WorkbenchID), append(keys, m.ManifestSummary.ManifestKeys...)
		}
		if req.Cursor = res.NextCursor; req.Cursor == nil {
			break
		}
		req.Limit = ptr(int32(3)) // a cursor does not bind the limit
	}
	if fmt.Sprint(ids) != "[wb0 wb1 wb2 wb3 wb4 wb5 wb6]" || slices.Contains(keys, "later") {
		t.Errorf("%v with members %v", ids, keys)
	}
}

func TestAFindCursorIsBound(t *testing.T) {
	b := newBench(t)
	for i := range 3 {
		b.make(fmt.Sprintf("wb%d", i))
	}
	cursor := b.find(&op.WorkbenchFindRequest{Limit: ptr(int32(1))}).NextCursor
	for name, req := range map[string]*op.WorkbenchFindRequest{
		"another filter":          {Committed: ptr(false), Cursor: cursor},
		"an empty pattern":        {ManifestPattern: ptr(""), Cursor: cursor},
		"manifests wanted":        {IncludeManifest: ptr(true), Cursor: cursor},
		"an altered cursor":       {Cursor: ptr("B" + (*cursor)[1:])},
		"an empty cursor":         {Cursor: ptr("")},
		"what is no cursor":       {Cursor: ptr("next please")},
		"a cursor with an ending": {Cursor: ptr(*cursor + "AAAA")},
	} {
		if _, err := b.Find(ctx, req); !fault.Is(err, op.ReasonWBBadCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.reopen()
	if res := b.find(&op.WorkbenchFindRequest{Cursor: cursor}); found(res) != "wb1 wb2" {
		t.Errorf("after a restart it goes on with %q", found(res))
	}
}

// A page is bounded by the workbenches and the bytes that it looks at; one
// without a match goes on all the same.
func TestAFindPageIsBounded(t *testing.T) {
	b := newBench(t)
	for i := range 1005 {
		b.make(fmt.Sprintf("wb%04d", i))
	}
	b.run("z-run", `{}`)
	first := b.find(&op.WorkbenchFindRequest{Committed: ptr(true)})
	if len(first.Matches) != 0 || first.EntryCount != 1000 || first.NextCursor == nil {
		t.Fatalf("the first page looked at %d and has %q", first.EntryCount, found(first))
	}
	if last := b.find(&op.WorkbenchFindRequest{Committed: ptr(true), Cursor: first.NextCursor}); found(last) != "z-run" || last.EntryCount != 6 || last.NextCursor != nil {
		t.Errorf("the second page looked at %d and has %q", last.EntryCount, found(last))
	}
	large := `{"x":"` + strings.Repeat("x", 1<<20-100) + `"}`
	for i := range 6 {
		b.run(fmt.Sprintf("large%d", i), large)
	}
	page := b.find(&op.WorkbenchFindRequest{Committed: ptr(true), IncludeManifest: ptr(true)})
	if n := len(page.Matches); n == 0 || n > 5 || page.NextCursor == nil {
		t.Errorf("a page has %d large manifests", n)
	}
	rest := b.find(&op.WorkbenchFindRequest{Committed: ptr(true), IncludeManifest: ptr(true), Cursor: page.NextCursor})
	if n := len(page.Matches) + len(rest.Matches); n != 6 {
		t.Errorf("two pages have %d large manifests", n)
	}
}

// WB-17: a manifest that is not the head's fails the find that would show it.
func TestFindRefusesAForeignManifest(t *testing.T) {
	b := newBench(t)
	b.run("wb1", `{"run":"A"}`)
	if err := b.Forge(ctx, "wb1", "{}"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(ctx, &op.WorkbenchFindRequest{}); !fault.Is(err, op.ReasonWBCorrupt) {
		t.Errorf("%v", err)
	}
	if res := b.find(&op.WorkbenchFindRequest{Committed: ptr(false)}); found(res) != "" {
		t.Errorf("%q", found(res))
	}
	if _, err := b.Commit(ctx, commitOf(`{"run":"B"}`, 2, true)); err != nil {
		t.Fatal(err)
	}
}
