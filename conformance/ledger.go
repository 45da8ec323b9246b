package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// embeddedLedger reads a ledger that the suite carries.
func embeddedLedger(name string) ([]string, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return ParseLedger(string(data))
}

// ParseLedger reads the lines of a ledger. A line is an entry, then # and the reason why it is there; a line that
// begins with # and an empty one say nothing. Errors: an entry without a reason, an entry that is there twice.
func ParseLedger(text string) ([]string, error) {
	out := []string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		entry, why, _ := strings.Cut(line, "#")
		entry, why = strings.TrimSpace(entry), strings.TrimSpace(why)
		if why == "" {
			return nil, fmt.Errorf("line %d: %q has no reason", n, entry)
		}
		if slices.Contains(out, entry) {
			return nil, fmt.Errorf("line %d: %q is there twice", n, entry)
		}
		out = append(out, entry)
	}
	return out, nil
}

// Uncovered compares the coverage of requirements with the ledger of those that no scenario shows (J2): missing
// are requirements marked as built that neither a scenario nor the ledger names, stale are entries of the ledger
// that are covered, not marked as built, or unknown.
func (l *Library) Uncovered(ledger []string) (missing, stale []string) {
	covered := l.Covered()
	open := map[string]bool{}
	for _, r := range l.Contract.Requirements() {
		if r.Slice && len(covered[r.ID]) == 0 {
			open[r.ID] = true
			if !slices.Contains(ledger, r.ID) {
				missing = append(missing, r.ID)
			}
		}
	}
	for _, id := range ledger {
		if !open[id] {
			stale = append(stale, id)
		}
	}
	return missing, stale
}
