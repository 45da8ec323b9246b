package spec_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sawhorse-dev/sawhorse/spec"
)

// requirement is one line of requirements/*.md.
var requirement = regexp.MustCompile(`^- \*\*(R-(?:WB|OP|JOB|ST)-[A-Z]+-[1-9][0-9]*)\*\* \([^()]+(?:\([^()]*\)[^()]*)?\) \[(slice|later|design)\] \S.*\.$`)

// requirements gives the mark of every line, by its number.
func requirements(t *testing.T) map[string]string {
	t.Helper()
	marks := map[string]string{}
	files, err := spec.FS.ReadDir("requirements")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, line := range strings.Split(string(read(t, "requirements/"+f.Name())), "\n") {
			if !strings.HasPrefix(line, "- ") {
				continue
			}
			m := requirement.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: not a requirement line: %s", f.Name(), line)
				continue
			}
			if _, twice := marks[m[1]]; twice {
				t.Errorf("%s: %s is used twice", f.Name(), m[1])
			}
			marks[m[1]] = m[2]
		}
	}
	return marks
}

func TestRequirementLinesAreNumberedAndMarked(t *testing.T) {
	if n := len(requirements(t)); n < 300 {
		t.Errorf("only %d requirement lines", n)
	}
}

type operation struct {
	ID       string   `yaml:"id"`
	Built    *bool    `yaml:"built"`
	Reasons  []string `yaml:"reasons"`
	Requires []string `yaml:"requires"`
}

func operations(t *testing.T) []operation {
	t.Helper()
	var doc struct {
		Operations []operation `yaml:"operations"`
	}
	if err := yaml.Unmarshal(read(t, "operations.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Operations
}

func TestCatalogueCitesRequirementsThatExist(t *testing.T) {
	marks := requirements(t)
	for _, op := range operations(t) {
		if len(op.Requires) == 0 {
			t.Errorf("%s answers no requirement", op.ID)
		}
		built := op.Built == nil || *op.Built
		slice := slices.ContainsFunc(op.Requires, func(id string) bool { return marks[id] == "slice" })
		if built != slice {
			t.Errorf("%s: built is %v, but it has requirements of the slice: %v", op.ID, built, slice)
		}
		for _, id := range op.Requires {
			if marks[id] == "" {
				t.Errorf("%s requires %s, which no line has", op.ID, id)
			}
		}
	}
}

func TestReasonsAreSortedAndOfTheirArea(t *testing.T) {
	var doc struct {
		Reasons []struct {
			Reason string            `yaml:"reason"`
			Code   map[string]string `yaml:"code"`
			HTTP   int               `yaml:"http"`
		} `yaml:"reasons"`
	}
	if err := yaml.Unmarshal(read(t, "errors.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	areas := []struct{ prefix, area string }{{"", ""}, {"WB_", "workbench"}, {"JOB_", "jobs"}, {"OP_", "operator"}, {"ST_", "storage"}}
	rank := func(reason string) int {
		for i, a := range areas[1:] {
			if strings.HasPrefix(reason, a.prefix) {
				return i + 1
			}
		}
		return 0
	}
	for i, r := range doc.Reasons {
		if i > 0 {
			prev := doc.Reasons[i-1].Reason
			if rank(prev) > rank(r.Reason) || rank(prev) == rank(r.Reason) && prev >= r.Reason {
				t.Errorf("%s stands after %s", r.Reason, prev)
			}
		}
		if k := rank(r.Reason); k == 0 && len(r.Code) != 4 || k > 0 && (len(r.Code) != 1 || r.Code[areas[k].area] == "") {
			t.Errorf("%s has the public words %v", r.Reason, r.Code)
		}
		if r.HTTP < 400 || r.HTTP > 599 {
			t.Errorf("%s has HTTP status %d", r.Reason, r.HTTP)
		}
	}
}
