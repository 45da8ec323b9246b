package scenario

import (
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// Kind says what a step does.
type Kind string

const (
	Call  Kind = "call"  // an operation with arguments that satisfy its schema
	Bad   Kind = "bad"   // an operation with arguments that violate it
	Wire  Kind = "wire"  // raw bytes on one protocol
	Tick  Kind = "tick"  // the fake clock moves
	Crash Kind = "crash" // unsynced state is lost and the store is opened again
	Open  Kind = "open"  // a raw connection of one protocol
	Recv  Kind = "recv"  // the next message on it
	Close Kind = "close" // its end
)

// Scenario is one file of scenarios/ or wire/.
type Scenario struct {
	File     string
	ID       string
	Prose    string
	Requires []string
	// Clock is where the fake clock starts.
	Clock time.Time
	// NeedsClock, NeedsCrash and NeedsEmptyRoot say what a target must be able to do.
	NeedsClock, NeedsCrash, NeedsEmptyRoot bool
	Steps                                  []*Step
}

// Step is one numbered step.
type Step struct {
	N        int
	Line     int
	Kind     Kind
	Op       string   // of call and bad
	Args     any      // compiled arguments of call and bad
	Protocol string   // of wire and open
	Message  *Message // of wire and open
	Advance  time.Duration
	Repeat   int  // how often a call runs; at least 1
	AtOnce   bool // the repetitions run at the same time, each on a connection of its own
	Expect   *Expect
	Saves    []Save
}

// Outcome says what an expectation is about.
type Outcome string

const (
	OK    Outcome = "ok"    // a result that matches Pattern
	Error Outcome = "error" // a refusal with Reason
	Reply Outcome = "reply" // a raw answer
)

// Expect is what a step must be answered with.
type Expect struct {
	Line    int
	Outcome Outcome
	Pattern any      // compiled: the result, the details of an error, or the body of a reply
	Reason  string   // of Error
	Names   []string // texts that the public message of an Error must contain
	Reply   *Message // of Reply
}

// Save keeps a member of an answer under a name.
type Save struct {
	Line int
	Name string
	Path string
}

// BodyKind says how the body of a Message is written in the file.
type BodyKind string

const (
	BodyNone   BodyKind = ""       // nothing is sent; in a reply, nothing is asserted
	BodyText   BodyKind = "text"   // the lines as they stand, without the last line end
	BodyHex    BodyKind = "hex"    // hex digits, space ignored
	BodyBase64 BodyKind = "base64" // standard base64, space ignored
	BodyJSON   BodyKind = "json"   // a JSON value; in a reply, a pattern
	BodyEmpty  BodyKind = "empty"  // in a reply: not one byte
	BodyDigest BodyKind = "sha256" // in a reply: the digest URI of the body
)

// Message is raw protocol matter: an HTTP request or answer, a WebSocket frame, a line on stdio.
type Message struct {
	Line    int
	Method  string          // of an HTTP request
	Path    *value.Template // of an HTTP request or an open
	Status  int             // of an HTTP answer
	Code    int             // of a close: the expected WebSocket close code, 0 when the client closes
	Headers []Header
	Kind    BodyKind
	Body    *value.Template // of every kind but json, none and empty
	Pattern any             // of json
	Chunked bool            // send without a declared length
	Cut     bool            // declare more than is sent, then drop the connection; nothing answers
	Declare int64           // declare so many bytes and wait for the answer before sending any
	Binary  bool            // a binary WebSocket frame
	Text    bool            // a text WebSocket frame
}

// Header is one header line of a Message.
type Header struct {
	Name   string
	Value  any  // compiled
	Absent bool // in a reply: must not be there
}

// Only is the protocol that a scenario's raw steps speak, or "" when no protocol is named.
func (s *Scenario) Only() string {
	for _, step := range s.Steps {
		if step.Protocol != "" {
			return step.Protocol
		}
	}
	return ""
}

// Operation is what the planner must know about one operation.
type Operation interface {
	// Check says what is wrong with a value as arguments, or nil.
	Check(args any) error
	// Streams reports that the operation has no arguments in JSON.
	Streams() bool
}

// Catalogue is what a file may refer to.
type Catalogue interface {
	Operation(id string) (Operation, bool)
	Reason(name string) bool
	Requirement(id string) bool
	Protocol(name string) bool
}
