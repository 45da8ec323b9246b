package shape

import (
	"errors"
	"strings"
	"testing"
)

// What no double holds is refused by name, on whatever page it lies (S1).
func TestOutsizedNumbersAreRefused(t *testing.T) {
	long := strings.Repeat("9", 400)
	for _, c := range []struct{ path, body, format, names string }{
		{"a.json", `[1e400]`, "json", "1e400 at byte 1 "},
		{"a.json", `{"a":{"b":[0,-1E+309]}}`, "json", "-1E+309 at byte 13 "},
		{"a.json", `1.8e308`, "json", "1.8e308 at byte 0 "},
		{"a.json", `["\"",` + long + `]`, "json", strings.Repeat("9", 40) + "… at byte 6 "},
		{"a.json", "\xef\xbb\xbf[1e400]", "json", "1e400 at byte 4 "},
		{"a.json", `{"a":1e999,"a":1}`, "json", "1e999 at byte 5 "},
		{"a.jsonl", "1\n\n{\"a\":1e400}\n", "json", "1e400 in line 3 "},
		{"a.yaml", "a: 1e400\n", "yaml", "1e400 in line 1 "},
		{"a.yaml", "- 1\n- -1.5e+999\n", "yaml", "-1.5e+999 in line 2 "},
		{"a.yaml", "- " + long + "\n", "yaml", "… in line 1 "},
	} {
		for _, first := range []int{0, 1000} {
			_, err := Records("", c.path, []byte(c.body), first, 10)
			var d *DecodeError
			if !errors.As(err, &d) || d.Format != c.format || !strings.Contains(d.Text, "The number ") || !strings.Contains(d.Text, c.names) {
				t.Errorf("%s %.40q from %d: %v", c.path, c.body, first, err)
			}
		}
	}
}

// S2: everything that a double can stand for keeps its spelling, rounded or not.
func TestNumbersKeepTheirSpelling(t *testing.T) {
	for _, n := range []string{"9007199254740993", "1e-7", "100.0", "-0", "-0.0", "1E5", "1.7976931348623157e308", "1e-400", "0.1000",
		"123456789012345678901234567890", strings.Repeat("9", 308), "0." + strings.Repeat("3", 500), "0e999"} {
		for _, path := range []string{"a.json", "a.jsonl", "a.yaml"} {
			if got, _, err := read(t, "", path, "["+n+"]"); err != nil || strings.Trim(got, "[]") != n {
				t.Errorf("%s: %s came back as %s, %v", path, n, got, err)
			}
		}
	}
	for body, want := range map[string]string{`"1e400"`: `"1e400"`, `{"1e400":"\\\"1e999"}`: `{"1e400":"\\\"1e999"}`} {
		if got, _, err := read(t, "", "a.json", body); err != nil || got != want {
			t.Errorf("text that looks like a number: %s, %v", got, err)
		}
	}
	if got, _, err := read(t, "", "a.yaml", "- '1e400'\n- .inf\n- 0x"+strings.Repeat("f", 64)); err != nil || !strings.HasPrefix(got, `"1e400"|null|1157920892`) {
		t.Errorf("YAML: %s, %v", got, err)
	}
}
