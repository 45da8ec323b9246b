// Package needle finds the lines of a text that contain one of several literal
// texts, without regard to case. It reads the text once, in pieces of any length,
// and its memory does not depend on the text.
//
// Invariants, cited in tests:
//
//	N1  A line is found exactly when its lower case contains the lower case of a
//	    pattern. What is not UTF-8 counts as U+FFFD, once for each maximal part of
//	    a sequence; the two small sigmas are one letter.
//	N2  Lines end at a line feed; one carriage return before it is no part of the
//	    line. What follows the last line feed is a line, if it is not empty.
//	N3  What is found does not depend on how the text is cut into pieces, nor on
//	    where the reading was interrupted and gone on with.
package needle

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Needle is a set of patterns. It is not changed after Compile, and safe for
// concurrent use.
type Needle struct {
	// folded are the patterns in lower case.
	folded [][]byte
	// plain are those of which every rune is written in one way, but for ASCII
	// letters: they can be looked for in the bytes as they are. cased says that
	// there are others, which an ASCII text cannot contain.
	plain []probe
	cased bool
	// hasK and hasI say that a plain pattern contains a letter that also one beyond
	// ASCII means.
	hasK, hasI bool
	// reach is the most bytes that a match can have.
	reach int
}

// Fold is the lower case by which patterns are compared.
func Fold(pattern string) string { return string(appendLower(nil, []byte(pattern))) }

// Compile returns the needle for some patterns, none of them empty.
func Compile(patterns []string) *Needle {
	n := &Needle{}
	for _, p := range patterns {
		folded := appendLower(nil, []byte(p))
		if bytes.IndexByte(folded, '\n') >= 0 || bytes.IndexByte(folded, 0) >= 0 {
			continue // no line has it
		}
		n.folded = append(n.folded, folded)
		n.reach = max(n.reach, utf8.UTFMax*utf8.RuneCount(folded))
		if !plain(folded) {
			n.cased = true
			continue
		}
		n.plain = append(n.plain, newProbe(folded))
		n.hasK = n.hasK || bytes.IndexByte(folded, 'k') >= 0
		n.hasI = n.hasI || bytes.IndexByte(folded, 'i') >= 0
	}
	return n
}

// plain reports whether no rune of a folded pattern beyond ASCII is the lower case
// of another one.
func plain(folded []byte) bool {
	for _, r := range string(folded) {
		if r >= utf8.RuneSelf && (r == utf8.RuneError || lowered()[r]) {
			return false
		}
	}
	// A carriage return at the end needs a look at what follows it.
	return folded[len(folded)-1] != '\r'
}

// raw reports whether the bytes of a text can be searched as they are.
func (n *Needle) raw(text []byte) bool {
	if n.cased && !isASCII(text) {
		return false
	}
	if n.crEnd() {
		return false
	}
	return !(n.hasK && bytes.Contains(text, kelvinBytes)) && !(n.hasI && bytes.Contains(text, dottedBytes))
}

var (
	kelvinBytes = []byte(string(kelvin))
	dottedBytes = []byte(string(dotted))
)

// crEnd reports whether a pattern ends in a carriage return.
func (n *Needle) crEnd() bool {
	if !n.cased {
		return false
	}
	for _, f := range n.folded {
		if f[len(f)-1] == '\r' {
			return true
		}
	}
	return false
}

// index returns where a folded text contains a pattern first, or -1. A match that
// ends in a carriage return before a line feed is none, nor is one at the end of
// the text unless final says that nothing follows.
func (n *Needle) index(folded []byte, final bool) int {
	first := -1
	for _, p := range n.folded {
		text := folded
		if first >= 0 {
			text = text[:min(len(text), first+len(p))] // what begins later does not matter
		}
		if at := indexOne(text, p, final && len(text) == len(folded)); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

func indexOne(text, p []byte, final bool) int {
	if p[len(p)-1] != '\r' {
		return bytes.Index(text, p)
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], p)
		if i < 0 {
			return -1
		}
		end := from + i + len(p)
		if end == len(text) && final || end < len(text) && text[end] != '\n' {
			return from + i
		}
		from += i + 1
	}
}

// probe is a plain pattern and how to find it fast: two of its bytes, which are
// looked for at eight positions at a time.
type probe struct {
	folded []byte
	a, b   int // offsets of the two bytes, a <= b
	// The bytes, eight times each, and what makes a letter small.
	wantA, wantB, foldA, foldB uint64
	// border has, for each beginning of the pattern, how long the longest shorter
	// one is that it also ends with.
	border []int32
}

// patience is how many bytes may be compared in vain for each byte of text that
// was passed, and impatience after how many it is asked. A text and a pattern that
// are made for it would have every position compared to the pattern's end.
const (
	patience   = 4
	impatience = 4 << 10
)

const ones = 0x0101010101010101

