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
		out[pkg+"/"+e.Name()] = append([]byte("// Code copied by gwgen from tools/gwgen/internal/emit/"+path.Join(dir, e.Name())+". DO NOT EDIT.\n\n"), b...)
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
