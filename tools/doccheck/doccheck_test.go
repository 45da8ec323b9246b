package main

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheRepositorysPagesNameWhatIsThere(t *testing.T) {
	findings, _, err := check(context.Background(), "../..", "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func repository() fstest.MapFS {
	return fstest.MapFS{
		"Makefile":               {Data: []byte("GO ?= go\n.PHONY: build\nbuild: ## compile\n\tgo build\ncheck-generate: build\n")},
		"spec/README.md":         {Data: []byte("spec")},
		"spec/openapi/jobs.yaml": {Data: []byte("x")},
		"core/kv/kv.go":          {Data: []byte("package kv")},
		"core/blob/blob.go":      {Data: []byte("package blob")},
	}
}

func namesOf(t *testing.T, name, text string) []string {
	t.Helper()
	targets, err := makeTargets(repository())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range parse(name, text).names(repository(), targets, func(name string) bool { return name == "spec/made" }) {
		all = append(all, f.String())
	}
	return all
}

func TestWhatIsThereIsNoFinding(t *testing.T) {
	text := strings.Join([]string{
		"`core/kv`, `core/{kv,blob}/...`, `spec/openapi/*.yaml`, `core/kv/NAME.go`, `spec/openapi/jobs.yaml`, `spec/made`.",
		"`make build`, [the spec](../spec/README.md#top), [elsewhere](https://example.com/x), core/none in prose.",
		"```sh",
		"make build check-generate",
		"go run ./core/kv",
		"```",
	}, "\n")
	if found := namesOf(t, "core/README.md", text); len(found) > 0 {
		t.Error(found)
	}
}

func TestWhatIsNotThereIsAFinding(t *testing.T) {
	for text, want := range map[string]string{
		"x\n`core/none`":             "core/README.md:2: names core/none",
		"`core/{kv,none}`":           "names core/none",
		"`core/none/NAME`":           "names core/none",
		"`spec/openapi/*.json`":      "names spec/openapi/*.json",
		"```\ngo run ./tools/x\n```": "core/README.md:2: names tools/x",
		"`make bench`":               "names make bench",
		"[x](kv/other.go)":           "links to kv/other.go",
	} {
		if found := strings.Join(namesOf(t, "core/README.md", text), "\n"); !strings.Contains(found, want) {
			t.Errorf("%q: found %q, want %q", text, found, want)
		}
	}
}

func TestMarkedBlocksAreRun(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"exits 0":           {"```sh run\ntrue\n```", ""},
		"exits 1":           {"```sh run\nfalse\n```", "the block fails: exit status 1"},
		"not marked":        {"```sh\nfalse\n```", ""},
		"a language":        {"```go run\nx\n```", `a block of "go" cannot be run`},
		"a session":         {"```console run\n$ echo one; echo two\none\ntwo\n$ true\n$ x=3\n$ echo $x and more\n3 and ...\n```", ""},
		"lines in between":  {"```console run\n$ seq 9\n1\n...\n9\n```", ""},
		"another output":    {"```console run\n$ echo one\ntwo\n```", "and the page says\ntwo"},
		"no output":         {"```console run\n$ echo one\n```", "and the page says"},
		"missing output":    {"```console run\n$ true\none\n```", "and the page says\none"},
		"a failing command": {"```console run\n$ false\n```", "the session fails"},
		"nothing to do":     {"```console run\n```", "a session without a command"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, b := range parse("x.md", c.text).blocks {
				if b.run {
					for _, f := range b.execute(t.Context(), t.TempDir(), "x.md") {
						all = append(all, f.String())
					}
				}
			}
			found := strings.Join(all, "\n")
			if c.want == "" && found != "" || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
