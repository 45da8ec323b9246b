package main

import (
	"strings"
	"testing"
)

// TestTheRepositoryKeepsItsRules is the check itself, so that a plain go test shows a broken rule too.
func TestTheRepositoryKeepsItsRules(t *testing.T) {
	repository, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check(repository, table) {
		t.Error(f)
	}
}

// good is a small repository in which nothing is wrong.
func good() tree {
	return tree{
		"core/README.md":        []byte("core\n"),
		"core/kv/doc.go":        []byte("package kv\n"),
		"core/kv/kv.go":         []byte("package kv\n\nimport _ \"github.com/cockroachdb/pebble/v2\"\n"),
		"core/clock/doc.go":     []byte("package clock\n\nimport \"time\"\n\nvar now = time.Now\n"),
		"server/README.md":      []byte("server\n"),
		"server/http/http.go":   []byte("package http\n\nimport _ \"" + module + "/core/clock\"\n"),
		"server/http/a_test.go": []byte("package http\n"),
	}
}

var testRules = []rule{
	{from: "any", to: pebble, but: []string{"core/kv/..."}, tests: true, reason: "one package knows the engine"},
	{from: "server/...", to: "core/kv/...", reason: "adapters know no store"},
	{from: "server/...", to: "own", allow: []string{"core/clock"}, reason: "only the clock"},
}

func TestAGoodTreeHasNoFindings(t *testing.T) {
	for _, f := range check(good(), testRules) {
		t.Error(f)
	}
}

// TestEveryRuleRefuses breaks the good tree in one way at a time and demands the finding that names it.
func TestEveryRuleRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		path, content, want string
	}{
		"a foreign engine":        {"server/http/x.go", "package http\n\nimport _ \"github.com/cockroachdb/pebble/v2\"\n", "server/http/x.go:3: server/http imports github.com/cockroachdb/pebble/v2: one package knows"},
		"in tests too":            {"server/http/x_test.go", "package http\n\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"\n", "one package knows the engine"},
		"a forbidden package":     {"server/http/x.go", "package http\n\nimport _ \"" + module + "/core/kv\"\n", "adapters know no store"},
		"not in the allowed list": {"server/http/x.go", "package http\n\nimport _ \"" + module + "/core/keys\"\n", "only the clock"},
		"the clock":               {"core/kv/x.go", "package kv\n\nimport \"time\"\n\nvar t = time.Since\n", "core/kv/x.go:5: time.Since in core"},
		"the clock, renamed":      {"core/kv/x.go", "package kv\n\nimport late \"time\"\n\nvar t = late.Now\n", "time.Now in core"},
		"a sleeping test":         {"server/http/x_test.go", "package http\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", "time.Sleep in a test"},
		"a skipped test":          {"server/http/x_test.go", "package http\n\nfunc f(t interface{ Skip() }) { t.Skip() }\n", "t.Skip: a test that is skipped"},
		"a long file":             {"server/http/x.go", "package http\n" + strings.Repeat("\n", 800), "801 lines"},
		"no page":                 {"tools/x.go", "package tools\n", "tools: no README.md"},
		"no invariants":           {"core/blob/x.go", "package blob\n", "core/blob: no doc.go"},
		"a registry":              {"server/x.json", `{"resolved": "https://registry.npmjs` + `.org/x"}`, "server/x.json:1: names a registry's host"},
		"somebody's machine":      {"server/x.sh", "cd /ro" + "ot/x\n", "names a path of somebody's machine"},
		"unfinished":              {"server/x.md", "TO" + "DO: finish\n", "is unfinished"},
		"broken Go":               {"server/http/x.go", "package\n", "does not parse"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := good()
			broken[c.path] = []byte(c.content)
			var all []string
			for _, f := range check(broken, testRules) {
				all = append(all, f.String())
			}
			if got := strings.Join(all, "\n"); !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// TestARuleAboutNothingFails takes away, one at a time, what a row speaks of.
func TestARuleAboutNothingFails(t *testing.T) {
	for name, r := range map[string]rule{
		"from":  {from: "core/nothing/...", to: "any", reason: "x"},
		"but":   {from: "any", to: "core/nothing", but: []string{"core/other"}, reason: "x"},
		"allow": {from: "server/...", to: "core/nothing", allow: []string{"core/other"}, reason: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			found := check(good(), append([]rule{r}, testRules...))
			if len(found) != 1 || !strings.Contains(found[0].text, name) || !strings.Contains(found[0].text, "matches nothing") {
				t.Errorf("found %v, want one finding about %s", found, name)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, pkg string
		want         bool
	}{
		{"core/kv", "core/kv", true},
		{"core/kv", "core/kv/kvtest", false},
		{"core/kv/...", "core/kv", true},
		{"core/kv/...", "core/kvx", false},
		{"std", "net/http", true},
		{"std", "core/kv", false},
		{"std", "golang.org/x/sys/unix", false},
		{"own", "core", true},
		{"own", "corelib", false},
		{"any", "core", true},
	} {
		if got := matches(c.pattern, c.pkg); got != c.want {
			t.Errorf("matches(%q, %q) = %t", c.pattern, c.pkg, got)
		}
	}
}
