package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// clockReads are the functions of package time that read the machine's clock or wait on it.
var clockReads = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// checkCalls finds what no source may call where it stands.
func checkCalls(sources []source) []finding {
	var findings []finding
	for _, s := range sources {
		names := map[string]string{} // the file's name for a package, to its path
		for _, spec := range s.ast.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			name := p[strings.LastIndexByte(p, '/')+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = p
		}
		bubbles := slices.ContainsFunc(s.ast.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			report := func(format string, args ...any) {
				findings = append(findings, finding{s.path, s.fset.Position(sel.Pos()).Line, fmt.Sprintf(format, args...)})
			}
			switch {
			case names[x.Name] == "time" && slices.Contains(clockReads, sel.Sel.Name):
				if matches("core/...", s.pkg) && !matches("core/clock", s.pkg) && !s.test {
					report("time.%s in core: core/clock is the only reader of the clock", sel.Sel.Name)
				}
				if s.test && sel.Sel.Name == "Sleep" && !bubbles {
					report("time.Sleep in a test: use a fake clock, a channel or testing/synctest")
				}
			case s.test && isTestVar(x.Name) && strings.HasPrefix(sel.Sel.Name, "Skip") && sel.Sel.Name != "Skipped":
				report("%s.%s: a test that is skipped shows nothing", x.Name, sel.Sel.Name)
			}
			return true
		})
	}
	return findings
}

// isTestVar reports whether a name is what tests, benchmarks and fuzz targets call their first parameter.
func isTestVar(name string) bool { return name == "t" || name == "b" || name == "f" || name == "tb" }
