package op

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

const (
	// maxDepth bounds nesting, the document's own object included.
	maxDepth = 128
	// shareBelow is the size up to which the strings of a document share one copy of it: one allocation instead of
	// one a string. Above it each string is its own, so that a small one never keeps a large document alive.
	shareBelow = 512
	// maxTrail is how deep the generated types nest; the generator refuses a deeper schema.
	maxTrail = 12
)

// scanner reads one JSON document strictly: exact member names, no duplicates at any depth, valid UTF-8, paired
// surrogates, bounded depth, nothing after the value. The first error sticks and moves the position to the end, so
// that the generated code needs no branch per call. It never keeps a reference to the input.
type scanner struct {
	b     []byte
	p     int
	src   string // a copy of b when that is small
	err   *Invalid
	words string // of err, without the path
	depth int
	key   []byte // current member name, valid until the next call of member
	spare []byte // scratch for names and skipped strings that hold escapes
	trail [maxTrail]step
	n     int // steps in use
}

// step is a member name or an index on the way from the root.
type step struct {
	name  string
	index int // -1 for a name
}

// share copies a small document once, for all its strings.
func (s *scanner) share() {
	if len(s.b) <= shareBelow {
		s.src = string(s.b)
	}
}

func (s *scanner) push(name string) {
	s.trail[s.n] = step{name, -1}
	s.n++
}

func (s *scanner) pop() { s.n-- }

func (s *scanner) path() string {
	p := "$"
	for _, t := range s.trail[:s.n] {
		switch {
		case t.index >= 0:
			p = itemPath(p, t.index)
		case t.name != "":
			p = memberPath(p, t.name)
		}
	}
	return p
}

func (s *scanner) fail(rule, words string) {
	if s.err == nil {
		s.err = refuse(s.path(), rule, words)
		s.words = words
	}
	s.p = len(s.b)
}

func (s *scanner) failAt(name, rule, words string) {
	if s.err == nil {
		s.err = refuse(memberPath(s.path(), name), rule, words)
		s.words = words
	}
	s.p = len(s.b)
}

func (s *scanner) syntax() {
	if s.p >= len(s.b) {
		s.fail("syntax", "the JSON text ends too early")
		return
	}
	s.fail("syntax", "is not valid JSON at byte "+itoa(s.p))
}

func (s *scanner) space() {
	for s.p < len(s.b) {
		switch s.b[s.p] {
		case ' ', '\t', '\n', '\r':
			s.p++
		default:
			return
		}
	}
}

// peek skips white space and gives the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.p < len(s.b) && s.b[s.p] > ' ' {
		return s.b[s.p]
	}
	s.space()
	if s.p < len(s.b) {
		return s.b[s.p]
	}
	return 0
}

// mismatch reports a value of the wrong kind. A value that is not JSON at all is a syntax error.
func (s *scanner) mismatch(want string) {
	c := s.peek()
	switch {
	case c == '"', c == '{', c == '[', c == '-', c >= '0' && c <= '9', c == 't', c == 'f', c == 'n':
		at := s.p
		s.skip()
		if s.err == nil {
			s.p = at
			s.fail("type", "must be "+want)
		}
	default:
		s.syntax()
	}
}

// end demands that nothing but white space follows.
func (s *scanner) end() {
	if s.err == nil && s.peek() != 0 || s.err == nil && s.p < len(s.b) {
		s.fail("trailing", "more text follows the JSON value")
	}
}

// object enters an object; the caller then loops on member.
func (s *scanner) object() bool {
	if s.peek() != '{' {
		s.mismatch("an object")
		return false
	}
	s.p++
	s.depth++
	if s.depth > maxDepth {
		s.fail("depth", "is nested deeper than 128 levels")
		return false
	}
	return true
}

