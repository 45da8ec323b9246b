// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/paths.go. DO NOT EDIT.

package ws

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

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

func ptr[T any](v T) *T { return &v }

// has says whether a map already holds the key, without making a string of it.
func has[T any](m map[string]T, key []byte) bool {
	_, ok := m[string(key)]
	return ok
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// under moves an error of a part to its place in the whole.
func under(e *Invalid, path string) *Invalid {
	return &Invalid{Member: path + e.Member[1:], Rule: e.Rule, Text: path + e.Text[1:]}
}
