package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report as JUnit XML: one suite for each protocol or mode, one case for each scenario. A
// stale line of the ledger is a failed case, and so is a run that played nothing.
func (r Report) WriteJUnit(w io.Writer) error {
	var out junitSuites
	index := map[string]int{}
	seconds := map[string]float64{}
	add := func(suite string, c junitCase, took float64) {
		i, ok := index[suite]
		if !ok {
			i = len(out.Suites)
			index[suite] = i
			out.Suites = append(out.Suites, junitSuite{Name: suite})
		}
		s := &out.Suites[i]
		s.Cases = append(s.Cases, c)
		s.Tests, out.Tests = s.Tests+1, out.Tests+1
		if c.Failure != nil {
			s.Failures, out.Failures = s.Failures+1, out.Failures+1
		}
		if c.Skipped != nil {
			s.Skipped, out.Skipped = s.Skipped+1, out.Skipped+1
		}
		seconds[suite] += took
		s.Time = fmt.Sprintf("%.3f", seconds[suite])
	}
	for _, res := range r.Results {
		suite := string(res.Mode)
		if res.Protocol != "" {
			suite += "/" + string(res.Protocol)
		}
		took := res.Duration.Seconds()
		c := junitCase{Name: res.ID, Class: "conformance." + suite, Time: fmt.Sprintf("%.3f", took)}
		switch res.Outcome {
		case Failed:
			c.Failure = &junitFailure{Message: printable(res.Failures[0]), Text: printable(strings.Join(res.Failures, "\n") + "\n" + res.Trace)}
		case KnownFailing:
			c.Skipped = &junitSkipped{Message: "known failing: " + printable(res.Failures[0])}
		case NotApplicable:
			c.Skipped = &junitSkipped{Message: res.Why}
		}
		add(suite, c, took)
	}
	for _, line := range r.Stale {
		add("ledger", junitCase{
			Name: line, Class: "conformance.ledger", Time: "0",
			Failure: &junitFailure{Message: "known_failing.txt: this line matches no failure"},
		}, 0)
	}
	if r.Played() == 0 {
		add("ledger", junitCase{
			Name: "played", Class: "conformance.ledger", Time: "0",
			Failure: &junitFailure{Message: "nothing was played"},
		}, 0)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// printable drops what XML cannot hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, s)
}
