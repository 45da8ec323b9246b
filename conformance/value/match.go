package value

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// matcher is a string of a pattern that accepts many values.
type matcher string

const (
	matcherAny    matcher = "$any"    // any value, null too
	matcherInt    matcher = "$int"    // a number written as an integer
	matcherTime   matcher = "$time"   // an instant, RFC 3339 in UTC, written with Z
	matcherUUID   matcher = "$uuid"   // 8-4-4-4-12 lowercase hex digits
	matcherSHA256 matcher = "$sha256" // sha256: and 64 lowercase hex digits
	matcherCursor matcher = "$cursor" // text that is not empty

	openMember = "..." // "...": "$any" lets an object have more members
)

func (m matcher) known() bool {
	switch m {
	case matcherAny, matcherInt, matcherTime, matcherUUID, matcherSHA256, matcherCursor:
		return true
	}
	return false
}

func (m matcher) accepts(v any) bool {
	switch m {
	case matcherAny:
		return true
	case matcherInt:
		n, ok := v.(Number)
		return ok && isInteger(string(n))
	case matcherTime:
		s, ok := v.(string)
		if !ok || !strings.HasSuffix(s, "Z") {
			return false
		}
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	case matcherUUID:
		s, ok := v.(string)
		return ok && isUUID(s)
	case matcherSHA256:
		s, ok := v.(string)
		digits, found := strings.CutPrefix(s, "sha256:")
		return ok && found && isHex(digits, 64)
	case matcherCursor:
		s, ok := v.(string)
		return ok && s != ""
	}
	return false
}

func isInteger(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func isHex(s string, n int) bool {
	if len(s) != n || strings.ToLower(s) != s {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

func isUUID(s string) bool {
	groups := strings.Split(s, "-")
	if len(groups) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(groups[i]) != n || strings.ToLower(groups[i]) != groups[i] {
			return false
		}
	}
	_, err := hex.DecodeString(strings.Join(groups, ""))
	return err == nil
}

// CompilePattern turns the strings of v into matchers and templates.
// Errors: a matcher that does not exist, a template that cannot be read, a member "..." with another value than "$any".
func CompilePattern(v any) (any, error) { return compile(v, true) }

// Match compares got with a resolved pattern and says where they differ, in a stable order. Nothing means equal (V3).
func Match(pattern, got any) []string {
	var out []string
	match(pattern, got, "$", &out)
	return out
}

func match(pattern, got any, at string, out *[]string) {
	differ := func(format string, args ...any) {
		*out = append(*out, at+": "+fmt.Sprintf(format, args...))
	}
	switch p := pattern.(type) {
	case matcher:
		if !p.accepts(got) {
			differ("want %s, got %s", string(p), Shorten(got))
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			differ("want an object, got %s", Shorten(got))
			return
		}
		_, open := p[openMember]
		for _, key := range Keys(p) {
			if key == openMember && p[key] == any(matcherAny) {
				continue
			}
			v, present := g[key]
			if !present {
				*out = append(*out, fmt.Sprintf("%s.%s: missing, want %s", at, key, Shorten(plain(p[key]))))
				continue
			}
			match(p[key], v, at+"."+key, out)
		}
		if !open {
			for _, key := range Keys(g) {
				if _, expected := p[key]; !expected {
					*out = append(*out, fmt.Sprintf("%s.%s: not expected, got %s", at, key, Shorten(g[key])))
				}
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			differ("want an array, got %s", Shorten(got))
			return
		}
		if len(g) != len(p) {
			differ("want %d elements, got %d: %s", len(p), len(g), Shorten(got))
			return
		}
		for i := range p {
			match(p[i], g[i], fmt.Sprintf("%s[%d]", at, i), out)
		}
	default:
		if !Equal(pattern, got) {
			differ("want %s, got %s", Shorten(pattern), Shorten(got))
		}
	}
}

// plain makes a pattern printable.
func plain(pattern any) any {
	switch p := pattern.(type) {
	case matcher:
		return string(p)
	case *Template:
		return p.source
	case []any:
		out := make([]any, len(p))
		for i, e := range p {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(p))
		for key, e := range p {
			out[key] = plain(e)
		}
		return out
	}
	return pattern
}