// member reads the next member name into s.key. first is true before the first member. It gives false at the end of
// the object, which it consumes, and on error.
func (s *scanner) member(first *bool) bool {
	c := s.peek()
	if c == '}' {
		s.p++
		s.depth--
		return false
	}
	if !*first {
		if c != ',' {
			s.syntax()
			return false
		}
		s.p++
		c = s.peek()
	}
	*first = false
	if c != '"' {
		s.syntax()
		return false
	}
	if !s.name() {
		return false
	}
	if s.peek() != ':' {
		s.syntax()
		return false
	}
	s.p++
	return true
}

// name reads a member name into s.key: a view of the input, or of the scratch when it holds escapes.
func (s *scanner) name() bool {
	start := s.p + 1
	n, ascii := plainPrefixBytes(s.b[start:])
	if end := start + n; end < len(s.b) && s.b[end] == '"' && (ascii || utf8.Valid(s.b[start:end])) {
		s.p = end + 1
		s.key = s.b[start:end]
		return true
	}
	s.spare = s.text(s.spare[:0])
	s.key = s.spare
	return s.err == nil
}

// enter begins the member s.key, known by the generated code as name with the given bit. It refuses a second one.
func (s *scanner) enter(seen *uint64, bit uint, name string) {
	if *seen&(1<<bit) != 0 {
		s.failAt(name, "duplicate", "is given twice")
	}
	*seen |= 1 << bit
	s.push(name)
}

func (s *scanner) unknown() {
	s.failAt(shortName(s.key), "unknown", "is not a member of this object")
}

// require refuses when a bit of want is missing from seen; names are indexed by bit.
func (s *scanner) require(seen, want uint64, names []string) {
	if missing := want &^ seen; missing != 0 && s.err == nil {
		s.failAt(names[bits.TrailingZeros64(missing)], "missing", "is required")
	}
}

// forbid refuses when a bit of mask is in seen.
func (s *scanner) forbid(seen, mask uint64, names []string, words string) {
	if extra := seen & mask; extra != 0 {
		s.failAt(names[bits.TrailingZeros64(extra)], "unknown", words)
	}
}

// mapKey begins the member s.key of an object with free names.
func (s *scanner) mapKey(again bool) string {
	name := shortName(s.key)
	if again {
		s.failAt(name, "duplicate", "is given twice")
	}
	k := string(s.key)
	s.push(name)
	return k
}

func (s *scanner) constString(want string) {
	if v := s.str(); v != want && s.err == nil {
		s.fail("const", "must be "+want)
	}
}

func (s *scanner) constBool(want bool) {
	if v := s.boolean(); v != want && s.err == nil {
		s.fail("const", "must be "+strconv.FormatBool(want))
	}
}

func (s *scanner) constInt(want int64) {
	if v := s.integer(); v != want && s.err == nil {
		s.fail("const", "must be "+strconv.FormatInt(want, 10))
	}
}

// array enters an array; the caller then loops on item.
func (s *scanner) array() bool {
	if s.peek() != '[' {
		s.mismatch("an array")
		return false
	}
	s.p++
	s.depth++
	if s.depth > maxDepth {
		s.fail("depth", "is nested deeper than 128 levels")
		return false
	}
	s.trail[s.n] = step{"", -1}
	s.n++
	return true
}

// item moves to the next item of an array; false at its end and on error.
func (s *scanner) item() bool {
	c := s.peek()
	t := &s.trail[s.n-1]
	if c == ']' {
		if s.err == nil {
			s.p++
			s.depth--
			s.n--
		}
		return false
	}
	if t.index >= 0 {
		if c != ',' {
			s.syntax()
			return false
		}
		s.p++
		if s.peek() == ']' {
			s.syntax()
			return false
		}
	}
	if s.err != nil {
		return false
	}
	if s.p >= len(s.b) {
		s.syntax()
		return false
	}
	t.index++
	return true
}

// null consumes a null and says whether there was one.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.b[s.p:], nullText) {
		s.p += 4
		return true
	}
	return false
}

var nullText, trueText, falseText = []byte("null"), []byte("true"), []byte("false")

func (s *scanner) boolean() bool {
	switch c := s.peek(); {
	case c == 't' && bytes.HasPrefix(s.b[s.p:], trueText):
		s.p += 4
		return true
	case c == 'f' && bytes.HasPrefix(s.b[s.p:], falseText):
		s.p += 5
		return false
	}
	s.mismatch("true or false")
	return false
}

