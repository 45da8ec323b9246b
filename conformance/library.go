package conformance

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/scenario"
	"github.com/sawhorse-dev/sawhorse/spec"
)

// files are the scenarios, tables and ledgers that belong to the suite.
//
//go:embed scenarios wire malformed known_failing.txt uncovered.txt
var files embed.FS

// Library is a set of scenarios and tables, checked against a contract.
type Library struct {
	Contract  *contract.Contract
	Scenarios []*scenario.Scenario // by id
	Tables    []*scenario.Table    // by id
}

// Embedded is the suite that this package carries, checked against the specification that this binary carries.
// The error is scenario.Problems when files were refused.
var Embedded = sync.OnceValues(func() (*Library, error) {
	c, err := contract.Load(spec.FS)
	if err != nil {
		return nil, err
	}
	return Load(files, c)
})

// catalogue shows a contract to the planner.
type catalogue struct{ *contract.Contract }

func (c catalogue) Operation(id string) (scenario.Operation, bool) { return c.Contract.Operation(id) }
func (c catalogue) Protocol(name string) bool                      { return driver.Known(name) }

func (c catalogue) Reason(name string) bool {
	_, ok := c.Contract.Reason(name)
	return ok
}

func (c catalogue) Requirement(id string) bool {
	_, ok := c.Contract.Requirement(id)
	return ok
}

// Load reads scenarios/, wire/ and malformed/ of a tree.
// Errors: scenario.Problems with everything that is wrong with the files; an empty tree.
func Load(tree fs.FS, c *contract.Contract) (*Library, error) {
	l := &Library{Contract: c}
	var problems scenario.Problems
	ids := map[string]string{}
	refuse := func(file string, line int, format string, args ...any) {
		problems = append(problems, scenario.Problem{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
	}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		top, _, _ := strings.Cut(name, "/")
		if err != nil || entry.IsDir() || !slices.Contains([]string{"scenarios", "wire", "malformed"}, top) {
			return err
		}
		if path.Ext(name) != ".txtar" {
			refuse(name, 1, "not a .txtar file")
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		id, err := l.add(top, name, data, refuse)
		var found scenario.Problems
		if errors.As(err, &found) {
			problems = append(problems, found...)
			return nil
		}
		if err != nil {
			return err
		}
		if other, again := ids[id]; again {
			refuse(name, 1, "id %s is that of %s too", id, other)
		}
		ids[id] = name
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if len(l.Scenarios) == 0 {
		return nil, errors.New("there is no scenario")
	}
	slices.SortFunc(l.Scenarios, func(a, b *scenario.Scenario) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(l.Tables, func(a, b *scenario.Table) int { return strings.Compare(a.ID, b.ID) })
	return l, nil
}

func (l *Library) add(top, name string, data []byte, refuse func(string, int, string, ...any)) (string, error) {
	if top == "malformed" {
		t, err := scenario.ParseTable(name, data, catalogue{l.Contract})
		if err != nil {
			return "", err
		}
		l.Tables = append(l.Tables, t)
		return t.ID, nil
	}
	s, err := scenario.Parse(name, data, catalogue{l.Contract})
	if err != nil {
		return "", err
	}
	if only := s.Only(); (only != "") != (top == "wire") {
		refuse(name, 1, "facts of one protocol stand in wire/, everything else in scenarios/; this one has the protocol %q", only)
	}
	for _, step := range s.Steps {
		if step.Expect == nil || step.Op == "" || step.Expect.Reason == "" {
			continue
		}
		op, ok := l.Contract.Operation(step.Op)
		if ok && !mayGive(op, step.Expect.Reason) {
			refuse(name, step.Expect.Line, "the catalogue does not let %s give %s", step.Op, step.Expect.Reason)
		}
	}
	l.Scenarios = append(l.Scenarios, s)
	return s.ID, nil
}

// mayGive reports whether the catalogue lists a reason for an operation, or the reason is common to all areas.
func mayGive(op *contract.Operation, reason string) bool {
	common := true
	for _, prefix := range []string{"WB_", "JOB_", "OP_", "FS_"} {
		common = common && !strings.HasPrefix(reason, prefix)
	}
	return common || slices.Contains(op.Reasons, reason)
}

// Covered maps each requirement to the scenarios and tables that require it.
func (l *Library) Covered() map[string][]string {
	out := map[string][]string{}
	for _, s := range l.Scenarios {
		for _, r := range s.Requires {
			out[r] = append(out[r], s.ID)
		}
	}
	for _, t := range l.Tables {
		for _, r := range t.Requires {
			out[r] = append(out[r], t.ID)
		}
	}
	return out
}
