package mcpapi

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// maxEnvelopeDepth bounds the nesting of a whole message. Arguments have a lower bound of their own, in their decoder.
const maxEnvelopeDepth = 1000

// idKind says what a message's id is.
type idKind uint8

const (
	idAbsent idKind = iota
	idNull
	idString  // without escapes
	idEscaped // a string with escapes
	idInteger
)

// message is what the door reads of one JSON-RPC message. Slices point into the scanned bytes.
type message struct {
	batch     bool
	response  bool   // neither a request nor a notification: it carries result or error
	id        []byte // raw token
	idKind    idKind
	method    []byte // content of the string; nil when it has escapes
	hasMethod bool
	params    params
	odd       bool // holds top-level members beyond those of a request
}

// echo is the id as an answer repeats it, exactly as it was written; null when there is none.
func (m *message) echo() []byte {
	if m.called() {
		return m.id
	}
	return []byte("null")
}

// called reports whether the message has an id that an answer can be found by.
func (m *message) called() bool { return m.idKind > idNull }

// params is what the door reads of the params member, as far as tools/call and tools/list need it.
type params struct {
	kind      byte // first byte of the value: '{' for an object, 0 when absent
	meta      []byte
	name      []byte // content of the string; nil when it has escapes
	hasName   bool   // a name is there, and is a string
	args      []byte // raw value
	hasCursor bool
	odd       bool // holds members beyond _meta, name and arguments
}

// plain reports whether the door has seen all that params hold.
func (p *params) plain() bool {
	return p.kind == '{' && !p.odd && !p.hasCursor && p.name != nil
}

// scanError is a refusal of the door. code is a JSON-RPC error code, text is public.
type scanError struct {
	code int
	text string
}

const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// scan reads one JSON-RPC message, or a batch of them, and refuses what is not strict JSON.
//
// Outside of tool arguments it refuses everything on which two JSON readers could disagree: duplicate members of the
// envelope, of params and of _meta, invalid UTF-8, lone surrogates, bytes after the value. Arguments need only be
// well-formed JSON here: the operation's own decoder judges them, so that its error names the member.
func scan(b []byte) (message, *scanError) {
	s := scanner{b: b}
	s.space()
	var m message
	switch s.peek() {
	case '{':
		m = s.message()
	case '[':
		m.batch = true
		s.batch()
	case 0:
		if s.i >= len(b) {
			return m, &scanError{codeInvalidRequest, "the body is empty; send one JSON-RPC message"}
		}
		s.fail("invalid JSON")
	default:
		s.value()
		s.end()
		if s.err == nil {
			s.err = &scanError{codeInvalidRequest, "a JSON-RPC message is an object"}
		}
	}
	s.end()
	if s.err != nil {
		if s.err.code == codeParse {
			// Of what is no JSON, no part can be trusted, an id neither.
			m = message{}
		}
		return m, s.err
	}
	if !utf8.Valid(b) && !s.validOutsideArguments() {
		return m, &scanError{codeParse, "the message is not valid UTF-8"}
	}
	return m, nil
}

// scanner is a strict JSON reader that builds nothing. Its position stays put once err is set.
type scanner struct {
	b       []byte
	i       int
	depth   int
	lenient bool   // inside arguments
	args    [2]int // where the first arguments lie; empty when there are none
	more    [][2]int
	err     *scanError
}

func (s *scanner) fail(text string) {
	if s.err == nil {
		s.err = &scanError{codeParse, text}
	}
	s.i = len(s.b)
}

func (s *scanner) invalid(text string) {
	if s.err == nil {
		s.err = &scanError{codeInvalidRequest, text}
	}
	s.i = len(s.b)
}

func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// end demands that nothing but white space is left.
func (s *scanner) end() {
	if s.err != nil {
		return
	}
	s.space()
	if s.i < len(s.b) {
		s.fail("unexpected bytes after the JSON value")
	}
}

func (s *scanner) validOutsideArguments() bool {
	if !utf8.Valid(s.b[:s.args[0]]) {
		return false
	}
	at := s.args[1]
	for _, span := range s.more {
		if !utf8.Valid(s.b[at:span[0]]) {
			return false
		}
		at = span[1]
	}
	return utf8.Valid(s.b[at:])
}

// enter and leave count nesting.
func (s *scanner) enter() bool {
	s.i++
	s.depth++
	if s.depth > maxEnvelopeDepth {
		s.fail("the JSON is nested too deeply")
		return false
	}
	return true
}

func (s *scanner) leave() {
	s.i++
	s.depth--
}

