// Code copied by gwgen from tools/gwgen/internal/emit/runtime/ws/envelope.go. DO NOT EDIT.

package ws

import "github.com/sawhorse-dev/sawhorse/gen/op"

// Envelope is the outer part of a frame, by which it is told apart.
type Envelope struct {
	// Command and Type are views of the input, nil when absent or not strings.
	Command, Type []byte
	RequestID     string
	// Data is a view of the arguments' text, nil when absent.
	Data []byte
	// Refused is what a call's envelope may not have: an unknown member, a request_id that is no string or too long.
	Refused *Invalid
}

// maxRequestID is the longest request_id, in characters.
const maxRequestID = 128

// ReadEnvelope reads one JSON object. The error says that the text is not exactly one, or holds a member twice.
func ReadEnvelope(b []byte) (Envelope, *Invalid) {
	var e Envelope
	s := scanner{b: b}
	if !s.object() {
		return e, s.err
	}
	var seen uint64
	first := true
	for s.member(&first) {
		switch string(s.key) {
		case "command":
			s.enter(&seen, 0, "command")
			e.Command = s.view()
		case "type":
			s.enter(&seen, 1, "type")
			e.Type = s.view()
		case "request_id":
			s.enter(&seen, 2, "request_id")
			id := s.view()
			e.RequestID = string(id)
			if id == nil && e.Refused == nil && s.err == nil {
				e.Refused = refuse("$.request_id", "type", "must be a string")
			}
		case "data":
			s.enter(&seen, 3, "data")
			s.peek()
			from := s.p
			s.skip()
			if s.err == nil {
				e.Data = b[from:s.p]
			}
		default:
			if e.Refused == nil {
				e.Refused = refuse(memberPath("$", shortName(s.key)), "unknown", "is not a member of this object")
			}
			s.skip()
			continue
		}
		s.pop()
	}
	s.end()
	if s.err == nil && e.Refused == nil {
		if seen&2 != 0 {
			e.Refused = refuse("$.type", "unknown", "is not a member of this object")
		} else if inv := checkLength(e.RequestID, 0, maxRequestID, "$.request_id"); inv != nil {
			e.Refused = inv
		}
	}
	return e, s.err
}

// view reads a value and gives the text of a string, nil for anything else.
func (s *scanner) view() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	if !s.name() {
		return nil
	}
	// s.key may be scratch that the next member overwrites.
	return append(make([]byte, 0, len(s.key)), s.key...)
}

// AppendResult writes the answer of a command that succeeded.
func AppendResult(dst []byte, command, requestID string, r op.Result) []byte {
	dst = appendString(append(dst, `{"type":"rpc_response","request_id":`...), requestID)
	dst = appendString(append(dst, `,"command":`...), command)
	dst = r.AppendJSON(append(dst, `,"result":`...))
	return append(dst, '}')
}
