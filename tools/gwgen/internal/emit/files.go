package emit

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
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
