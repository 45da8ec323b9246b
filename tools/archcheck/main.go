// Command archcheck holds the repository to the rules that no compiler knows: who may import whom, where the clock is read, how long a file
// may grow, and what no file may name. It prints one finding a line and exits 1 when there is any.
//
//	go run ./tools/archcheck
//
// It looks at what git tracks and at new files that git does not ignore, whatever their build constraints say.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	t, err := load(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "archcheck:", err)
		os.Exit(1)
	}
	findings := check(t, table)
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		fmt.Fprintf(os.Stderr, "archcheck: %d findings\n", len(findings))
		os.Exit(1)
	}
	fmt.Printf("archcheck: %d files, %d import rules, nothing found\n", len(t), len(table))
}

// tree is the repository: path to content.
type tree map[string][]byte

// load reads the files of the repository at root.
func load(root string) (tree, error) {
	cmd := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	t := tree{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		full := path.Join(root, name)
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted and not yet committed, or a link
		}
		if t[name], err = os.ReadFile(full); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// finding is one broken rule at one place. Line 0 is the whole file or folder.
type finding struct {
	path string
	line int
	text string
}

func (f finding) String() string {
	if f.line == 0 {
		return f.path + ": " + f.text
	}
	return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.text)
}

// check runs every check over t and returns the findings in the order of their places.
func check(t tree, rules []rule) []finding {
	sources, findings := parse(t)
	findings = append(findings, checkImports(sources, rules)...)
	findings = append(findings, checkCalls(sources)...)
	findings = append(findings, checkLayout(t)...)
	findings = append(findings, checkText(t)...)
	slices.SortFunc(findings, func(a, b finding) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		if a.line != b.line {
			return a.line - b.line
		}
		return strings.Compare(a.text, b.text)
	})
	return slices.Compact(findings)
}
