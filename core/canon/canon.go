package canon

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the greatest number of arrays and objects that may be open at
// once. The limit is part of the identity rule: a text beyond it has no
// canonical form.
const MaxDepth = 128

// Rule says why a text was refused.
type Rule string

// The rules that a text can break.
const (
	RuleSyntax    Rule = "syntax"    // not JSON by RFC 8259
	RuleUTF8      Rule = "utf8"      // bytes that are not UTF-8, or half a surrogate pair
	RuleDepth     Rule = "depth"     // more than MaxDepth open brackets
	RuleRange     Rule = "range"     // a number too large for float64
	RuleTrailing  Rule = "trailing"  // more bytes after the value
	RuleDuplicate Rule = "duplicate" // a member name twice in one object (strict only)
)

// Error is a refusal. Offset counts bytes from the start of the text.
type Error struct {
	Rule   Rule
	Offset int
}

// Error names the rule and the place, never the content.
func (e *Error) Error() string {
	return "canon: " + string(e.Rule) + " at byte " + strconv.Itoa(e.Offset)
}

// Append appends the canonical form of the JSON text src to dst. Where an
// object repeats a member name, the last value counts. src and dst must not
// overlap.
//
// Errors: *Error.
func Append(dst, src []byte) ([]byte, error) { return appendText(dst, src, false) }

// AppendStrict is Append, but refuses an object that repeats a member name.
func AppendStrict(dst, src []byte) ([]byte, error) { return appendText(dst, src, true) }

// IsCanonical reports whether text is valid JSON and already in canonical form.
func IsCanonical(text []byte) bool {
	out, err := AppendStrict(make([]byte, 0, len(text)), text)
	return err == nil && bytes.Equal(out, text)
}

func appendText(dst, src []byte, strict bool) ([]byte, error) {
	p := parser{src: src, dst: dst, strict: strict}
	p.space()
	if err := p.value(); err != nil {
		return dst, err
	}
	p.space()
	if p.at < len(src) {
		return dst, p.refuse(RuleTrailing)
	}
	return p.dst, nil
}

// member is one member of an object that is still open: its decoded name, where
// that stood in src, and where its canonical text ("name":value) lies in dst.
type member struct {
	name       []byte
	at         int
	start, end int
}

// parser walks the text once. Members are written as they come; when an object
// closes out of order, its part of dst is rewritten in order. In the worst case
// that moves a byte once for each of its MaxDepth enclosing objects.
type parser struct {
	src, dst []byte
	at       int
	depth    int
	strict   bool
	members  []member // of all open objects, innermost last
	scratch  []byte   // one object's text while it is put in order
}

func (p *parser) refuse(r Rule) error { return &Error{Rule: r, Offset: p.at} }

func (p *parser) space() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end: no JSON token begins with NUL.
func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *parser) value() error {
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.text()
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return p.literal("true")
	case c == 'f':
		return p.literal("false")
	case c == 'n':
		return p.literal("null")
	}
	return p.refuse(RuleSyntax)
}

func (p *parser) literal(word string) error {
	if len(p.src)-p.at < len(word) || string(p.src[p.at:p.at+len(word)]) != word {
		return p.refuse(RuleSyntax)
	}
	p.at += len(word)
	p.dst = append(p.dst, word...)
	return nil
}

func (p *parser) open() error {
	if p.depth == MaxDepth {
		return p.refuse(RuleDepth)
	}
	p.depth++
	p.dst = append(p.dst, p.src[p.at])
	p.at++
	p.space()
	return nil
}

func (p *parser) close() {
	p.dst = append(p.dst, p.src[p.at])
	p.at++
	p.depth--
}

func (p *parser) array() error {
	if err := p.open(); err != nil {
		return err
	}
	if p.peek() == ']' {
		p.close()
		return nil
	}
	for {
		if err := p.value(); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ']':
			p.close()
			return nil
		case ',':
			p.dst = append(p.dst, ',')
			p.at++
			p.space()
		default:
			return p.refuse(RuleSyntax)
		}
	}
}