// number consumes the text of a number; whole says that it has neither fraction nor exponent.
func (s *scanner) number() (text []byte, whole bool) {
	start := s.p
	b := s.b
	p := s.p
	if p < len(b) && b[p] == '-' {
		p++
	}
	switch {
	case p >= len(b):
		s.p = p
		s.syntax()
		return nil, false
	case b[p] == '0':
		p++
		if p < len(b) && b[p]-'0' <= 9 {
			s.p = p
			s.syntax()
			return nil, false
		}
	case b[p] >= '1' && b[p] <= '9':
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
	default:
		s.p = p
		s.syntax()
		return nil, false
	}
	whole = true
	if p < len(b) && b[p] == '.' {
		whole = false
		p++
		q := p
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
		if p == q {
			s.p = p
			s.syntax()
			return nil, false
		}
	}
	if p < len(b) && (b[p] == 'e' || b[p] == 'E') {
		whole = false
		p++
		if p < len(b) && (b[p] == '+' || b[p] == '-') {
			p++
		}
		q := p
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
		if p == q {
			s.p = p
			s.syntax()
			return nil, false
		}
	}
	s.p = p
	return b[start:p], whole
}

func (s *scanner) isNumber() bool {
	c := s.peek()
	return c == '-' || c >= '0' && c <= '9'
}

// integer reads an integer literal; 1.0 and 1e3 are not integers here.
func (s *scanner) integer() int64 {
	if !s.isNumber() {
		s.mismatch("an integer")
		return 0
	}
	text, whole := s.number()
	if s.err != nil {
		return 0
	}
	if !whole {
		s.fail("type", "must be an integer, written without fraction or exponent")
		return 0
	}
	if len(text) <= 18 {
		var v int64
		neg := text[0] == '-'
		if neg {
			text = text[1:]
		}
		for _, c := range text {
			v = v*10 + int64(c-'0')
		}
		if neg {
			v = -v
		}
		return v
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		if text[0] == '-' {
			s.fail("minimum", "is below the smallest 64-bit integer")
		} else {
			s.fail("maximum", "is above the largest 64-bit integer")
		}
	}
	return v
}

// integer32 reads an integer whose maximum is below 2^31, given for the message.
func (s *scanner) integer32(minimum, maximum int32) int32 {
	v := s.integer()
	if v > int64(maximum) {
		s.fail("maximum", "must be at most "+itoa(int(maximum)))
		return 0
	}
	if v < int64(minimum) {
		s.fail("minimum", "must be at least "+itoa(int(minimum)))
		return 0
	}
	return int32(v)
}

func (s *scanner) float() float64 {
	if !s.isNumber() {
		s.mismatch("a number")
		return 0
	}
	text, _ := s.number()
	if s.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		s.fail("maximum", "does not fit a double")
	}
	return v
}

func (s *scanner) intOrString() IntOrString {
	switch {
	case s.peek() == '"':
		return IntOrString{IsString: true, Str: s.str()}
	case s.isNumber():
		return IntOrString{Int: s.integer()}
	}
	s.mismatch("an integer or a string")
	return IntOrString{}
}

// str reads a string value.
func (s *scanner) str() string {
	if s.peek() != '"' {
		s.mismatch("a string")
		return ""
	}
	start := s.p + 1
	n, ascii := plainPrefixBytes(s.b[start:])
	if end := start + n; end < len(s.b) && s.b[end] == '"' && (ascii || utf8.Valid(s.b[start:end])) {
		s.p = end + 1
		if s.src != "" {
			return s.src[start:end]
		}
		return string(s.b[start:end])
	}
	buf := s.text(nil)
	if s.err != nil {
		return ""
	}
	// buf is nobody else's, so it may become the string itself.
	return unsafe.String(unsafe.SliceData(buf), len(buf))
}

