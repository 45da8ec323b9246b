package workbench_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// grep asks for lines of the whole of wb1, and checks the answer's shape.
func (b *bench) grep(pattern string, change func(*op.WorkbenchGrepRequest)) (*op.WorkbenchGrepResult, error) {
	b.t.Helper()
	req := &op.WorkbenchGrepRequest{ID: "wb1", Pattern: pattern, Recursive: true}
	if change != nil {
		change(req)
	}
	res, err := b.Grep(ctx, req)
	if err == nil {
		valid(b.t, res)
	}
	return res, err
}

// lines are path:line:snippet of every match, paths from the workbench's root.
func lines(res *op.WorkbenchGrepResult) []string {
	out := []string{}
	for _, m := range res.Matches {
		out = append(out, fmt.Sprintf("%s:%d:%s", strings.TrimPrefix(m.Path, res.WorkbenchPath+"/"), m.LineNumber, m.Snippet))
	}
	return out
}

// grepAll follows the cursors to the end.
func (b *bench) grepAll(pattern string, change func(*op.WorkbenchGrepRequest), between func()) (found []string, scanned, pages int64) {
	b.t.Helper()
	var cursor *string
	for ; ; pages++ {
		if pages > 5000 {
			b.t.Fatal("no end")
		}
		res, err := b.grep(pattern, func(req *op.WorkbenchGrepRequest) {
			if change != nil {
				change(req)
			}
			req.Cursor = cursor
		})
		if err != nil {
			b.t.Fatal(err)
		}
		found = append(found, lines(res)...)
		scanned += res.FilesScanned
		if cursor = res.NextCursor; cursor == nil {
			return found, scanned, pages + 1
		}
		if between != nil {
			between()
		}
	}
}

func (b *bench) wantLines(res *op.WorkbenchGrepResult, err error, scanned int64, want ...string) {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
		return
	}
	if got := lines(res); !slices.Equal(got, append([]string{}, want...)) || res.FilesScanned != scanned {
		b.t.Errorf("found %q in %d files, want %q in %d", got, res.FilesScanned, want, scanned)
	}
}

// store puts a body of any size anywhere in wb1.
func (b *bench) store(section, path string, body io.Reader) {
	b.t.Helper()
	if _, err := b.StoreFile(ctx, op.FileRef{ID: "wb1", Section: section, Path: path}, op.FileCondition{}, "", body, -1); err != nil {
		b.t.Fatal(err)
	}
}

func TestGrepAnswer(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\nTWO two\r\nthree")
	b.put("sub/b.txt", "two\n")
	b.store("logs", "x.log", strings.NewReader("two"))
	res, err := b.grep("Two", nil)
	b.wantLines(res, err, 3, "logs/x.log:1:two", "outputs/a.txt:2:TWO two", "outputs/sub/b.txt:1:two")
	if res.Pattern != "Two" || !res.Recursive || res.Section != nil || res.RelativePath != nil || res.Path != "/agents/default/wb/wb1" || res.Truncated || res.NextCursor != nil {
		t.Errorf("%+v", res)
	}
	m := res.Matches[2]
	if *m.Section != "outputs" || *m.RelativePath != "sub/b.txt" || m.Path != "/agents/default/wb/wb1/outputs/sub/b.txt" {
		t.Errorf("%+v", m)
	}
	res, err = b.grep("two", func(r *op.WorkbenchGrepRequest) { r.Section, r.Path = ptr("outputs"), ptr("sub") })
	b.wantLines(res, err, 1, "outputs/sub/b.txt:1:two")
	if *res.Section != "outputs" || *res.RelativePath != "sub" || res.Path != "/agents/default/wb/wb1/outputs/sub" {
		t.Errorf("%+v", res)
	}
}

