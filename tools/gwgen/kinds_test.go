package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestEveryKindOfValue generates from sources that use every kind of value the intermediate form has, in a module of its
// own, and runs tests there against the generated code.
func TestEveryKindOfValue(t *testing.T) {
	dir := t.TempDir()
	spec := filepath.Join(dir, "spec")
	if err := os.CopyFS(spec, os.DirFS("testdata/base")); err != nil {
		t.Fatal(err)
	}
	edits, err := txtar.ParseFile("testdata/kinds/edits.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range edits.Files {
		edit(t, filepath.Join(spec, strings.TrimPrefix(f.Name, "edit ")), string(f.Data))
	}
	src, err := load(spec)
	if err != nil {
		t.Fatal(err)
	}
	files, err := src.emit()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What buf and oapi-codegen write is not there, so neither is what stands on it; the reader of parameters needs
	// only gen/op.
	write("go.mod", []byte("module github.com/sawhorse-dev/sawhorse\n\ngo 1.26.0\n"))
	for name, b := range files {
		if strings.HasPrefix(name, "bind/connect/") || name == "bind/http/mount.go" || name == "README.md" {
			continue
		}
		text := string(b)
		if name == "bind/http/routes.go" {
			from, to := strings.Index(text, "// Params reads"), len(text)
			text = "package bindhttp\n\nimport (\n\t\"net/http\"\n\n\t\"github.com/sawhorse-dev/sawhorse/gen/op\"\n)\n\n" + text[from:to]
		}
		write("gen/"+name, []byte(text))
	}
	for from, to := range map[string]string{"kinds_test.go.txt": "gen/op/kinds_test.go", "params_test.go.txt": "gen/bind/http/params_test.go"} {
		b, err := os.ReadFile(filepath.Join("testdata/kinds", from))
		if err != nil {
			t.Fatal(err)
		}
		write(to, b)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./gen/op", "./gen/bind/http"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