// value skips one value of any kind.
func (s *scanner) value() {
	switch c := s.peek(); {
	case c == '"':
		s.str()
	case c == '{':
		if !s.enter() {
			return
		}
		for first := true; s.member(first); first = false {
			s.str()
			s.colon()
			s.value()
		}
	case c == '[':
		if !s.enter() {
			return
		}
		for first := true; s.element(first); first = false {
			s.value()
		}
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.fail("invalid JSON")
	}
}

// member positions at the next member name of an object, and reports false after the closing brace or an error.
func (s *scanner) member(first bool) bool {
	s.space()
	c := s.peek()
	if c == '}' {
		s.leave()
		return false
	}
	if !first {
		if c != ',' {
			s.fail("invalid JSON")
			return false
		}
		s.i++
		s.space()
		c = s.peek()
	}
	if c != '"' {
		s.fail("invalid JSON")
		return false
	}
	return s.err == nil
}

func (s *scanner) element(first bool) bool {
	s.space()
	c := s.peek()
	if c == ']' {
		s.leave()
		return false
	}
	if !first {
		if c != ',' {
			s.fail("invalid JSON")
			return false
		}
		s.i++
		s.space()
		if s.peek() == ']' {
			s.fail("invalid JSON")
			return false
		}
	}
	if s.i >= len(s.b) {
		s.fail("invalid JSON")
	}
	return s.err == nil
}

func (s *scanner) colon() {
	s.space()
	if s.peek() != ':' {
		s.fail("invalid JSON")
		return
	}
	s.i++
	s.space()
}

func (s *scanner) literal(want string) {
	if len(s.b)-s.i < len(want) || string(s.b[s.i:s.i+len(want)]) != want {
		s.fail("invalid JSON")
		return
	}
	s.i += len(want)
}

func (s *scanner) number() {
	digits := func() bool {
		n := s.i
		for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
			s.i++
		}
		return s.i > n
	}
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !digits() {
		s.fail("invalid JSON")
		return
	}
	if s.peek() == '.' {
		s.i++
		if !digits() {
			s.fail("invalid JSON")
			return
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !digits() {
			s.fail("invalid JSON")
		}
	}
}

const (
	low7 = 0x7f7f7f7f7f7f7f7f
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// plainRun counts the bytes of b, in steps of eight, before one that ends a string, escapes or is a control character.
func plainRun(b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote := x ^ ones*'"'
		back := x ^ ones*'\\'
		// Classic zero-byte tests; a false alarm only ends the fast run early.
		hit := (quote-ones)&^quote | (back-ones)&^back | (x-ones*0x20)&^x
		if hit&high != 0 {
			return n
		}
		n += 8
	}
	return n
}

// str skips a string and returns its content, or nil when it holds escapes.
func (s *scanner) str() (content []byte) {
	s.i++
	start := s.i
	plain := true
	for {
		s.i += plainRun(s.b[s.i:])
		if s.i >= len(s.b) {
			s.fail("invalid JSON")
			return nil
		}
		switch c := s.b[s.i]; {
		case c == '"':
			content = s.b[start:s.i:s.i]
			s.i++
			if !plain {
				return nil
			}
			return content
		case c == '\\':
			plain = false
			s.escape()
			if s.err != nil {
				return nil
			}
		case c < 0x20:
			s.fail("invalid JSON: a control character in a string")
			return nil
		default:
			s.i++
		}
	}
}

func (s *scanner) escape() {
	if s.i+1 >= len(s.b) {
		s.fail("invalid JSON")
		return
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
	case 'u':
		r, ok := hex4(s.b[s.i+2:])
		if !ok {
			s.fail("invalid JSON: a bad \\u escape")
			return
		}
		s.i += 6
		if s.lenient || r < 0xd800 || r > 0xdfff {
			return
		}
		if r < 0xdc00 && len(s.b)-s.i >= 6 && s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
			if lo, ok := hex4(s.b[s.i+2:]); ok && lo >= 0xdc00 && lo <= 0xdfff {
				s.i += 6
				return
			}
		}
		s.fail("a lone surrogate in a string")
	default:
		s.fail("invalid JSON: a bad escape")
	}
}

func hex4(b []byte) (r uint32, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | uint32(c)
	}
	return r, true
}

// seen finds a repeated member name among the few of one object, without allocating for the usual sizes.
type seen struct {
	names [12][]byte
	n     int
	more  map[string]struct{}
}