func TestGrepScopes(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{"src/x", "src-gen/x", "a", "a/below", "z"} {
		b.put(p, "hit")
	}
	scope := func(section, path *string, recursive bool) (*op.WorkbenchGrepResult, error) {
		return b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Section, r.Path, r.Recursive = section, path, recursive })
	}
	out := ptr("outputs")
	all := []string{"outputs/a:1:hit", "outputs/a/below:1:hit", "outputs/src/x:1:hit", "outputs/src-gen/x:1:hit", "outputs/z:1:hit"}
	res, err := scope(nil, nil, true)
	b.wantLines(res, err, 5, all...)
	res, err = scope(nil, ptr("outputs"), true)
	b.wantLines(res, err, 5, all...)
	if res.Section != nil || *res.RelativePath != "outputs" || *res.Matches[0].Section != "outputs" {
		t.Errorf("%+v", res)
	}
	res, err = scope(out, ptr(""), true)
	b.wantLines(res, err, 5, all...)
	// Not below the root itself: no section is looked into.
	res, err = scope(nil, nil, false)
	b.wantLines(res, err, 0)
	res, err = scope(out, nil, false)
	b.wantLines(res, err, 2, all[0], all[4])
	// A name that is a file and a directory is the file.
	res, err = scope(out, ptr("a"), true)
	b.wantLines(res, err, 1, all[0])
	res, err = scope(out, ptr("src"), true)
	b.wantLines(res, err, 1, all[2])
	res, err = scope(ptr("logs"), nil, true)
	b.wantLines(res, err, 0)
	_, err = scope(out, ptr("sr"), true)
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/sr")
	_, err = b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.ID = "other" })
	refused(t, err, op.ReasonWBNotFound, "path", "")
}

func TestGrepPatterns(t *testing.T) {
	b := newBench(t)
	b.store("outputs", "t", strings.NewReader("alpha\nbeta\ngam|ma\n|\n日本語\nİstanbul\n\u212a\n\xff\n"))
	of := func(pattern string, more []string, want ...string) {
		t.Helper()
		res, err := b.grep(pattern, func(r *op.WorkbenchGrepRequest) { r.Patterns = more })
		if err != nil {
			t.Errorf("%q %q: %v", pattern, more, err)
			return
		}
		got := []string{}
		for _, m := range res.Matches {
			got = append(got, m.Snippet)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q %q finds %q, want %q", pattern, more, got, want)
		}
	}
	of("ALPHA", nil, "alpha")
	of("alpha|BETA", nil, "alpha", "beta")
	of("|alpha||", nil, "alpha")
	of("|", nil, "gam|ma", "|")
	of("m|m", []string{"zzz"}, "gam|ma")
	of("", []string{"beta", "BETA"}, "beta")
	of("zzz", []string{}, []string{}...)
	of("本", nil, "日本語")
	of("k", nil, "\u212a")
	of("i̇ST", nil, "İstanbul")
	of("\uFFFD", nil, "\uFFFD")
	of(strings.Repeat("zzz|", 15)+"alpha", nil, "alpha")
	for _, c := range []struct {
		pattern string
		more    []string
		member  string
	}{
		{"", nil, "$.pattern"}, {"", []string{}, "$.pattern"}, {"x", []string{"a", ""}, "$.patterns[1]"},
		{strings.Repeat("a|", 17), nil, "$.pattern"}, {strings.Repeat("a", 16385), nil, "$.pattern"}, {"", []string{strings.Repeat("a", 16385)}, "$.patterns[0]"},
		{"x", make([]string, 17), "$.patterns"},
	} {
		_, err := b.grep(c.pattern, func(r *op.WorkbenchGrepRequest) { r.Patterns = c.more })
		refused(t, err, op.ReasonWBInvalidArguments)
		if err != nil && !strings.HasPrefix(err.Error(), c.member+":") && !strings.Contains(err.Error(), c.member+":") {
			t.Errorf("%v does not name %s", err, c.member)
		}
	}
	for _, n := range []int32{0, 301} {
		_, err := b.grep("x", func(r *op.WorkbenchGrepRequest) { r.Limit = &n })
		refused(t, err, op.ReasonWBInvalidArguments)
	}
}

