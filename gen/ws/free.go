// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/free.go. DO NOT EDIT.

package ws

import (
	"bytes"
	"slices"
)

// raw reads any value and gives a copy of its text.
func (s *scanner) raw() RawJSON {
	s.peek()
	start := s.p
	s.skip()
	if s.err != nil {
		return nil
	}
	return RawJSON(bytes.Clone(s.b[start:s.p]))
}

// skip reads one value of any kind, as strictly as everything else.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '"':
		key := s.key
		s.name()
		s.key = key
	case c == '{':
		s.skipObject()
	case c == '[':
		s.skipArray()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case c == 't' || c == 'f':
		s.boolWord()
	case c == 'n':
		if !s.null() {
			s.syntax()
		}
	default:
		s.syntax()
	}
}

func (s *scanner) boolWord() {
	switch {
	case bytes.HasPrefix(s.b[s.p:], trueText):
		s.p += 4
	case bytes.HasPrefix(s.b[s.p:], falseText):
		s.p += 5
	default:
		s.syntax()
	}
}

func (s *scanner) skipArray() {
	s.p++
	s.depth++
	if s.depth > maxDepth {
		s.fail("depth", "is nested deeper than 128 levels")
		return
	}
	if s.peek() == ']' {
		s.p++
		s.depth--
		return
	}
	for s.err == nil {
		s.skip()
		switch s.peek() {
		case ',':
			s.p++
		case ']':
			s.p++
			s.depth--
			return
		default:
			s.syntax()
			return
		}
	}
}

// manyNames is where duplicate detection moves from comparing to hashing.
const manyNames = 16

func (s *scanner) skipObject() {
	if !s.object() {
		return
	}
	base := len(s.names)
	var table map[string]struct{}
	first := true
	for s.member(&first) {
		var again bool
		if table != nil {
			_, again = table[string(s.key)]
		} else {
			again = slices.ContainsFunc(s.names[base:], func(n []byte) bool { return bytes.Equal(n, s.key) })
		}
		if again {
			s.fail("duplicate", "holds the member "+shortName(s.key)+" twice")
			return
		}
		if table == nil {
			s.names = append(s.names, bytes.Clone(s.key))
			if len(s.names)-base > manyNames {
				table = make(map[string]struct{}, 2*manyNames)
				for _, n := range s.names[base:] {
					table[string(n)] = struct{}{}
				}
			}
		} else {
			table[string(s.key)] = struct{}{}
		}
		s.skip()
		if s.err != nil {
			return
		}
	}
	s.names = s.names[:base]
}

// scalarArray says whether a well-formed array holds strings, numbers and booleans only.
func (s *scanner) scalarArray() bool {
	s.peek()
	s.p++
	if s.peek() == ']' {
		return true
	}
	for {
		switch s.peek() {
		case '{', '[', 'n':
			return false
		}
		s.skip()
		if s.err != nil || s.peek() != ',' {
			return s.err == nil
		}
		s.p++
	}
}

// countMembers counts the members of a well-formed object.
func (s *scanner) countMembers() int {
	n, first := 0, true
	s.object()
	for s.member(&first) {
		n++
		s.skip()
	}
	return n
}