func (d *seen) add(raw []byte) (dup bool) {
	for _, have := range d.names[:d.n] {
		if bytes.Equal(have, raw) {
			return true
		}
	}
	if d.n < len(d.names) {
		d.names[d.n] = raw
		d.n++
		return false
	}
	if _, dup := d.more[string(raw)]; dup {
		return true
	}
	if d.more == nil {
		d.more = make(map[string]struct{})
	}
	d.more[string(raw)] = struct{}{}
	return false
}

// name reads a member name of an object whose members must differ. Escapes are undone first (some encoders escape
// every slash), so that no name can be spelled in two ways.
func (s *scanner) name(d *seen, where string) []byte {
	start := s.i
	n := s.str()
	if s.err != nil {
		return nil
	}
	if n == nil {
		var err error
		if n, err = jsontext.AppendUnquote(nil, s.b[start:s.i]); err != nil {
			s.fail("the message is not valid UTF-8")
			return nil
		}
	}
	if d.add(n) {
		s.invalid("duplicate member of " + where)
		return nil
	}
	s.colon()
	return n
}

// batch reads an array of messages.
func (s *scanner) batch() {
	if !s.enter() {
		return
	}
	for first := true; s.element(first); first = false {
		if s.peek() != '{' {
			s.invalid("a JSON-RPC message is an object")
			return
		}
		s.message()
	}
}

// message reads one JSON-RPC object.
func (s *scanner) message() message {
	var m message
	var d seen
	version := false
	if !s.enter() {
		return m
	}
	for first := true; s.member(first); first = false {
		name := s.name(&d, "the JSON-RPC message")
		if s.err != nil {
			return m
		}
		start := s.i
		switch string(name) {
		case "jsonrpc":
			if s.peek() == '"' {
				version = string(s.str()) == "2.0"
			} else {
				s.value()
			}
		case "id":
			if m.idKind = s.id(); s.err == nil {
				m.id = s.b[start:s.i:s.i]
			}
		case "method":
			if s.peek() != '"' {
				s.invalid("method is a string")
				return m
			}
			m.hasMethod = true
			m.method = s.str()
		case "params":
			s.params(&m.params)
		case "result", "error":
			m.response = true
			s.value()
		default:
			m.odd = true
			s.value()
		}
	}
	if s.err == nil && !version {
		s.invalid(`member jsonrpc is not "2.0"`)
	}
	if s.err == nil && !m.hasMethod && !m.response {
		s.invalid("the message has no method")
	}
	return m
}

// unfitID says which ids can be answered.
const unfitID = "id is a string, or an integer that a double can hold"

func (s *scanner) id() idKind {
	switch c := s.peek(); {
	case c == '"':
		if s.str() == nil {
			return idEscaped
		}
		return idString
	case c == '-' || c >= '0' && c <= '9':
		start := s.i
		s.number()
		raw := s.b[start:s.i]
		// Some implementations keep a double of it, and would answer a request that nobody made.
		if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil && string(raw) != "-0" && v <= op.LimitMaxSafeInteger && v >= -op.LimitMaxSafeInteger {
			return idInteger
		}
	case c == 'n':
		s.literal("null")
		return idNull
	default:
		s.value()
	}
	if s.err == nil {
		s.invalid(unfitID)
	}
	return idAbsent
}

func (s *scanner) params(p *params) {
	p.kind = s.peek()
	if p.kind != '{' {
		s.value()
		return
	}
	var d seen
	if !s.enter() {
		return
	}
	for first := true; s.member(first); first = false {
		name := s.name(&d, "params")
		if s.err != nil {
			return
		}
		start := s.i
		switch string(name) {
		case "name":
			if s.peek() != '"' {
				s.value() // as if there were none
				break
			}
			p.hasName = true
			p.name = s.str()
		case "arguments":
			s.lenient = true
			s.value()
			s.lenient = false
			p.args = s.b[start:s.i:s.i]
			if s.args[1] == 0 {
				s.args = [2]int{start, s.i}
			} else {
				s.more = append(s.more, [2]int{start, s.i})
			}
		case "_meta":
			s.meta(p)
			p.meta = s.b[start:s.i:s.i]
		case "cursor":
			s.value()
			cursor := s.b[start:s.i]
			p.hasCursor = string(cursor) != "null" && string(cursor) != `""` // the SDK takes both for none
		default:
			p.odd = true
			s.value()
		}
	}
}

// meta demands that the members of _meta differ: the protocol version is among them.
func (s *scanner) meta(p *params) {
	if s.peek() != '{' {
		p.odd = true
		s.value()
		return
	}
	var d seen
	if !s.enter() {
		return
	}
	for first := true; s.member(first); first = false {
		s.name(&d, "_meta")
		s.value()
	}
}