func TestGrepGlob(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{"a.txt", "A.TXT", "b.md", "dir.txt/c", "dir.txt/日.txt"} {
		b.put(p, "hit")
	}
	of := func(glob string, want ...string) {
		t.Helper()
		res, err := b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Glob, r.Section = &glob, ptr("outputs") })
		b.wantLines(res, err, int64(len(want)), want...)
	}
	of("*.txt", "outputs/a.txt:1:hit", "outputs/dir.txt/日.txt:1:hit")
	of("?.txt", "outputs/a.txt:1:hit", "outputs/dir.txt/日.txt:1:hit")
	of("*", "outputs/A.TXT:1:hit", "outputs/a.txt:1:hit", "outputs/b.md:1:hit", "outputs/dir.txt/c:1:hit", "outputs/dir.txt/日.txt:1:hit")
	of("txt")
	for _, bad := range []string{"", "a/b", `a\b`, strings.Repeat("*", 4097)} {
		_, err := b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Glob = &bad })
		refused(t, err, op.ReasonWBInvalidArguments)
	}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		text := func(of string) string {
			r, out := []rune(of), []rune{}
			for range rng.IntN(8) {
				out = append(out, r[rng.IntN(len(r))])
			}
			return string(out)
		}
		glob, name := text("ab日*?"), text("ab日")
		if want, err := path.Match(glob, name); err != nil || workbench.MatchGlob(glob, name) != want {
			t.Errorf("%q and %q: want %v", glob, name, want)
		}
	}
}

// The snippet is the beginning of the line, however long and wherever the match
// is.
func TestGrepSnippets(t *testing.T) {
	b := newBench(t)
	b.put("long", strings.Repeat("語", 100_000)+"needle\r\nneedle"+strings.Repeat("x", 300)+"\nneedle\r")
	res, err := b.grep("needle", nil)
	b.wantLines(res, err, 1, "outputs/long:1:"+strings.Repeat("語", 240), "outputs/long:2:needle"+strings.Repeat("x", 234), "outputs/long:3:needle\r")
}

func TestGrepSkipsFilesWithANUL(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = 200_000 })
	hits := strings.Repeat("hit\n", 20)
	b.store("outputs", "a", strings.NewReader(hits+"\x00"))
	b.store("outputs", "b", strings.NewReader("hit"))
	b.store("outputs", "c", strings.NewReader(hits+strings.Repeat("x", 150_000)+"\x00"))
	res, err := b.grep("hit", nil)
	b.wantLines(res, err, 3, "outputs/b:1:hit")
	// A NUL behind what fits the page counts too.
	res, err = b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(2)) })
	b.wantLines(res, err, 3, "outputs/b:1:hit")
	if res.NextCursor != nil {
		t.Error("there is nothing more, and a cursor")
	}
	// Of a file beyond the ordinary size, what came before stays.
	b.store("outputs", "d", strings.NewReader(hits+strings.Repeat("y", 250_000)+"\x00"))
	found, scanned, _ := b.grepAll("hit", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(7)) }, nil)
	if len(found) != 1+14 && len(found) != 1+20 || scanned != 4 {
		t.Errorf("found %d lines in %d files: %q", len(found), scanned, found)
	}
	// One page that comes to the NUL gives none of the file.
	found, _, _ = b.grepAll("hit", nil, nil)
	if len(found) != 1 {
		t.Errorf("%q", found)
	}
}

// Interop 12.4.
func TestGrepQueryVector(t *testing.T) {
	sum, err := workbench.GrepQuery(&op.WorkbenchGrepRequest{ID: "wb-main", Section: ptr("outputs"), Path: ptr(""), Recursive: true,
		Pattern: "HELLO", Patterns: []string{"SECOND", "hello"}, Glob: ptr("*.txt")})
	if got := hex.EncodeToString(sum[:]); err != nil || got != "a43b22c5ff49524a4ea6ee1d096e1002d06aca76d965afc208515b9ccb9fbd70" {
		t.Error(got, err)
	}
}

