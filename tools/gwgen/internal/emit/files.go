package emit

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
)

// Files collects what is written below gen, by path.
type Files map[string][]byte

// Go adds a Go file.
func (fs Files) Go(name string, f *gocode.File) error {
	b, err := f.Bytes()
	if err != nil {
		return fmt.Errorf("gen/%s: %w\n%s", name, err, b)
	}
	fs[name] = b
	return nil
}

// runtime holds the hand-written parts that are copied into gen next to what is generated: one directory a package.
// They are ordinary packages, so that they compile and have tests of their own; standin.go is not copied.
//
//go:embed runtime/*/*.go
var runtime embed.FS

// copyFile copies one file of a runtime package into another package of gen.
func copyFile(from, name, dir, pkg string, out Files) error {
	src := path.Join("runtime", from, name)
	b, err := fs.ReadFile(runtime, src)
	if err != nil {
		return err
	}
	text := strings.Replace(string(b), "package "+from+"\n", "package "+pkg+"\n", 1)
	out[dir+"/"+name] = []byte(copied(src) + text)
	return nil
}

// copyTemplate copies a directory whose files compile only next to what is generated; a build tag keeps them apart
// until then.
func copyTemplate(from, dir string, out Files) error {
	entries, err := fs.ReadDir(runtime, "runtime/"+from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		src := path.Join("runtime", from, e.Name())
		b, err := fs.ReadFile(runtime, src)
		if err != nil {
			return err
		}
		out[dir+"/"+e.Name()] = []byte(copied(src) + strings.Replace(string(b), "//go:build gwgen_template\n\n", "", 1))
	}
	return nil
}

func copied(src string) string {
	return "// Code copied by gwgen from tools/gwgen/internal/emit/" + src + ". DO NOT EDIT.\n\n"
}

func copyRuntime(pkg string, out Files) error {
	dir := "runtime/" + pkg
	entries, err := fs.ReadDir(runtime, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "standin.go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		b, err := fs.ReadFile(runtime, path.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		out[pkg+"/"+e.Name()] = append([]byte(copied(path.Join(dir, e.Name()))), b...)
	}
	return nil
}

// Sweep deletes what an earlier run wrote below dir and this one did not: files that carry gwgen's header.
func Sweep(dir string, keep Files) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if _, ok := keep[filepath.ToSlash(rel)]; ok {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(string(b[:min(len(b), 200)]), "\n")
		if strings.Contains(line, " by gwgen from ") {
			return os.Remove(p)
		}
		return nil
	})
}