func newProbe(folded []byte) probe {
	p := probe{folded: folded}
	best, second := -1, -1
	for i, c := range folded {
		switch {
		case best < 0 || rarity(c) < rarity(folded[best]):
			best, second = i, best
		case second < 0 || rarity(c) < rarity(folded[second]):
			second = i
		}
	}
	if second < 0 {
		second = best
	}
	p.a, p.b = min(best, second), max(best, second)
	p.wantA, p.foldA = splat(folded[p.a])
	p.wantB, p.foldB = splat(folded[p.b])
	p.border = make([]int32, len(folded))
	for i, k := 1, int32(0); i < len(folded); i++ {
		for k > 0 && folded[i] != folded[k] {
			k = p.border[k-1]
		}
		if folded[i] == folded[k] {
			k++
		}
		p.border[i] = k
	}
	return p
}

func splat(c byte) (want, fold uint64) {
	if 'a' <= c && c <= 'z' {
		fold = 0x20 * ones
	}
	return uint64(c) * ones, fold
}

// next returns where text contains the pattern first, from a position on, or -1.
func (p *probe) next(text []byte, from int) int {
	last := len(text) - len(p.folded) // the last position of a match
	i, vain := from, 0
	const step = 32
	if i+step-1 <= last {
		// At every i up to last, both bytes are inside of the text.
		qa, qb := text[p.a:], text[p.b:]
		for ; i+step-1 <= last; i += step {
			a, b := qa[i:i+step:i+step], qb[i:i+step:i+step]
			v0 := (binary.LittleEndian.Uint64(a) | p.foldA) ^ p.wantA | (binary.LittleEndian.Uint64(b) | p.foldB) ^ p.wantB
			v1 := (binary.LittleEndian.Uint64(a[8:]) | p.foldA) ^ p.wantA | (binary.LittleEndian.Uint64(b[8:]) | p.foldB) ^ p.wantB
			v2 := (binary.LittleEndian.Uint64(a[16:]) | p.foldA) ^ p.wantA | (binary.LittleEndian.Uint64(b[16:]) | p.foldB) ^ p.wantB
			v3 := (binary.LittleEndian.Uint64(a[24:]) | p.foldA) ^ p.wantA | (binary.LittleEndian.Uint64(b[24:]) | p.foldB) ^ p.wantB
			z0, z1, z2, z3 := zeros(v0), zeros(v1), zeros(v2), zeros(v3)
			if z0|z1|z2|z3 == 0 {
				continue
			}
			for k, z := range [...]uint64{z0, z1, z2, z3} {
				for ; z != 0; z &= z - 1 {
					at := i + 8*k + bits.TrailingZeros64(z)/8
					same := p.at(text[at:])
					if same == len(p.folded) {
						return at
					}
					if vain += same; vain > impatience && vain > patience*(at-from) {
						return p.steady(text, at+1)
					}
				}
			}
		}
	}
	for ; i <= last; i++ {
		same := p.at(text[i:])
		if same == len(p.folded) {
			return i
		}
		if vain += same; vain > impatience && vain > patience*(i-from) {
			return p.steady(text, i+1)
		}
	}
	return -1
}

// steady is next without a look back: it takes a time that depends on the length
// of the text alone.
func (p *probe) steady(text []byte, from int) int {
	k := int32(0)
	for i := from; i < len(text); i++ {
		b := small(text[i])
		for k > 0 && b != p.folded[k] {
			k = p.border[k-1]
		}
		if b == p.folded[k] {
			if k++; int(k) == len(p.folded) {
				return i + 1 - len(p.folded)
			}
		}
	}
	return -1
}

// zeros marks every byte of v that is zero, and perhaps others above one.
func zeros(v uint64) uint64 { return (v - ones) &^ v & (0x80 * ones) }

// at returns how many bytes of the pattern a text begins with, which is at least
// as long.
func (p *probe) at(text []byte) int {
	text = text[:len(p.folded)]
	for i, c := range p.folded {
		if small(text[i]) != c {
			return i
		}
	}
	return len(p.folded)
}

func small(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// rarity orders bytes by how seldom they are met in texts.
func rarity(c byte) int {
	const common = " etaoinsrhldcumfpgwybv0k1-.,2\"_/:x3=5498()67j'q;z"
	if i := bytes.IndexByte([]byte(common), c); i >= 0 {
		return len(common) - i
	}
	if c >= 0x80 {
		return len(common) // perhaps the text is written in these
	}
	return 0
}

func isASCII(text []byte) bool {
	for len(text) >= 32 {
		v := binary.LittleEndian.Uint64(text) | binary.LittleEndian.Uint64(text[8:]) | binary.LittleEndian.Uint64(text[16:]) | binary.LittleEndian.Uint64(text[24:])
		if v&(0x80*ones) != 0 {
			return false
		}
		text = text[32:]
	}
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
