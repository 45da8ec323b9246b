// Command gendrift says whether gen is what its sources make of it.
//
//	go run ./tools/gendrift
//
// It copies the sources into a temporary tree, generates there with every generator, and compares the result with gen as
// it stands, whatever git thinks of it. It lists files that differ, that are missing and that nobody generates, and
// exits with status 1 when there are any.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// inputs are what the generators read.
var inputs = []string{"spec", "buf.gen.yaml", "go.mod", "go.sum", "tools/plugins", "tools/buf"}

func main() {
	lines, files, err := run(".")
	if err != nil {
		fmt.Fprintf(os.Stderr, "gendrift: %v\n", err)
		os.Exit(1)
	}
	if len(lines) > 0 {
		fmt.Fprintf(os.Stderr, "gendrift: gen is not what spec makes of it; run make generate and look at the change:\n%s\n", strings.Join(lines, "\n"))
		os.Exit(1)
	}
	fmt.Printf("gendrift: %d files in gen, all as generated\n", files)
}

// run regenerates and compares; it gives one line a difference and the number of files that were generated.
func run(root string) ([]string, int, error) {
	tmp, err := os.MkdirTemp("", "gendrift-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(tmp)
	for _, in := range inputs {
		if err := copyTree(filepath.Join(root, in), filepath.Join(tmp, in)); err != nil {
			return nil, 0, err
		}
	}
	cmd := exec.Command("go", "run", "./tools/gwgen", "-C", tmp, "generate")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("generating failed: %w\n%s", err, out)
	}
	want, err := read(filepath.Join(tmp, "gen"))
	if err != nil {
		return nil, 0, err
	}
	have, err := read(filepath.Join(root, "gen"))
	if err != nil {
		return nil, 0, err
	}
	return compare(want, have), len(want), nil
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(target, b, 0o644)
	})
}

// read gives every file below dir by its path.
func read(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)], err = os.ReadFile(p)
		return err
	})
	return out, err
}

// compare lists the differences, one a line, in the order of the paths.
func compare(want, have map[string][]byte) (lines []string) {
	names := map[string]bool{}
	for n := range want {
		names[n] = true
	}
	for n := range have {
		names[n] = true
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		w, inWant := want[n]
		h, inHave := have[n]
		switch {
		case !inHave:
			lines = append(lines, "  missing    gen/"+n)
		case !inWant:
			lines = append(lines, "  unknown    gen/"+n+" (no generator writes it)")
		case !bytes.Equal(w, h):
			line, is, should := firstDifference(h, w)
			lines = append(lines, fmt.Sprintf("  different  gen/%s, line %d:\n    is      %s\n    should  %s", n, line, is, should))
		}
	}
	return lines
}

func firstDifference(a, b []byte) (line int, is, should string) {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := 0; ; i++ {
		switch {
		case i == len(x):
			return i + 1, "(the file ends)", y[i]
		case i == len(y):
			return i + 1, x[i], "(the file ends)"
		case x[i] != y[i]:
			return i + 1, x[i], y[i]
		}
	}
}