func (p *parser) object() error {
	if err := p.open(); err != nil {
		return err
	}
	if p.peek() == '}' {
		p.close()
		return nil
	}
	first, body := len(p.members), len(p.dst)
	sorted := true
	for {
		if p.peek() != '"' {
			return p.refuse(RuleSyntax)
		}
		nameAt, start := p.at, len(p.dst)
		name, err := p.name()
		if err != nil {
			return err
		}
		p.space()
		if p.peek() != ':' {
			return p.refuse(RuleSyntax)
		}
		p.at++
		p.dst = append(p.dst, ':')
		p.space()
		if err := p.value(); err != nil {
			return err
		}
		if n := len(p.members); n > first && bytes.Compare(p.members[n-1].name, name) >= 0 {
			sorted = false
		}
		p.members = append(p.members, member{name: name, at: nameAt, start: start, end: len(p.dst)})
		p.space()
		c := p.peek()
		if c != ',' && c != '}' {
			return p.refuse(RuleSyntax)
		}
		if c == ',' {
			p.dst = append(p.dst, ',')
			p.at++
			p.space()
			continue
		}
		if !sorted {
			if err := p.sort(first, body); err != nil {
				return err
			}
		}
		p.members = p.members[:first]
		p.close()
		return nil
	}
}

// sort rewrites the text of the innermost object, which begins at body in dst,
// with the members from first on in order and without the overridden ones.
func (p *parser) sort(first, body int) error {
	ms := p.members[first:]
	slices.SortStableFunc(ms, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	text := append(p.scratch[:0], p.dst[body:]...)
	p.scratch = text
	p.dst = p.dst[:body]
	for i, m := range ms {
		if i+1 < len(ms) && bytes.Equal(m.name, ms[i+1].name) {
			if p.strict {
				p.at = ms[i+1].at
				return p.refuse(RuleDuplicate)
			}
			continue // the sort is stable: the last of equals came last
		}
		if len(p.dst) > body {
			p.dst = append(p.dst, ',')
		}
		p.dst = append(p.dst, text[m.start-body:m.end-body]...)
	}
	return nil
}

// name parses a member name, writes it to dst and returns it decoded. The
// result points into src, or into memory of its own when it has escapes.
func (p *parser) name() ([]byte, error) {
	at, from := p.at, len(p.dst)
	if err := p.text(); err != nil {
		return nil, err
	}
	raw := p.src[at+1 : p.at-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	return unescape(p.dst[from+1 : len(p.dst)-1]), nil
}

// text parses a string and appends its canonical form.
func (p *parser) text() error {
	p.dst = append(p.dst, '"')
	p.at++
	for p.at < len(p.src) {
		// Copy the run that may stand as it is in one piece.
		run := p.at
		for p.at < len(p.src) && bare[p.src[p.at]] {
			p.at++
		}
		p.dst = append(p.dst, p.src[run:p.at]...)
		if p.at == len(p.src) {
			break
		}
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			p.dst = append(p.dst, '"')
			return nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		case c < 0x20:
			return p.refuse(RuleSyntax)
		default:
			r, n := utf8.DecodeRune(p.src[p.at:])
			if r == utf8.RuneError && n == 1 {
				return p.refuse(RuleUTF8)
			}
			p.dst = append(p.dst, p.src[p.at:p.at+n]...)
			p.at += n
		}
	}
	return p.refuse(RuleSyntax)
}

// bare marks the ASCII bytes that stand for themselves inside a string.
var bare = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escape parses one escape sequence at p.at and appends what it stands for.
func (p *parser) escape() error {
	if p.at+1 == len(p.src) {
		p.at++
		return p.refuse(RuleSyntax)
	}
	var r rune
	switch c := p.src[p.at+1]; c {
	case '"', '\\', '/':
		r = rune(c)
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		unit, ok := hex4(p.src[p.at+2:])
		if !ok {
			return p.refuse(RuleSyntax)
		}
		if unit < 0xD800 || unit > 0xDFFF {
			p.dst = appendRune(p.dst, unit)
			p.at += 6
			return nil
		}
		rest := p.src[p.at+6:]
		if unit > 0xDBFF || len(rest) < 2 || rest[0] != '\\' || rest[1] != 'u' {
			return p.refuse(RuleUTF8)
		}
		low, ok := hex4(rest[2:])
		if !ok {
			return p.refuse(RuleSyntax)
		}
		if low < 0xDC00 || low > 0xDFFF {
			return p.refuse(RuleUTF8)
		}
		p.dst = utf8.AppendRune(p.dst, 0x10000+(unit-0xD800)<<10|(low-0xDC00))
		p.at += 12
		return nil
	default:
		return p.refuse(RuleSyntax)
	}
	p.dst = appendRune(p.dst, r)
	p.at += 2
	return nil
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