func TestGrepCursorsBelongToTheirRequest(t *testing.T) {
	b := newBench(t)
	b.put("a", "hit\nhit\nhit")
	one := func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(1)) }
	res, err := b.grep("hit", one)
	b.wantLines(res, err, 1, "outputs/a:1:hit")
	cursor := res.NextCursor
	for name, change := range map[string]func(r *op.WorkbenchGrepRequest){
		"pattern":   func(r *op.WorkbenchGrepRequest) { r.Pattern = "hi" },
		"patterns":  func(r *op.WorkbenchGrepRequest) { r.Patterns = []string{"x"} },
		"recursive": func(r *op.WorkbenchGrepRequest) { r.Recursive = false },
		"section":   func(r *op.WorkbenchGrepRequest) { r.Section = ptr("outputs") },
		"path":      func(r *op.WorkbenchGrepRequest) { r.Path = ptr("outputs") },
		"glob":      func(r *op.WorkbenchGrepRequest) { r.Glob = ptr("*") },
		"id":        func(r *op.WorkbenchGrepRequest) { r.ID = "wb2" },
		"cursor":    func(r *op.WorkbenchGrepRequest) { r.Cursor = ptr("r:1") },
	} {
		_, err := b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Cursor = cursor; change(r) })
		if err == nil {
			t.Errorf("another %s is served", name)
		}
		refused(t, err, op.ReasonWBBadCursor)
	}
	// The limit may change.
	res, err = b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Cursor = cursor })
	b.wantLines(res, err, 0, "outputs/a:2:hit", "outputs/a:3:hit")
	if res.Truncated || res.NextCursor != nil {
		t.Error("a cursor with nothing left")
	}
	// Nothing is left after the last line either.
	res, err = b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(3)) })
	if err != nil || res.NextCursor != nil {
		t.Error(res, err)
	}
}

// WB-28: writers neither break nor blur a grep, also past the history window.
func TestGrepShowsOneRevision(t *testing.T) {
	b := newBench(t)
	for i := range 40 {
		b.put(fmt.Sprintf("f%02d", i), fmt.Sprintf("hit %d\nmiss\nhit again\n", i))
	}
	want, _, _ := b.grepAll("hit", nil, nil)
	n := 0
	got, scanned, pages := b.grepAll("hit", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(3)) }, func() {
		n++
		b.replace(fmt.Sprintf("f%02d", n%40), "hit: nothing like before\nhit\nhit\nhit")
		b.put(fmt.Sprintf("e%02d", n), "hit")
		b.put(fmt.Sprintf("f%02d/below", n%40), "hit")
		b.env.Clock.Advance(b.env.Store.HistoryWindow() / 3)
		b.turn("f00")
		if n == 20 {
			b.reopen()
		}
	})
	if !slices.Equal(got, want) || scanned != 40 || pages < 26 {
		t.Errorf("%d pages gave %q, want %q", pages, got, want)
	}
	b.env.Clock.Advance(2 * time.Hour)
	b.turn("f00")
	b.wantHolds(0)
	res, err := b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(1)) })
	if err != nil {
		t.Fatal(err)
	}
	b.turn("f00")
	b.env.Clock.Advance(2 * b.env.Store.HistoryWindow())
	b.turn("f00")
	_, err = b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Cursor = res.NextCursor })
	refused(t, err, op.ReasonWBReadFenceChanged, "operation", "grep")
}

