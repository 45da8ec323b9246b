package jail

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWorkbenchIDs(t *testing.T) {
	good := []string{"a", "Z", "0", "wb-main", "wb_main", "9-_", strings.Repeat("x", 128)}
	for _, id := range good {
		if err := CheckID(id); err != nil {
			t.Errorf("%q refused: %v", id, err)
		}
	}
	bad := []string{"", "-a", "_a", ".a", "a.b", "a/b", "a b", "a\x00", "ä", "aä", "..", "a\\b", "%2e%2e", strings.Repeat("x", 129)}
	for _, id := range bad {
		err := CheckID(id)
		var v *Violation
		if !errors.As(err, &v) || v.Kind != BadID || v.Member != "$.id" {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestTargets(t *testing.T) {
	long := func(components, total int) string {
		s := strings.Repeat("a/", components-1)
		return s + strings.Repeat("b", total-len(s))
	}
	cases := []struct {
		section, path string
		full          string // "" = refused
		rule          string
	}{
		{"outputs", "a.txt", "outputs/a.txt", ""},
		{"outputs", "input/x", "outputs/input/x", ""},
		{"outputs", "x/outputs", "outputs/x/outputs", ""},
		{"outputs", "Outputs/x", "outputs/Outputs/x", ""},
		{"outputs", "outputs-old/x", "outputs/outputs-old/x", ""},
		{"logs", "日本/語.txt", "logs/日本/語.txt", ""},
		{"logs", "...", "logs/...", ""},
		{"logs", ".hidden", "logs/.hidden", ""},
		{"logs", "a..b", "logs/a..b", ""},
		{"logs", "line\nbreak", "logs/line\nbreak", ""},
		{"logs", "%2e%2e/x", "logs/%2e%2e/x", ""}, // a name as good as any: nothing here decodes
		{"logs", " ", "logs/ ", ""},
		{"metadata", "run_manifest.json", "metadata/run_manifest.json", ""},
		{"input", long(63, 200), "input/" + long(63, 200), ""},
		{"input", long(1, 4096-6), "input/" + long(1, 4096-6), ""},

		{"outputs", "", "", "empty"},
		{"outputs", "/a", "", "leading slash"},
		{"outputs", "a/", "", "empty component"},
		{"outputs", "a//b", "", "empty component"},
		{"outputs", ".", "", ". or .."},
		{"outputs", "..", "", ". or .."},
		{"outputs", "a/../b", "", ". or .."},
		{"outputs", "a/.", "", ". or .."},
		{"outputs", "a\\b", "", "backslash"},
		{"outputs", "..\\b", "", "backslash"},
		{"outputs", "a\x00b", "", "NUL"},
		{"outputs", "a\xffb", "", "UTF-8"},
		{"outputs", "\xc0\xae\xc0\xae/x", "", "UTF-8"},
		{"outputs", "a\xed\xa0\x80", "", "UTF-8"},
		{"outputs", "outputs/a", "", "repeats the section"},
		{"outputs", "outputs", "", "repeats the section"},
		{"outputs", long(65, 300), "", "64 components"},
		{"input", long(64, 300), "", "64 components with the section"},
		{"outputs", long(1, 4097), "", "4096 bytes"},
		{"input", long(1, 4096-5), "", "4096 bytes long with the section"},
		{"", "a", "", "must be one of"},
		{"Outputs", "a", "", "must be one of"},
		{"outputs/..", "a", "", "must be one of"},
	}
	for _, c := range cases {
		p, err := ParseTarget("wb1", c.section, c.path)
		if c.full != "" {
			if err != nil || p.Full != c.full || p.Relative != c.path || p.Section.String() != c.section || p.ID != "wb1" {
				t.Errorf("%s %q: %+v, %v", c.section, c.path, p, err)
			}
			continue
		}
		var v *Violation
		if !errors.As(err, &v) || v.Kind != BadPath || !strings.Contains(err.Error(), c.rule) {
			t.Errorf("%s %q: got %v, want %q", c.section, c.path, err, c.rule)
		}
	}
	if _, err := ParseTarget("-", "outputs", "a"); err == nil {
		t.Error("a bad id went through ParseTarget")
	}
}

func TestReservedManifestsCannotBeWritten(t *testing.T) {
	for _, path := range []string{"run_manifest.json", "restore_manifest.json"} {
		_, err := ParseWritable("wb1", "metadata", path)
		var v *Violation
		if !errors.As(err, &v) || v.Kind != ReservedAt {
			t.Errorf("metadata/%s: %v", path, err)
		}
		if _, err := ParseTarget("wb1", "metadata", path); err != nil {
			t.Errorf("metadata/%s cannot be read: %v", path, err)
		}
		for _, open := range [][2]string{{"outputs", path}, {"metadata", "sub/" + path}, {"outputs", "metadata/" + path}} {
			if _, err := ParseWritable("wb1", open[0], open[1]); err != nil {
				t.Errorf("%v: %v", open, err)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	s := func(v string) *string { return &v }
	cases := []struct {
		section, path  *string
		full, relative string
		kind           Kind
	}{
		{nil, nil, "", "", 0},
		{nil, s(""), "", "", 0},
		{s("logs"), nil, "logs", "", 0},
		{s("logs"), s(""), "logs", "", 0},
		{s("logs"), s("a/b"), "logs/a/b", "a/b", 0},
		{nil, s("outputs/report.txt"), "outputs/report.txt", "outputs/report.txt", 0},
		{nil, s("outputs"), "outputs", "outputs", 0},
		{nil, s("elsewhere/x"), "elsewhere/x", "elsewhere/x", 0},
		{s("logs"), s("logs/a"), "", "", BadPath},
		{s("nope"), nil, "", "", BadPath},
		{s(""), nil, "", "", BadPath},
		{nil, s("/"), "", "", BadPath},
		{nil, s("a/../../b"), "", "", BadPath},
	}
	for _, c := range cases {
		p, err := ParseScope("wb1", c.section, c.path)
		var v *Violation
		if c.kind != 0 {
			if !errors.As(err, &v) || v.Kind != c.kind {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || p.Full != c.full || p.Relative != c.relative || p.Root() != (c.full == "") {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
	}
	if p, _ := ParseScope("wb1", nil, s("outputs")); !p.SectionRoot() {
		t.Error("a section named by its path is not taken for one")
	}
	if p, _ := ParseScope("wb1", s("outputs"), s("x")); p.SectionRoot() {
		t.Error("a path below a section is taken for a section")
	}
}

func TestRoots(t *testing.T) {
	deep := strings.Repeat("/c", 64)
	good := map[string]Root{
		"/agents/default/wb":            "/agents/default/wb",
		"//agents///x/wb/":              "/agents/x/wb",
		"/x":                            "/x",
		"/ä/日本":                         "/ä/日本",
		deep + "/":                      Root(deep),
		strings.Repeat("/", 9000) + "x": "/x",
	}
	for in, want := range good {
		if got, err := ParseRoot(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "/", "///", "x", "x/y", "/a/../b", "/.", "/a\\b", "/a\x00", "/\xff", deep + "/d", "/" + strings.Repeat("y", 4096)} {
		if got, err := ParseRoot(in); err == nil {
			t.Errorf("%q accepted as %q", in, got)
		}
	}
	if got := DefaultRoot.Path("wb1", "outputs/a"); got != "/agents/default/wb/wb1/outputs/a" {
		t.Error(got)
	}
	if got := DefaultRoot.Path("wb1", ""); got != "/agents/default/wb/wb1" {
		t.Error(got)
	}
}

func TestPathOrderIsByComponent(t *testing.T) {
	want := []string{"a", "a/x", "a/x/y", "a\x01", "a!b", "a-b", "a-b/x", "a.b", "ab", "b", "ä"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSectionsInPathOrderAreSorted(t *testing.T) {
	var names []string
	for _, s := range SectionsInPathOrder() {
		names = append(names, s.String())
	}
	if !slices.IsSortedFunc(names, Compare) {
		t.Error(names)
	}
	declared := SectionNames()
	slices.Sort(declared)
	if !slices.Equal(declared, names) {
		t.Error(declared, names)
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a", "a/b", "..", "a/../b", "\\", "\x00", "outputs/x", "日本", "a//b", "/", "%2e%2e%2f", "\xff"} {
		f.Add("wb1", "outputs", s)
		f.Add(s, "metadata", "run_manifest.json")
	}
	f.Fuzz(func(t *testing.T, id, section, path string) {
		p, err := ParseTarget(id, section, path)
		if err != nil {
			var v *Violation
			if !errors.As(err, &v) || v.Member == "" || v.Rule == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		// J1
		if !utf8.ValidString(p.Full) || len(p.Full) > MaxPathBytes || strings.Count(p.Full, "/") >= MaxComponents || strings.ContainsAny(p.Full, "\\\x00") {
			t.Fatalf("%q broke J1", p.Full)
		}
		for c := range strings.SplitSeq(p.Full, "/") {
			if c == "" || c == "." || c == ".." {
				t.Fatalf("%q broke J1", p.Full)
			}
		}
		// J2
		if s, rest := Split(p.Full); s != p.Section || rest != p.Relative {
			t.Fatalf("%q split into %v %q", p.Full, s, rest)
		}
		// J4
		if !strings.HasPrefix(DefaultRoot.Path(p.ID, p.Full), string(DefaultRoot)+"/"+id+"/"+section+"/") {
			t.Fatal(DefaultRoot.Path(p.ID, p.Full))
		}
	})
}

func FuzzCompare(f *testing.F) {
	f.Add("a/x", "a-b/x")
	f.Add("a", "a/b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if checkRelative(a) != nil || checkRelative(b) != nil {
			return
		}
		// J3, said the slow way: compare the lists of components.
		want := slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
		if got := Compare(a, b); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Fatalf("%q %q: %d, want %d", a, b, got, want)
		}
		if Name(a) != strings.Split(a, "/")[strings.Count(a, "/")] {
			t.Fatal(Name(a))
		}
	})
}

func BenchmarkParseTarget(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseTarget("wb-main", "outputs", "reports/2026/summary.txt"); err != nil {
			b.Fatal(err)
		}
	}
}
