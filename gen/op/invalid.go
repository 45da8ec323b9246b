// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/invalid.go. DO NOT EDIT.

package op

import (
	"strconv"
	"strings"
)

// Invalid says why a document was refused: which member, by which rule, in words that a caller may read.
// It never quotes the document beyond a shortened member name.
type Invalid struct {
	// Member is the path of the member at fault, "$" for the document itself, "$.predicates[2].op" inside.
	Member string
	// Rule is one word: unknown, duplicate, missing, type, enum, const, minimum, maximum, minLength, maxLength,
	// minItems, maxItems, maxProperties, pattern, oneOf, syntax, utf8, depth or trailing.
	Rule string
	// Text is the public sentence. It begins with Member.
	Text string
}

// Error gives the public sentence.
func (e *Invalid) Error() string { return e.Text }

func refuse(member, rule, words string) *Invalid {
	return &Invalid{Member: member, Rule: rule, Text: member + ": " + words}
}

// shortName makes an unknown member name fit for a message: quoted, control characters escaped, at most 64 runes.
func shortName(name []byte) string {
	s := strings.ToValidUTF8(string(name), "\uFFFD")
	n := 0
	for i := range s {
		if n == 64 {
			s = s[:i] + "…"
			break
		}
		n++
	}
	if plainName(s) {
		return s
	}
	return strconv.Quote(s)
}

func plainName(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// memberPath joins a parent path and a member name; names that are not plain words are bracketed.
func memberPath(parent, name string) string {
	if plainName(name) {
		return parent + "." + name
	}
	if len(name) > 0 && name[0] == '"' {
		return parent + "[" + name + "]"
	}
	return parent + "[" + strconv.Quote(name) + "]"
}

func itemPath(parent string, i int) string { return parent + "[" + strconv.Itoa(i) + "]" }
