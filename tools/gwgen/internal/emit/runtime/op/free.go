package op

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

// names are the member names of one object that no generated code knows.
type names struct {
	list  [][]byte
	table map[string]struct{}
}

// again says whether the name was there before, and remembers it.
func (n *names) again(name []byte) bool {
	if n.table != nil {
		_, again := n.table[string(name)]
		n.table[string(name)] = struct{}{}
		return again
	}
	if slices.ContainsFunc(n.list, func(have []byte) bool { return bytes.Equal(have, name) }) {
		return true
	}
	n.list = append(n.list, bytes.Clone(name))
	if len(n.list) > manyNames {
		n.table = make(map[string]struct{}, 2*manyNames)
		for _, have := range n.list {
			n.table[string(have)] = struct{}{}
		}
	}
	return false
}

func (s *scanner) skipObject() {
	if !s.object() {
		return
	}
	var seen names
	first := true
	for s.member(&first) {
		if seen.again(s.key) {
			s.fail("duplicate", "holds the member "+shortName(s.key)+" twice")
			return
		}
		s.skip()
	}
}

// ignore passes over a member of an object that may have more members than its reader knows.
func (s *scanner) ignore(seen *names) {
	if seen.again(s.key) {
		s.failAt(shortName(s.key), "duplicate", "is given twice")
		return
	}
	s.skip()
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
