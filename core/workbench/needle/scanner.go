package needle

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// SnippetScalars is how much of a line a match shows.
const SnippetScalars = 240

// headLen is how many bytes at most hold the beginning of a line that a match
// shows, and whether it ends there.
const headLen = SnippetScalars*utf8.UTFMax + 2

var (
	// ErrNUL says that the text has a NUL in it.
	ErrNUL = errors.New("needle: a NUL byte")
	// ErrFull says that as many lines were found as were asked for.
	ErrFull = errors.New("needle: enough lines found")
)

// Match is a line that was found.
type Match struct {
	Line    int64  // counts from 1
	Snippet string // the first SnippetScalars of the line
}

// Position is where a reading was interrupted.
type Position struct {
	// Offset is that of the first byte that is still to be read.
	Offset int64
	// Line is the number of the line that this byte is in, from 1, and LineStart
	// the offset at which the line begins.
	Line, LineStart int64
	// Found says that the line was found already.
	Found bool
}

// Start is the beginning of a text.
func Start() Position { return Position{Line: 1} }

// HeadLen is how many bytes from LineStart on Begin wants.
func (p Position) HeadLen() int64 {
	if p.Found {
		return 0
	}
	return min(headLen, p.Offset-p.LineStart)
}

// Scanner reads a text, piece by piece, and finds lines. It is used by one
// goroutine at a time; Begin makes it ready for another text.
type Scanner struct {
	n     *Needle
	limit int
	// Matches are the lines found since Begin, in order.
	Matches []Match

	at   int64 // offset of what Write gets next
	line int64
	// start is the offset of the current line, head its beginning; closed says that
	// head is all that is needed, ended that it is the whole line with its end cut
	// off.
	start         int64
	head          []byte
	closed, ended bool
	found         bool // of the current line
	pending       bool // found, and its head is not closed yet
	full          bool
	mute          bool // only NULs are looked for
	carry         []byte

	seam, low []byte
	next      []int // of each plain pattern, in the region that is searched
}

// NewScanner returns a scanner for a needle.
func NewScanner(n *Needle) *Scanner { return &Scanner{n: n, next: make([]int, len(n.plain))} }

// Begin makes the scanner read from a position on, and stop after limit lines.
// head are the bytes from p.LineStart on, as many as p.HeadLen says.
func (s *Scanner) Begin(p Position, head []byte, limit int) {
	s.limit, s.Matches = limit, nil
	s.at, s.line, s.start, s.found = p.Offset, p.Line, p.LineStart, p.Found
	s.head, s.closed, s.ended = append(s.head[:0], head...), p.Found || len(head) >= headLen, false
	s.pending, s.full, s.mute = false, false, false
	s.carry = s.carry[:0]
}

// Mute makes Write look for NULs only, and give ErrNUL only.
func (s *Scanner) Mute() { s.mute = true }

// Position returns where reading can go on: after ErrFull, or at any other time
// before End.
func (s *Scanner) Position() Position {
	p := Position{Offset: s.at, Line: s.line, LineStart: s.start, Found: s.found}
	switch {
	case s.pending:
		// The line is short so far: it will be found again.
		p.Offset, p.Found = s.start, false
	case !s.found:
		p.Offset -= int64(len(s.carry))
	}
	return p
}

// Write reads the next piece.
//
// Errors: ErrNUL, ErrFull. After either there is nothing more to read, but for
// Mute.
func (s *Scanner) Write(p []byte) (int, error) {
	if bytes.IndexByte(p, 0) >= 0 {
		return 0, ErrNUL
	}
	if s.mute || len(p) == 0 {
		return len(p), nil
	}
	s.piece(p)
	if s.full {
		return len(p), ErrFull
	}
	return len(p), nil
}

// End says that the text is over.
func (s *Scanner) End() {
	if s.full || s.mute {
		return
	}
	if !s.found && len(s.carry) > 0 && s.hasMatch(s.carry, true) {
		s.hit()
	}
	s.closed = true
	s.emit()
}

func (s *Scanner) piece(p []byte) {
	base := s.at // offset of p[0]
	s.at = base + int64(len(p))
	if !s.closed {
		s.addHead(p[:min(len(p), headLen-len(s.head))])
	}
	i := 0
	if !s.found && len(s.carry) > 0 {
		i = s.cross(p)
	}
	s.emit()
	var r region
	for !s.full {
		if s.found {
			// Nothing more is wanted of this line.
			j := bytes.IndexByte(p[i:], '\n')
			if j < 0 {
				s.carry = s.carry[:0]
				return
			}
			i += j + 1
			s.newLine(base + int64(i))
			if r.slow {
				r.skipLine()
			}
		}
		if !r.begun {
			r = s.search(p[i:])
		}
		at := s.nextMatch(p, i, &r)
		if at < 0 {
			s.pass(p, i, base)
			return
		}
		s.lines(p, i, at, base)
		i = at
		s.hit()
		s.emit()
	}
	// Full. Where the line ends can be known already.
	if s.found {
		if j := bytes.IndexByte(p[i:], '\n'); j >= 0 {
			s.newLine(base + int64(i+j+1))
			s.at = s.start
		}
	}
	s.carry = s.carry[:0]
}

// addHead adds what follows to the head of the current line.
func (s *Scanner) addHead(part []byte) {
	if j := bytes.IndexByte(part, '\n'); j >= 0 {
		part, s.closed, s.ended = part[:j], true, true
	}
	s.head = append(s.head, part...)
	s.closed = s.closed || len(s.head) >= headLen
}

