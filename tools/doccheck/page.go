package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// page is one Markdown file, cut into what is checked.
type page struct {
	name   string
	spans  []span // inline code, and the lines of fenced blocks
	links  []span // targets of links
	blocks []block
}

// span is a piece of a page and where it stands.
type span struct {
	line int
	text string
}

// block is a fenced block.
type block struct {
	line     int
	language string
	run      bool
	lines    []string
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func parse(name, text string) page {
	p := page{name: name}
	var open *block
	for i, line := range strings.Split(text, "\n") {
		n := i + 1
		if info, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if open != nil {
				p.blocks = append(p.blocks, *open)
				open = nil
				continue
			}
			words := append(strings.Fields(info), "", "")
			open = &block{line: n, language: words[0], run: words[1] == "run"}
			continue
		}
		if open != nil {
			open.lines = append(open.lines, line)
			p.spans = append(p.spans, span{n, line})
			continue
		}
		for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
			p.spans = append(p.spans, span{n, m[1]})
		}
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			p.links = append(p.links, span{n, m[1]})
		}
	}
	return p
}

var (
	// repositoryPath begins with one of the top-level folders.
	repositoryPath = regexp.MustCompile(`(?:^|[\s"'=(,;])(?:\./)?((?:spec|gen|cmd|server|core|conformance|tools|\.ci)/[A-Za-z0-9_./*{},<>$…-]+)`)
	makeCall       = regexp.MustCompile(`(?:^|[\s;&(])make ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)*)`)
	// protocolMethod is a method of MCP that looks like one of our paths.
	protocolMethod = regexp.MustCompile(`^tools/(call|list)$`)
	placeholder    = regexp.MustCompile(`^[A-Z]+$|^NAME|[<>$…]|^\{[a-z_]+\}$`)
)

// names checks what the page names: paths of the repository, make targets and links.
func (p page) names(repository fs.FS, targets map[string]bool, ignored func(string) bool) []finding {
	var findings []finding
	report := func(line int, format string, args ...any) {
		findings = append(findings, finding{p.name, line, fmt.Sprintf(format, args...)})
	}
	for _, s := range p.spans {
		for _, m := range repositoryPath.FindAllStringSubmatch(s.text, -1) {
			for _, name := range expand(strings.TrimRight(m[1], ".,;:")) {
				if !protocolMethod.MatchString(name) && !p.exists(repository, name) && !ignored(name) {
					report(s.line, "names %s, which is not there", name)
				}
			}
		}
		for _, m := range makeCall.FindAllStringSubmatch(s.text, -1) {
			for _, target := range strings.Fields(m[1]) {
				if !targets[target] {
					report(s.line, "names make %s, which is no target", target)
				}
			}
		}
	}
	for _, s := range p.links {
		target, _, _ := strings.Cut(s.text, "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		if _, err := fs.Stat(repository, path.Join(path.Dir(p.name), target)); err != nil {
			report(s.line, "links to %s, which is not there", target)
		}
	}
	return findings
}

// exists reports whether name, seen from the root or from the page's own folder, is there. A pattern must match something; from the first
// placeholder on (an element in capitals, in braces or with a variable) nothing is asked; "/..." means the folder.
func (p page) exists(repository fs.FS, name string) bool {
	var known []string
	for _, element := range strings.Split(strings.TrimRight(name, "/"), "/") {
		if element == "..." || placeholder.MatchString(element) {
			break
		}
		known = append(known, element)
	}
	want := strings.Join(known, "/")
	for _, full := range []string{want, path.Join(path.Dir(p.name), want)} {
		if found, err := fs.Glob(repository, full); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// expand spells out alternatives in braces: a/{b,c} is a/b and a/c.
func expand(name string) []string {
	open := strings.IndexByte(name, '{')
	if open < 0 {
		return []string{name}
	}
	end := strings.IndexByte(name[open:], '}')
	if end < 0 || !strings.Contains(name[open:open+end], ",") {
		return []string{name}
	}
	var all []string
	for alternative := range strings.SplitSeq(name[open+1:open+end], ",") {
		all = append(all, expand(name[:open]+alternative+name[open+end+1:])...)
	}
	return all
}
