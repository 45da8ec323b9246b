package conformance

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
)

// Outcome says how a run of a scenario ended.
type Outcome string

const (
	Passed        Outcome = "passed"
	Failed        Outcome = "failed"
	KnownFailing  Outcome = "known failing" // failed, and known_failing.txt says so
	NotApplicable Outcome = "not applicable"
)

// Result is one cell of the matrix: a scenario or table over one protocol, or in a mode that spans protocols.
type Result struct {
	ID       string
	Mode     Mode
	Protocol driver.Protocol // empty in a mode that spans protocols
	Prose    string
	Outcome  Outcome
	Why      string   // of NotApplicable
	Failures []string // of Failed
	Trace    string   // the conversation that failed
	// NotCarried counts the steps or rows that the protocol cannot say (J4).
	NotCarried int
	Duration   time.Duration
}

// Key names a result in the ledger: mode/protocol/id, or mode/id.
func (r Result) Key() string {
	if r.Protocol == "" {
		return string(r.Mode) + "/" + r.ID
	}
	return string(r.Mode) + "/" + string(r.Protocol) + "/" + r.ID
}

func (r *Result) fail(format string, args ...any) {
	r.Outcome = Failed
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

func (r Result) notApplicable(why string) Result {
	r.Outcome, r.Why = NotApplicable, why
	return r
}

// parity compares transcripts (J6).
func (r *Result) parity(order []driver.Protocol, transcripts map[driver.Protocol][]entry) {
	r.Outcome = Passed
	var first driver.Protocol
	for _, p := range order {
		lines, ok := transcripts[p]
		if !ok {
			continue
		}
		if first == "" {
			first = p
			continue
		}
		for i, line := range lines {
			want := transcripts[first][i]
			if line.skipped || want.skipped || line.text == want.text {
				continue
			}
			r.fail("step %d differs: %s answers %s and %s answers %s", line.step, first, shorten(want.text), p, shorten(line.text))
			break
		}
	}
}

func shorten(s string) string {
	const most = 1200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

func compareResults(a, b Result) int {
	return cmp.Or(
		strings.Compare(a.ID, b.ID),
		slices.Index([]Mode{Single, Parity, Mixed}, a.Mode)-slices.Index([]Mode{Single, Parity, Mixed}, b.Mode),
		slices.Index(driver.Protocols(), a.Protocol)-slices.Index(driver.Protocols(), b.Protocol),
	)
}

// Report is what a run found.
type Report struct {
	Results   []Result // by scenario, mode, protocol
	Protocols []driver.Protocol
	Modes     []Mode
	// Stale are lines of known_failing.txt that matched no failure (J3).
	Stale []string
}

// settle applies the ledger. Only a whole run can tell a stale line.
func (r *Report) settle(known []string, whole bool) {
	used := map[string]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		for _, pattern := range known {
			if !matches(pattern, res.Key()) {
				continue
			}
			if res.Outcome == Failed {
				res.Outcome = KnownFailing
				used[pattern] = true
			}
		}
	}
	for _, pattern := range known {
		if whole && !used[pattern] {
			r.Stale = append(r.Stale, pattern)
		}
	}
}

// Count is how many results ended so.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, res := range r.Results {
		if res.Outcome == o {
			n++
		}
	}
	return n
}

// Played is how many results tell something about the target.
func (r Report) Played() int { return len(r.Results) - r.Count(NotApplicable) }

// OK reports that something was played, nothing failed and no line of the ledger is stale (J1, J3).
func (r Report) OK() bool { return r.Played() > 0 && r.Count(Failed) == 0 && len(r.Stale) == 0 }

// NotCarried is how many steps and rows a protocol could not say.
func (r Report) NotCarried() int {
	n := 0
	for _, res := range r.Results {
		n += res.NotCarried
	}
	return n
}

// cells of the matrix.
var marks = map[Outcome]string{Passed: "ok", Failed: "FAIL", KnownFailing: "known", NotApplicable: "n/a"}

// WriteMatrix prints scenario × protocol, then every failure with its conversation, then the counts.
func (r Report) WriteMatrix(w io.Writer) error {
	columns := make([]string, 0, len(r.Protocols)+2)
	for _, p := range r.Protocols {
		columns = append(columns, string(p))
	}
	for _, m := range r.Modes {
		if m != Single {
			columns = append(columns, string(m))
		}
	}
	width := len("scenario")
	cells := map[string]map[string]string{}
	var ids []string
	for _, res := range r.Results {
		width = max(width, len(res.ID))
		if cells[res.ID] == nil {
			cells[res.ID] = map[string]string{}
			ids = append(ids, res.ID)
		}
		column := string(res.Protocol)
		if column == "" {
			column = string(res.Mode)
		}
		cells[res.ID][column] = marks[res.Outcome]
		if res.Outcome == NotApplicable && res.Protocol == "" {
			for _, c := range columns {
				cells[res.ID][c] = marks[NotApplicable]
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", width, "scenario")
	for _, c := range columns {
		fmt.Fprintf(&b, "  %s", c)
	}
	b.WriteByte('\n')
	for _, id := range ids {
		line := fmt.Sprintf("%-*s", width, id)
		for _, c := range columns {
			mark := cells[id][c]
			if mark == "" {
				mark = "."
			}
			line += fmt.Sprintf("  %-*s", len(c), mark)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteByte('\n')
	r.writeFailures(&b)
	r.writeCounts(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) writeFailures(b *strings.Builder) {
	for _, res := range r.Results {
		if res.Outcome != Failed {
			continue
		}
		fmt.Fprintf(b, "FAIL %s\n     %s\n", res.Key(), firstLine(res.Prose))
		for _, f := range res.Failures {
			fmt.Fprintf(b, "  %s\n", f)
		}
		for line := range strings.Lines(res.Trace) {
			fmt.Fprintf(b, "    %s", line)
		}
	}
	for _, line := range r.Stale {
		fmt.Fprintf(b, "STALE %s matches no failure; remove the line from known_failing.txt\n", line)
	}
}

func (r Report) writeCounts(b *strings.Builder) {
	fmt.Fprintf(b, "%d passed, %d failed, %d known failing, %d not applicable; %d steps that their protocol cannot say\n",
		r.Count(Passed), r.Count(Failed), r.Count(KnownFailing), r.Count(NotApplicable), r.NotCarried())
	reasons := map[string]int{}
	var order []string
	for _, res := range r.Results {
		if res.Outcome == NotApplicable {
			if reasons[res.Why] == 0 {
				order = append(order, res.Why)
			}
			reasons[res.Why]++
		}
	}
	slices.Sort(order)
	for _, why := range order {
		fmt.Fprintf(b, "not applicable: %d × %s\n", reasons[why], why)
	}
	if r.Played() == 0 {
		b.WriteString("nothing was played: that is a failure\n")
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
