// Package problem collects what is wrong with the sources, so that one run tells all of it.
package problem

import (
	"fmt"
	"sort"
	"strings"
)

// Kinds of problem. Each has a golden test.
const (
	Syntax       = "syntax"       // a source cannot be read, or says something the lowering table does not know
	Uncatalogued = "uncatalogued" // a source describes an operation that has no row
	NamesNothing = "names-nothing"
	Differs      = "differs" // two sources disagree on a member
	Withheld     = "withheld"
	Reason       = "reason"
	Overlap      = "overlap"
	Deviation    = "deviation"
	Duplicate    = "duplicate"
	Limit        = "limit"
)

// One is a single problem.
type One struct {
	Kind string
	// Where names a source and a place in it, "openapi/workbench.yaml#workbenchPutFile $.path".
	Where string
	Text  string
}

func (o One) String() string { return o.Kind + ": " + o.Where + ": " + o.Text }

// List collects problems. The zero value is ready.
type List struct {
	all []One
}

// Add adds a problem.
func (l *List) Add(kind, where, format string, args ...any) {
	l.all = append(l.all, One{kind, where, fmt.Sprintf(format, args...)})
}

// Empty says whether nothing is wrong.
func (l *List) Empty() bool { return len(l.all) == 0 }

// String gives one line a problem, sorted, without repeats.
func (l *List) String() string {
	lines := make([]string, 0, len(l.all))
	for _, o := range l.all {
		lines = append(lines, o.String())
	}
	sort.Strings(lines)
	var b strings.Builder
	for i, s := range lines {
		if i == 0 || s != lines[i-1] {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
