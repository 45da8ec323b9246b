package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// source is one parsed Go file.
type source struct {
	path string
	pkg  string // folder of the package, "." for the root
	test bool
	ast  *ast.File
	fset *token.FileSet
}

// parse reads every Go file of t outside testdata folders. A file that does not parse is a finding.
func parse(t tree) ([]source, []finding) {
	var sources []source
	var findings []finding
	for name, content := range t {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			findings = append(findings, finding{name, 0, "does not parse: " + err.Error()})
			continue
		}
		sources = append(sources, source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: file, fset: fset})
	}
	return sources, findings
}

// checkImports holds the sources against the rules.
func checkImports(sources []source, rules []rule) []finding {
	var findings []finding
	for _, r := range rules {
		from := false
		but := make([]bool, len(r.but))
		allow := make([]bool, len(r.allow))
		for _, s := range sources {
			if !matches(r.from, s.pkg) {
				continue
			}
			from = true
			excepted := false
			for i, b := range r.but {
				if matches(b, s.pkg) {
					but[i], excepted = true, true
				}
			}
			for _, spec := range s.ast.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					continue
				}
				target := local(imported)
				allowed := excepted
				for i, a := range r.allow {
					if matches(a, target) {
						allow[i], allowed = true, true
					}
				}
				if allowed || s.test && !r.tests || !matches(r.to, target) || target == s.pkg {
					continue
				}
				findings = append(findings, finding{s.path, s.fset.Position(spec.Pos()).Line, fmt.Sprintf("%s imports %s: %s", s.pkg, target, r.reason)})
			}
		}
		stale := func(what string) {
			findings = append(findings, finding{"tools/archcheck/rules.go", 0, fmt.Sprintf("rule %q -> %q: %s matches nothing", r.from, r.to, what)})
		}
		if !from {
			stale("from")
		}
		for i, hit := range but {
			if !hit {
				stale("but " + r.but[i])
			}
		}
		for i, hit := range allow {
			if !hit {
				stale("allow " + r.allow[i])
			}
		}
	}
	return findings
}

// local names a package of this module by its folder and leaves every other import path as it is.
func local(imported string) string {
	if imported == module {
		return "."
	}
	return strings.TrimPrefix(imported, module+"/")
}

// matches reports whether a package, named as by local, is meant by a pattern.
func matches(pattern, pkg string) bool {
	switch pattern {
	case "any":
		return true
	case "std":
		return isStd(pkg)
	case "own":
		return isOwn(pkg)
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
	}
	return pkg == pattern
}

// topLevel are the folders of this module that hold packages.
var topLevel = []string{"spec", "gen", "cmd", "server", "core", "conformance", "tools"}

func isOwn(pkg string) bool {
	for _, top := range topLevel {
		if pkg == top || strings.HasPrefix(pkg, top+"/") {
			return true
		}
	}
	return pkg == "."
}

// isStd reports whether pkg is in the standard library: its first element has no dot, and it is none of this module's.
func isStd(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && !isOwn(pkg)
}