// quoteIndex finds the quote that ends the string whose contents begin at b[0].
func quoteIndex(b []byte) int {
	at := 0
	for {
		i := bytes.IndexByte(b[at:], '"')
		if i < 0 {
			return -1
		}
		at += i
		slashes := 0
		for k := at - 1; k >= 0 && b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
		at++
	}
}

// text reads a string and appends its value to buf. s.p is at the opening quote.
func (s *scanner) text(buf []byte) []byte {
	s.p++
	for {
		n, ascii := plainPrefixBytes(s.b[s.p:])
		run := s.b[s.p : s.p+n]
		if !ascii && !utf8.Valid(run) {
			s.fail("utf8", "is not valid UTF-8")
			return nil
		}
		s.p += n
		if s.p >= len(s.b) {
			s.syntax()
			return nil
		}
		c := s.b[s.p]
		if c == '"' {
			s.p++
			return append(buf, run...)
		}
		if buf == nil {
			// An escape never grows when it is read, so the rest of the text is room enough.
			if q := quoteIndex(s.b[s.p:]); q >= 0 {
				buf = make([]byte, 0, n+q)
			}
		}
		buf = append(buf, run...)
		if c != '\\' {
			s.fail("syntax", "holds a control character that must be escaped, at byte "+itoa(s.p))
			return nil
		}
		if buf = s.escape(buf); s.err != nil {
			return nil
		}
	}
}

// escape reads one escape sequence, s.p at its backslash.
func (s *scanner) escape(buf []byte) []byte {
	if s.p+1 >= len(s.b) {
		s.p = len(s.b)
		s.syntax()
		return buf
	}
	c := s.b[s.p+1]
	switch c {
	case '"', '\\', '/':
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		r, ok := s.hex4(s.p + 2)
		if !ok {
			s.syntax()
			return buf
		}
		s.p += 6
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if s.p+1 < len(s.b) && s.b[s.p] == '\\' && s.b[s.p+1] == 'u' {
				low, ok = s.hex4(s.p + 2)
			}
			if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
				s.fail("utf8", "holds half of a surrogate pair")
				return buf
			}
			s.p += 6
		}
		return utf8.AppendRune(buf, r)
	default:
		s.syntax()
		return buf
	}
	s.p += 2
	return append(buf, c)
}

func (s *scanner) hex4(at int) (rune, bool) {
	if at+4 > len(s.b) {
		return 0, false
	}
	var r rune
	for _, c := range s.b[at : at+4] {
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
		r = r<<4 | rune(c)
	}
	return r, true
}

// plainPrefixBytes gives how many bytes of b come before the first quote, backslash or control character, and
// whether all of them are ASCII.
func plainPrefixBytes(b []byte) (n int, ascii bool) {
	var high uint64
	for n+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[n:])
		if m := special(w); m != 0 {
			k := bits.TrailingZeros64(m) >> 3
			high |= w & highs & (1<<(8*k) - 1)
			return n + k, high == 0
		}
		high |= w & highs
		n += 8
	}
	for ; n < len(b); n++ {
		c := b[n]
		if c < 0x20 || c == '"' || c == '\\' {
			break
		}
		high |= uint64(c) & 0x80
	}
	return n, high == 0
}

// plainPrefix is plainPrefixBytes for a string.
func plainPrefix(s string) (n int, ascii bool) {
	var high uint64
	for n+8 <= len(s) {
		w := uint64(s[n]) | uint64(s[n+1])<<8 | uint64(s[n+2])<<16 | uint64(s[n+3])<<24 |
			uint64(s[n+4])<<32 | uint64(s[n+5])<<40 | uint64(s[n+6])<<48 | uint64(s[n+7])<<56
		if m := special(w); m != 0 {
			k := bits.TrailingZeros64(m) >> 3
			high |= w & highs & (1<<(8*k) - 1)
			return n + k, high == 0
		}
		high |= w & highs
		n += 8
	}
	for ; n < len(s); n++ {
		c := s[n]
		if c < 0x20 || c == '"' || c == '\\' {
			break
		}
		high |= uint64(c) & 0x80
	}
	return n, high == 0
}
