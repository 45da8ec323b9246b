package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxLines is how long a file written by hand may be.
const maxLines = 800

// checkLayout finds files that grew too long, top-level folders without a page that says what they are, and core packages without invariants.
func checkLayout(t tree) []finding {
	var findings []finding
	folders := map[string]bool{}
	for name, content := range t {
		if top, _, ok := strings.Cut(name, "/"); ok && !strings.HasPrefix(top, ".") {
			folders[top] = true
		}
		if generated(name) {
			continue
		}
		if ext := path.Ext(name); slices.Contains([]string{".go", ".sh", ".cjs"}, ext) || path.Base(name) == "Makefile" {
			if n := bytes.Count(content, []byte("\n")); n > maxLines {
				findings = append(findings, finding{name, 0, fmt.Sprintf("%d lines; a file has at most %d", n, maxLines)})
			}
		}
		dir := path.Dir(name)
		if strings.HasPrefix(dir, "core/") && strings.Count(dir, "/") == 1 && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			if _, ok := t[dir+"/doc.go"]; !ok {
				findings = append(findings, finding{dir, 0, "no doc.go with the package's invariants"})
			}
		}
	}
	for top := range folders {
		if _, ok := t[top+"/README.md"]; !ok {
			findings = append(findings, finding{top, 0, "no README.md"})
		}
	}
	return findings
}

func generated(name string) bool { return strings.HasPrefix(name, "gen/") }

// forbidden is a text that no tracked file may hold. The patterns are written so that this file does not match itself.
type forbidden struct {
	pattern *regexp.Regexp
	text    string
}

var forbiddenTexts = []forbidden{
	{regexp.MustCompile(`(?:proxy|sum)\.golang[.]org|registry\.npmjs[.]org|(?:files\.pythonhosted|pypi)[.]org|(?:static|index)\.crates[.]io|repo1?\.maven\.(?:apache[.]org|org)|(?:deb|security)\.debian[.]org`), "names a registry's host"},
	{regexp.MustCompile(`(?:^|[\s"'=(:` + "`" + `])/(?:root|work|home|Users)[/]`), "names a path of somebody's machine"},
	{regexp.MustCompile(`\b(?:TO[D]O|FIX[M]E|XX[X])\b`), "is unfinished by its own words"},
}

// checkText finds what no tracked text may say.
func checkText(t tree) []finding {
	var findings []finding
	for name, content := range t {
		if bytes.IndexByte(content, 0) >= 0 || name == "LICENSE" {
			continue
		}
		for i, line := range bytes.Split(content, []byte("\n")) {
			for _, f := range forbiddenTexts {
				if f.pattern.Match(line) {
					findings = append(findings, finding{name, i + 1, f.text})
				}
			}
		}
	}
	return findings
}
