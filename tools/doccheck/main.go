// Command doccheck holds the repository's pages to the repository: every path, make target and program that a page names must exist, and the
// blocks that a page marks for it are run.
//
//	go run ./tools/doccheck          paths, targets, programs, links
//	go run ./tools/doccheck -run     the marked blocks as well
//
// A block is marked by the word run after its language: "sh run" must exit 0; "console run" holds commands behind "$ " and under each what it
// prints, where a line of "..." stands for any lines and "..." inside of a line for any text. One finding is printed a line; the exit status
// is 1 when there is any.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

func main() {
	run := flag.Bool("run", false, "run the marked blocks")
	only := flag.String("only", "", "look at this page alone")
	flag.Parse()
	findings, pages, err := check(context.Background(), ".", *only, *run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "doccheck:", err)
		os.Exit(1)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		fmt.Fprintf(os.Stderr, "doccheck: %d findings\n", len(findings))
		os.Exit(1)
	}
	fmt.Printf("doccheck: %d pages, nothing found\n", pages)
}

// check looks at every page of the repository at root, or at one, and returns the findings and how many pages it read.
func check(ctx context.Context, root, only string, run bool) (findings []finding, pages int, err error) {
	out, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", "*.md").Output()
	if err != nil {
		return nil, 0, fmt.Errorf("git ls-files: %w", err)
	}
	repository := os.DirFS(root)
	targets, err := makeTargets(repository)
	if err != nil {
		return nil, 0, err
	}
	ignored := func(name string) bool {
		return exec.CommandContext(ctx, "git", "-C", root, "check-ignore", "-q", "--", name).Run() == nil
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if name == "" || only != "" && name != only {
			continue
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			continue // deleted and not yet committed
		}
		pages++
		p := parse(name, string(text))
		findings = append(findings, p.names(repository, targets, ignored)...)
		if !run {
			continue
		}
		for _, b := range p.blocks {
			if b.run {
				findings = append(findings, b.execute(ctx, root, name)...)
			}
		}
	}
	if pages == 0 {
		return nil, 0, fmt.Errorf("no page to look at")
	}
	return findings, pages, nil
}

// finding is one thing that a page says and that is not so.
type finding struct {
	page string
	line int
	text string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.page, f.line, f.text) }

// makeTargets are the targets of the Makefile at the root.
func makeTargets(repository fs.FS) (map[string]bool, error) {
	raw, err := fs.ReadFile(repository, "Makefile")
	if err != nil {
		return nil, err
	}
	targets := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if name, _, ok := strings.Cut(line, ":"); ok && name != "" && !strings.ContainsAny(name, " \t#=.$?") {
			targets[name] = true
		}
	}
	return targets, nil
}
