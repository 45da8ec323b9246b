package httpapi

import (
	"strconv"
	"strings"
)

// maxEntityTags bounds a list of entity tags. Nobody waits for more than a handful of versions.
const maxEntityTags = 64

// tagList is the value of an If-Match or If-None-Match header: nothing, any version, or some versions.
type tagList struct {
	present bool
	any     bool
	tags    []entityTag
}

// entityTag is one entity tag. opaque stands without its quotes.
type entityTag struct {
	weak   bool
	opaque string
}

// strongTag is the entity tag of a generation: strong, because a generation of a path has one body for ever.
func strongTag(generation int64) string { return `"` + strconv.FormatInt(generation, 10) + `"` }

// parseTags reads the lines of an If-Match or If-None-Match header. ok is false for anything that is not exactly a
// star or a list of entity tags: a precondition that cannot be read must not be taken for none.
func parseTags(lines []string) (list tagList, ok bool) {
	if len(lines) == 0 {
		return tagList{}, true
	}
	list.present = true
	for i, s := range lines {
		for s = skipBlank(s); s != ""; {
			if s[0] == ',' { // empty list elements are allowed by HTTP's list rule
				s = skipBlank(s[1:])
				continue
			}
			if s[0] == '*' {
				// A star stands alone: one line, one element.
				rest := skipBlank(s[1:])
				if rest != "" || len(lines) > 1 || i > 0 || len(list.tags) > 0 {
					return tagList{}, false
				}
				list.any = true
				return list, true
			}
			tag, rest, ok := parseTag(s)
			if !ok || len(list.tags) == maxEntityTags {
				return tagList{}, false
			}
			list.tags = append(list.tags, tag)
			if s = skipBlank(rest); s != "" && s[0] != ',' {
				return tagList{}, false
			}
		}
	}
	return list, len(list.tags) > 0
}

// parseTag reads one entity tag at the start of s.
func parseTag(s string) (tag entityTag, rest string, ok bool) {
	if strings.HasPrefix(s, "W/") {
		tag.weak = true
		s = s[2:]
	}
	if s == "" || s[0] != '"' {
		return tag, "", false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			tag.opaque = s[1:i]
			return tag, s[i+1:], true
		case c < 0x21 || c == 0x7f:
			return tag, "", false
		}
	}
	return tag, "", false
}

func skipBlank(s string) string { return strings.TrimLeft(s, " \t") }

// matchesStrong reports whether the list names this generation by the strong comparison, as If-Match demands.
func (l tagList) matchesStrong(generation int64) bool { return l.matches(generation, false) }

// matchesWeak reports whether the list names this generation by the weak comparison, as If-None-Match demands.
func (l tagList) matchesWeak(generation int64) bool { return l.matches(generation, true) }

func (l tagList) matches(generation int64, weak bool) bool {
	if l.any {
		return true
	}
	want := strconv.FormatInt(generation, 10)
	for _, t := range l.tags {
		if t.opaque == want && (weak || !t.weak) {
			return true
		}
	}
	return false
}