// grepModel is what grep is to find, in plain terms.
func grepModel(files map[string]string, scope string, recursive bool, pattern, glob string) (found []string, scanned int64) {
	paths := []string{}
	for p := range files {
		_, exact := files[scope]
		rest, below := strings.CutPrefix(p, scope+"/")
		if scope == "" {
			rest, below = p, true
		}
		name := p[strings.LastIndexByte(p, '/')+1:]
		ok, _ := path.Match(glob, name)
		if ok && (exact && p == scope || !exact && below && (recursive || !strings.Contains(rest, "/"))) {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(paths, jail.Compare)
	for _, p := range paths {
		scanned++
		if strings.Contains(files[p], "\x00") {
			continue
		}
		text := files[p]
		for n := 1; text != ""; n++ {
			line, rest, ended := strings.Cut(text, "\n")
			text = rest
			if ended {
				line = strings.TrimSuffix(line, "\r")
			}
			if strings.Contains(strings.ToLower(line), strings.ToLower(pattern)) {
				r := []rune(line)
				found = append(found, fmt.Sprintf("%s:%d:%s", p, n, string(r[:min(240, len(r))])))
			}
		}
	}
	return found, scanned
}

// Any scope, glob and limit, with any budget, gives what the model gives.
func TestGrepAgainstAModel(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 4))
		b := newBench(t)
		files := map[string]string{}
		names := []string{"a", "b", "a-b", "ab", "日"}
		for range 40 {
			p := names[rng.IntN(5)]
			for range rng.IntN(3) {
				p += "/" + names[rng.IntN(5)]
			}
			if _, ok := files["outputs/"+p]; ok {
				continue
			}
			var text strings.Builder
			for range rng.IntN(60) {
				text.WriteString([]string{"hit", "HIT", "ΗΙΤ", "hi", "t", "語", "\n", "\r\n", "\n", " ", "h"}[rng.IntN(11)])
			}
			switch rng.IntN(12) {
			case 0:
				text.WriteString("\x00")
			case 1:
				text.WriteString(strings.Repeat("long ", 40_000+rng.IntN(10_000)) + "hit\nhit\r\n")
			}
			b.put(p, text.String())
			files["outputs/"+p] = text.String()
		}
		for range 25 {
			scope := []string{"outputs", "", "outputs/a", "outputs/b/a", "outputs/a-b"}[rng.IntN(5)]
			recursive := rng.IntN(2) == 0
			pattern := []string{"hit", "h", "語", "ηιτ", "long hit"}[rng.IntN(5)]
			glob := []string{"*", "a*", "?", "*b"}[rng.IntN(4)]
			want, scanned := grepModel(files, scope, recursive, pattern, glob)
			if rng.IntN(2) == 0 {
				b.GrepBudget(1+rng.Int64N(10), 1+rng.Int64N(5), 1+rng.Int64N(300_000))
			} else {
				b.GrepBudget(op.LimitGrepMaxCandidates, op.LimitGrepMaxFiles, op.LimitGrepMaxBytes)
			}
			limit := 1 + rng.Int32N(30)
			change := func(r *op.WorkbenchGrepRequest) {
				r.Recursive, r.Path, r.Glob, r.Limit = recursive, &scope, &glob, &limit
			}
			if _, err := b.grep(pattern, change); err != nil {
				if _, exact := files[scope]; exact || len(want) > 0 {
					t.Fatal(err)
				}
				refused(t, err, op.ReasonWBNotFound, "path", scope)
				continue
			}
			got, n, _ := b.grepAll(pattern, change, nil)
			if !slices.Equal(got, want) || n != scanned {
				t.Fatalf("seed %d: %q in %q (recursive %v, glob %q, limit %d)\n got %d %.2000q\nwant %d %.2000q", seed, pattern, scope, recursive, glob, limit, n, got, scanned, want)
			}
		}
	}
}

// A file that is larger than a page's budget is read in several pages, each from
// where the one before ended.
func TestGrepGoesOnInsideOfAFile(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = 1 << 20 })
	const size = 20 << 20
	text := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for _, at := range []int{5, 3 << 20, 12<<20 + 77, size - 10} {
		copy(text[at:], "NEEDLE")
	}
	text[7<<20] = '\n'
	b.store("outputs", "big", bytes.NewReader(text))
	b.put("small", "needle")
	b.GrepBudget(1000, 1000, 2<<20)
	got, scanned, pages := b.grepAll("needle", nil, nil)
	first, second := string(text[:240]), string(text[7<<20+1:][:240])
	want := []string{"outputs/big:1:" + first, "outputs/big:2:" + second, "outputs/small:1:needle"}
	if !slices.Equal(got, want) || scanned != 2 || pages < 10 || pages > 13 {
		t.Errorf("%d pages, %d files: %.300q", pages, scanned, got)
	}
}

// An anchor that no grep made is refused.
func TestGrepAnchors(t *testing.T) {
	for _, bad := range [][]byte{nil, make([]byte, 16), append(make([]byte, 16), 2), append(make([]byte, 16), 2, 0, 0, 0, 'a'), append(make([]byte, 16), 0, '/', 'a'), append(make([]byte, 16), 2, 1, 1, 2, 'a')} {
		if again, err := workbench.GrepAnchorAgain(bad); err == nil {
			t.Errorf("%x decodes as %x", bad, again)
		}
	}
}

func FuzzGrepAnchor(f *testing.F) {
	f.Add(append(make([]byte, 16), 0))
	f.Add(append(make([]byte, 16), 15, 9, 2, 3, 'a', '/', 'b'))
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := workbench.GrepAnchorAgain(b)
		if err != nil {
			return
		}
		twice, err := workbench.GrepAnchorAgain(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x, then %x, then %x (%v)", b, once, twice, err)
		}
	})
}
