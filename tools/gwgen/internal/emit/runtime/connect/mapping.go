//go:build gwgen_template

package bindconnect

import (
	"strconv"

	commonv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/common/v1"
	"google.golang.org/protobuf/proto"
)

// The scalars of the proto3 JSON mapping: 64-bit integers are written as strings and read as either, numbers of 32 bits
// and doubles likewise are read as either.

// integer64Text reads an integer, bare or in quotes.
func (s *scanner) integer64Text() int64 {
	if s.peek() != '"' {
		return s.integer()
	}
	text := s.str()
	if s.err != nil {
		return 0
	}
	inner := scanner{b: []byte(text)}
	v := int64(0)
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		s.fail("type", "must be an integer")
		return 0
	}
	v = inner.integer()
	if inner.err == nil && inner.p != len(text) {
		s.fail("type", "must be an integer, written without fraction or exponent")
		return 0
	}
	if inner.err != nil {
		rule := inner.err.Rule
		if rule == "syntax" {
			rule = "type"
			inner.words = "must be an integer"
		}
		s.fail(rule, inner.words)
	}
	return v
}

// integer32Text reads an integer of 32 bits, bare or in quotes. The schema's bounds are given for the message, which is
// then the same as on every other wire.
func (s *scanner) integer32Text(minimum, maximum int32) int32 {
	v := s.integer64Text()
	if v > int64(maximum) {
		s.fail("maximum", "must be at most "+strconv.Itoa(int(maximum)))
		return 0
	}
	if v < int64(minimum) {
		s.fail("minimum", "must be at least "+strconv.Itoa(int(minimum)))
		return 0
	}
	return int32(v)
}

// floatText reads a number, bare or in quotes. The words for infinities and for not-a-number are refused.
func (s *scanner) floatText() float64 {
	if s.peek() != '"' {
		return s.float()
	}
	text := s.str()
	if s.err != nil {
		return 0
	}
	inner := scanner{b: []byte(text)}
	v := inner.float()
	if inner.err != nil || inner.p != len(text) {
		s.fail("type", "must be a number")
	}
	return v
}

// rawText reads a string that holds the text of a JSON value. An empty string is an absent value. Validate checks the
// text itself.
func (s *scanner) rawText() RawJSON {
	if text := s.str(); text != "" {
		return RawJSON(text)
	}
	return nil
}

// intOrStringMessage reads the message form of a number or a word.
func (s *scanner) intOrStringMessage() (v IntOrString) {
	if !s.object() {
		return v
	}
	var seen uint64
	first := true
	for s.member(&first) {
		switch string(s.key) {
		case "integer":
			s.enter(&seen, 0, "integer")
			if s.null() {
				seen &^= 1
			} else {
				v = IntOrString{Int: s.integer64Text()}
			}
		case "text":
			s.enter(&seen, 1, "text")
			if s.null() {
				seen &^= 2
			} else {
				v = IntOrString{IsString: true, Str: s.str()}
			}
		default:
			s.unknown()
			continue
		}
		s.pop()
	}
	if s.err == nil && seen != 1 && seen != 2 {
		s.fail("oneOf", "must have exactly one of integer, text")
	}
	return v
}

func appendIntText(dst []byte, v int64) []byte {
	return append(strconv.AppendInt(append(dst, '"'), v, 10), '"')
}

func appendRawText(dst []byte, v RawJSON) []byte {
	if v == nil {
		return append(dst, `"null"`...)
	}
	return appendString(dst, string(v))
}

func appendIntOrStringMessage(dst []byte, v *IntOrString) []byte {
	if v.IsString {
		return append(appendString(append(dst, `{"text":`...), v.Str), '}')
	}
	return append(appendIntText(append(dst, `{"integer":`...), v.Int), '}')
}

func intOrStringFrom(m *commonv1.IntOrString) *IntOrString {
	switch v := m.GetValue().(type) {
	case *commonv1.IntOrString_Integer:
		return &IntOrString{Int: v.Integer}
	case *commonv1.IntOrString_Text:
		return &IntOrString{IsString: true, Str: v.Text}
	}
	return nil
}

func intOrStringTo(v *IntOrString) *commonv1.IntOrString {
	switch {
	case v == nil:
		return nil
	case v.IsString:
		return &commonv1.IntOrString{Value: &commonv1.IntOrString_Text{Text: v.Str}}
	}
	return &commonv1.IntOrString{Value: &commonv1.IntOrString_Integer{Integer: v.Int}}
}

// unknownFields refuses a message that carries fields it does not have: an argument that nobody reads is a mistake on
// every protocol.
func unknownFields(m proto.Message) *Invalid {
	if len(m.ProtoReflect().GetUnknown()) == 0 {
		return nil
	}
	return refuse("$", "unknown", "carries a field that the message "+string(m.ProtoReflect().Descriptor().Name())+" does not have")
}
