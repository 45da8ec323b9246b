package conformance

import (
	"context"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"single/http/workbench/a", "single/http/workbench/a", true},
		{"single/*/workbench/a", "single/grpc/workbench/a", true},
		{"single/*/workbench/*", "single/grpc/workbench/a/b", false},
		{"single/**", "single/grpc/workbench/a", true},
		{"**", "anything/at/all", true},
		{"mixed/**", "single/grpc/workbench/a", false},
		{"[", "[", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func sample() Report {
	return Report{
		Protocols: []driver.Protocol{driver.HTTP, driver.GRPC}, Modes: []Mode{Single, Parity},
		Results: []Result{
			{ID: "a/one", Mode: Single, Protocol: driver.HTTP, Outcome: Passed, Duration: time.Second},
			{ID: "a/one", Mode: Single, Protocol: driver.GRPC, Outcome: Failed, Failures: []string{"step 1: it <broke>", "and \x01 more"}, Trace: "> sent\n< got\n", Prose: "Shows one.\nMore."},
			{ID: "a/one", Mode: Parity, Outcome: Passed, NotCarried: 2},
			{ID: "a/two", Mode: Single, Outcome: NotApplicable, Why: "needs crash"},
			{ID: "a/three", Mode: Single, Outcome: NotApplicable, Why: "needs crash"},
		},
	}
}

// J3.
func TestTheLedgerExcusesFailuresAndRots(t *testing.T) {
	r := sample()
	r.settle([]string{"single/grpc/a/*", "single/http/a/one", "mixed/**"}, true)
	if r.Results[1].Outcome != KnownFailing || r.Count(Failed) != 0 {
		t.Errorf("the failure is not excused: %+v", r.Results[1])
	}
	if got := strings.Join(r.Stale, " "); got != "single/http/a/one mixed/**" {
		t.Errorf("stale: %q", got)
	}
	if r.OK() {
		t.Error("a report with stale lines is OK")
	}
	part := sample()
	part.settle([]string{"mixed/**", "single/grpc/**"}, false)
	if len(part.Stale) > 0 || !part.OK() {
		t.Errorf("a part of the suite calls a line stale: %v", part.Stale)
	}
}

func TestMatrixShowsEveryCellAndCount(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteMatrix(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"scenario  http  grpc  parity\n",
		"a/one     ok    FAIL  ok\n",
		"a/two     n/a   n/a   n/a\n",
		"FAIL single/grpc/a/one\n     Shows one.\n  step 1: it <broke>\n",
		"    > sent\n    < got\n",
		"2 passed, 1 failed, 0 known failing, 2 not applicable; 2 steps that their protocol cannot say\n",
		"not applicable: 2 × needs crash\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the matrix lacks %q:\n%s", want, b.String())
		}
	}
}

func TestJUnitIsWellFormedAndCounts(t *testing.T) {
	r := sample()
	r.Stale = []string{"mixed/**"}
	var b strings.Builder
	if err := r.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if got.Tests != 6 || got.Failures != 2 || got.Skipped != 2 {
		t.Errorf("%d tests, %d failures, %d skipped", got.Tests, got.Failures, got.Skipped)
	}
	if !strings.Contains(b.String(), "it &lt;broke&gt;") || !strings.Contains(b.String(), "and ? more") {
		t.Errorf("the failure is not readable:\n%s", b.String())
	}
}

// J1.
func TestARunThatPlaysNothingFails(t *testing.T) {
	unused := func(context.Context, Start) (*Target, error) { return nil, errors.New("started") }
	report, err := Run(context.Background(), Target{Fresh: unused}, Options{Scenarios: []string{"no/such/scenario"}})
	if err == nil || report.OK() {
		t.Errorf("an empty run: %v, OK %v", err, report.OK())
	}
	var b strings.Builder
	if err := report.WriteMatrix(&b); err != nil || !strings.Contains(b.String(), "nothing was played") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	b.Reset()
	if err := report.WriteJUnit(&b); err != nil || !strings.Contains(b.String(), `failures="1"`) {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

func TestATargetThatDoesNotStartFailsEveryScenario(t *testing.T) {
	broken := func(context.Context, Start) (*Target, error) { return nil, errors.New("no store") }
	report, err := Run(context.Background(), Target{Fresh: broken}, Options{
		Scenarios: []string{"workbench/edit-*", "malformed/wrong-types"}, Protocols: []driver.Protocol{driver.HTTP},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(Passed) != 0 || report.Count(Failed) == 0 || report.OK() {
		t.Errorf("%d passed, %d failed", report.Count(Passed), report.Count(Failed))
	}
}

// J6.
func TestParityComparesWhatBothCanSay(t *testing.T) {
	order := []driver.Protocol{driver.HTTP, driver.GRPC, driver.MCP}
	transcripts := map[driver.Protocol][]entry{
		driver.HTTP: {{step: 1, text: "a"}, {step: 2, text: "b"}},
		driver.GRPC: {{step: 1, skipped: true}, {step: 2, text: "b"}},
	}
	var same Result
	same.parity(order, transcripts)
	if same.Outcome != Passed {
		t.Errorf("%v", same.Failures)
	}
	transcripts[driver.MCP] = []entry{{step: 1, text: "a"}, {step: 2, text: "c"}}
	var other Result
	other.parity(order, transcripts)
	if other.Outcome != Failed || !strings.Contains(other.Failures[0], "step 2 differs: http answers b and mcp-http answers c") {
		t.Errorf("%v %v", other.Outcome, other.Failures)
	}
}

func TestLeaksAreSeen(t *testing.T) {
	for _, text := range []string{
		"open /tmp/data/000012.sst: no such file", "json: cannot unmarshal", "main.go:17", "*op.WorkbenchPutFileRequest",
		"runtime error: index out of range", "unexpected EOF", "pebble: closed", "strconv.ParseInt: parsing", "%!s(<nil>)",
	} {
		if leaked(text) == "" {
			t.Errorf("%q is not seen as a leak", text)
		}
	}
	for _, text := range []string{
		"Nothing is stored at this path; workbench_list shows what is.", "outputs/home/a.go", "path must not have a . or .. component",
		`{"path":"outputs/src/core/x"}`,
	} {
		if found := leaked(text); found != "" {
			t.Errorf("%q is seen as a leak: %q", text, found)
		}
	}
}