// cross looks for matches that begin before a piece and end in it, and returns
// where in the piece to go on.
func (s *Scanner) cross(p []byte) int {
	// A rune that the cut divides belongs to what was before.
	skip := 0
	if cut := cutLen(s.carry); cut > 0 {
		var unit [8]byte
		n := copy(unit[:], s.carry[len(s.carry)-cut:])
		n += copy(unit[n:], p[:min(len(p), 4)])
		_, size := decode(unit[:n])
		skip = max(0, size-cut)
	}
	more := p[:min(len(p), s.n.reach+4)]
	whole := false
	if j := bytes.IndexByte(more, '\n'); j >= 0 {
		more, whole = more[:j], true
	}
	s.seam = append(append(s.seam[:0], s.carry...), more...)
	text := s.seam
	switch {
	case whole:
		text = bytes.TrimSuffix(text, []byte{'\r'})
	default:
		text = text[:len(text)-cutLen(text)]
	}
	if s.hasMatch(text, whole) {
		s.hit()
	}
	return min(skip, len(p))
}

// hasMatch looks for a match in a part of one line. final says that the line ends
// where the text does.
func (s *Scanner) hasMatch(text []byte, final bool) bool {
	s.low = appendLower(s.low[:0], text)
	return s.n.index(s.low, final) >= 0
}

// hit notes that the current line is found.
func (s *Scanner) hit() { s.found, s.pending = true, true }

// emit writes down a line that was found, once enough of it is known.
func (s *Scanner) emit() {
	if !s.pending || !s.closed {
		return
	}
	s.pending = false
	head := s.head
	if s.ended {
		head = bytes.TrimSuffix(head, []byte{'\r'})
	}
	s.Matches = append(s.Matches, Match{Line: s.line, Snippet: snippet(head)})
	s.full = len(s.Matches) >= s.limit
}

func (s *Scanner) newLine(start int64) {
	s.line++
	s.start, s.found, s.closed, s.ended = start, false, false, false
	s.head, s.carry = s.head[:0], s.carry[:0]
}

// lines moves the current line to the one that p[at] is in.
func (s *Scanner) lines(p []byte, i, at int, base int64) {
	n := bytes.Count(p[i:at], newline)
	if n == 0 {
		if s.start == base+int64(i) {
			s.restart(p, i) // the line began here, and its head was not taken yet
		}
		return
	}
	j := bytes.LastIndexByte(p[i:at], '\n')
	s.line += int64(n - 1)
	s.newLine(base + int64(i+j+1))
	s.restart(p, i+j+1)
}

var newline = []byte{'\n'}

// restart takes the head of a line that begins at p[at].
func (s *Scanner) restart(p []byte, at int) {
	if len(s.head) == 0 && !s.closed {
		s.addHead(p[at:min(len(p), at+headLen)])
	}
}

// pass goes over the rest of a piece in which nothing is to be found.
func (s *Scanner) pass(p []byte, i int, base int64) {
	s.lines(p, i, len(p), base)
	if start := s.start - base; start >= int64(len(p)) {
		s.carry = s.carry[:0]
		return
	} else if start > 0 {
		p = p[start:]
		s.carry = s.carry[:0]
	}
	// What a match that goes on behind the piece may begin with.
	keep := s.n.reach + 1
	if len(p) < keep+utf8.UTFMax {
		s.carry = append(s.carry, p...)
		p = s.carry
	}
	if from := len(p) - keep; from > 0 {
		p = p[runeAt(p, from):]
	}
	s.carry = append(s.carry[:0], p...)
}

// runeAt moves a position back to where the rune begins that it is in.
func runeAt(p []byte, at int) int {
	for k := range min(utf8.UTFMax, at+1) {
		if p[at-k]&0xC0 != 0x80 {
			return at - k
		}
	}
	return at // no rune goes on for so long
}

// region is a part of a piece that is searched, up to the piece's end.
type region struct {
	begun, slow bool
	// low is the text in lower case, as far as it was not searched yet; it has the
	// same line feeds.
	low []byte
}

// search makes a region ready.
func (s *Scanner) search(text []byte) region {
	if s.n.raw(text) {
		for k := range s.next {
			s.next[k] = unknown
		}
		return region{begun: true}
	}
	s.low = appendLower(s.low[:0], text[:len(text)-cutLen(text)])
	return region{begun: true, slow: true, low: s.low}
}

func (r *region) skipLine() {
	if j := bytes.IndexByte(r.low, '\n'); j >= 0 {
		r.low = r.low[j+1:]
	} else {
		r.low = nil
	}
}

// nextMatch returns a position in the next line that has a match, at or after
// p[i], or -1. Up to p[i], the region was searched.
func (s *Scanner) nextMatch(p []byte, i int, r *region) int {
	if r.slow {
		j := s.n.index(r.low, false)
		if j < 0 {
			return -1
		}
		for n := bytes.Count(r.low[:j], newline); n > 0; n-- {
			i += bytes.IndexByte(p[i:], '\n') + 1
			r.skipLine()
		}
		return i
	}
	first := -1
	for k := range s.next {
		at := s.next[k]
		if at >= 0 && at < i || at == unknown {
			at = s.n.plain[k].next(p, i)
			if at < 0 {
				at = none
			}
			s.next[k] = at
		}
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

const (
	unknown = -1
	none    = -2
)

// snippet is the beginning of a line as text.
func snippet(head []byte) string {
	out := make([]byte, 0, min(len(head), headLen))
	for scalars := 0; scalars < SnippetScalars && len(head) > 0; scalars++ {
		r, n := decode(head)
		out = utf8.AppendRune(out, r)
		head = head[n:]
	}
	return string(out)
}

// Step is how many bytes a reading that is interrupted has to take at least to
// get on.
func (s *Scanner) Step() int64 { return int64(4*(headLen+s.n.reach) + 64<<10) }
