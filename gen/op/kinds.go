// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/kinds.go. DO NOT EDIT.

package op

// kinds is a set of JSON value kinds.
type kinds uint8

const (
	kindString kinds = 1 << iota
	kindNumber
	kindBool
	kindNull
	kindArray
	kindObject
	// kindScalarArray is an array whose items are strings, numbers or booleans.
	kindScalarArray
	kindAny = kindString | kindNumber | kindBool | kindNull | kindArray | kindObject
)

func (k kinds) words() string {
	names := []struct {
		bit  kinds
		word string
	}{{kindString, "a string"}, {kindNumber, "a number"}, {kindBool, "a boolean"}, {kindArray, "an array"}, {kindScalarArray, "an array of strings, numbers or booleans"}, {kindObject, "an object"}, {kindNull, "null"}}
	var out []string
	for _, n := range names {
		if k&n.bit != 0 {
			out = append(out, n.word)
		}
	}
	switch len(out) {
	case 0:
		return "nothing"
	case 1:
		return out[0]
	}
	s := out[0]
	for _, w := range out[1 : len(out)-1] {
		s += ", " + w
	}
	return s + " or " + out[len(out)-1]
}

// kindOf tells the kind of a well-formed value by its first byte.
func kindOf(raw []byte) kinds {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '"':
			return kindString
		case '{':
			return kindObject
		case '[':
			return kindArray
		case 't', 'f':
			return kindBool
		case 'n':
			return kindNull
		default:
			return kindNumber
		}
	}
	return 0
}

// checkRaw says whether raw, which is well-formed, is of an admitted kind and has no more members than allowed.
func checkRaw(raw RawJSON, admit kinds, maxProperties int, path string) *Invalid {
	k := kindOf(raw)
	if k&admit != 0 && k != kindArray && maxProperties < 0 {
		return nil
	}
	if k == kindArray && admit&kindArray == 0 && admit&kindScalarArray != 0 {
		s := scanner{b: raw}
		if s.scalarArray() {
			return nil
		}
		return refuse(path, "type", "must be "+admit.words())
	}
	if k&admit == 0 {
		return refuse(path, "type", "must be "+admit.words())
	}
	if k == kindObject && maxProperties >= 0 {
		s := scanner{b: raw}
		if n := s.countMembers(); n > maxProperties {
			return refuse(path, "maxProperties", "must not have more than "+itoa(maxProperties)+" members")
		}
	}
	return nil
}

// checkRawSyntax says whether raw is exactly one strict JSON value; for values that no decoder has read yet.
func checkRawSyntax(raw RawJSON, path string) *Invalid {
	s := scanner{b: raw}
	s.skip()
	s.end()
	if s.err == nil {
		return nil
	}
	return refuse(path, s.err.Rule, s.words)
}
