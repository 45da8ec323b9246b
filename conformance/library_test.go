package conformance

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/spec"
)

func library(t *testing.T) *Library {
	t.Helper()
	l, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheSuiteLoads(t *testing.T) {
	l := library(t)
	if len(l.Scenarios) < 80 || len(l.Tables) < 10 {
		t.Errorf("%d scenarios and %d tables", len(l.Scenarios), len(l.Tables))
	}
}

// uncoveredCeiling is the length of uncovered.txt. It is a number in the code, so that a longer list is a decision
// that somebody reviews; it only goes down.
const uncoveredCeiling = 12

// J2.
func TestEveryRequirementIsCoveredOrListed(t *testing.T) {
	l := library(t)
	ledger, err := embeddedLedger("uncovered.txt")
	if err != nil {
		t.Fatal(err)
	}
	missing, stale := l.Uncovered(ledger)
	for _, id := range missing {
		t.Errorf("%s is marked as built; no scenario requires it and uncovered.txt does not list it", id)
	}
	for _, id := range stale {
		t.Errorf("uncovered.txt lists %s, which is covered, not marked as built, or unknown", id)
	}
	if len(ledger) != uncoveredCeiling {
		t.Errorf("uncovered.txt has %d lines and the ceiling is %d: the list only shrinks, and the ceiling with it", len(ledger), uncoveredCeiling)
	}
}

func TestUncoveredFindsMissingAndStale(t *testing.T) {
	l := library(t)
	ledger, err := embeddedLedger("uncovered.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(ledger) > 0 {
		missing, _ := l.Uncovered(ledger[1:])
		if !slices.Contains(missing, ledger[0]) {
			t.Errorf("without its line %s is not missed", ledger[0])
		}
	}
	_, stale := l.Uncovered(append(slices.Clone(ledger), "R-WB-CREATE-1", "R-WB-SNAP-1", "R-WB-NONE-1"))
	if !slices.Equal(stale, []string{"R-WB-CREATE-1", "R-WB-SNAP-1", "R-WB-NONE-1"}) {
		t.Errorf("stale: %v", stale)
	}
}

func TestLedgersDemandReasons(t *testing.T) {
	got, err := ParseLedger("# head\n\nsingle/http/a/b  # because\nmixed/** # of that\n")
	if err != nil || !slices.Equal(got, []string{"single/http/a/b", "mixed/**"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"a/b\n", "a/b #\n", "a # x\na # y\n"} {
		if got, err := ParseLedger(bad); err == nil {
			t.Errorf("ParseLedger(%q) = %v", bad, got)
		}
	}
}

const minimal = "P.\n-- scenario --\nid workbench/story\nrequires R-WB-CREATE-1\n"

// S5 and the rules about where files stand.
func TestBadTreesAreRefused(t *testing.T) {
	c, err := contract.Load(spec.FS)
	if err != nil {
		t.Fatal(err)
	}
	const call = "-- 1 call workbench.create --\n{\"id\": \"a\"}\n-- 1 ok --\n{\"...\": \"$any\"}\n"
	const raw = "-- 1 wire http --\nGET /health\n-- 1 reply --\n200\n"
	for name, k := range map[string]struct {
		tree map[string]string
		want string
	}{
		"nothing":           {map[string]string{}, "there is no scenario"},
		"other files":       {map[string]string{"scenarios/notes.md": "x"}, "scenarios/notes.md:1: not a .txtar file"},
		"id twice":          {map[string]string{"scenarios/a/story.txtar": minimal + call, "scenarios/b/story.txtar": minimal + call}, "id workbench/story is that of scenarios/a/story.txtar too"},
		"wire in scenarios": {map[string]string{"scenarios/story.txtar": minimal + raw}, "facts of one protocol stand in wire/"},
		"scenario in wire":  {map[string]string{"wire/story.txtar": minimal + call}, "facts of one protocol stand in wire/"},
		"impossible reason": {map[string]string{"scenarios/story.txtar": minimal + "-- 1 call workbench.create --\n{\"id\": \"a\"}\n-- 1 error WB_NO_MATCH --\n{}\n"}, "story.txtar:7: the catalogue does not let workbench.create give WB_NO_MATCH"},
		"bad scenario":      {map[string]string{"scenarios/story.txtar": minimal}, "story.txtar:2: a scenario has at least one step"},
		"bad table":         {map[string]string{"malformed/story.txtar": minimal}, "malformed/story.txtar:1: a table has the sections"},
	} {
		tree := fstest.MapFS{}
		for file, text := range k.tree {
			tree[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, err := Load(tree, c); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v, want %q", name, err, k.want)
		}
	}
}

// The example of the page about the format is a scenario like any other.
func TestTheExampleInTheReadmeLoads(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```txtar\n")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("README.md has no ```txtar block")
	}
	c, err := contract.Load(spec.FS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(fstest.MapFS{"scenarios/put_file/a-put-is-read-back.txtar": {Data: []byte(example)}}, c); err != nil {
		t.Error(err)
	}
}
