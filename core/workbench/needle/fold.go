package needle

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// dotted is the one letter whose lower case is two runes: i and a dot above.
const (
	dotted   = '\u0130'
	dotAbove = '\u0307'
	kelvin   = '\u212A' // lower case: k
)

// The two forms of the small sigma are one letter.
const (
	sigma      = '\u03C3'
	finalSigma = '\u03C2'
)

// lower is the lower case of every rune but dotted.
func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	if r == finalSigma {
		return sigma
	}
	return unicode.ToLower(r)
}

// appendLower appends the lower case of text, in which what is not UTF-8 was
// replaced by U+FFFD, once for each maximal part of a sequence.
func appendLower(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		b := text[i]
		if b < utf8.RuneSelf {
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			dst = append(dst, b)
			i++
			continue
		}
		r, n := decode(text[i:])
		i += n
		switch {
		case r >= 0x2E80 && r < 0xA640 || r >= 0xAC00 && r < 0xFB00: // no letter here has a case
			dst = append(dst, text[i-n:i]...)
		case r == dotted:
			dst = utf8.AppendRune(append(dst, 'i'), dotAbove)
		default:
			dst = utf8.AppendRune(dst, lower(r))
		}
	}
	return dst
}

// decode is utf8.DecodeRune, except that what is no rune is as long as it could
// have begun one.
func decode(text []byte) (r rune, n int) {
	r, n = utf8.DecodeRune(text)
	if r == utf8.RuneError && n == 1 {
		n = brokenLen(text)
	}
	return r, n
}

// brokenLen is the length of the maximal part at the beginning of text that
// begins a rune and does not end it; 1 when nothing does.
func brokenLen(text []byte) int {
	need, low, high := 0, byte(0x80), byte(0xBF)
	switch b := text[0]; {
	case b < 0xC2 || b > 0xF4:
		return 1
	case b < 0xE0:
		need = 1
	case b < 0xF0:
		need = 2
		if b == 0xE0 {
			low = 0xA0
		} else if b == 0xED {
			high = 0x9F
		}
	default:
		need = 3
		if b == 0xF0 {
			low = 0x90
		} else if b == 0xF4 {
			high = 0x8F
		}
	}
	n := 1
	for ; n <= need && n < len(text) && low <= text[n] && text[n] <= high; n++ {
		low, high = 0x80, 0xBF
	}
	return n
}

// cutLen is how many bytes at the end of text are the beginning of a rune that
// may go on behind it.
func cutLen(text []byte) int {
	for n := 1; n <= min(3, len(text)); n++ {
		b := text[len(text)-n]
		if b&0xC0 == 0x80 {
			continue
		}
		if b >= 0xC2 && b <= 0xF4 && !utf8.FullRune(text[len(text)-n:]) {
			return n
		}
		break
	}
	return 0
}

// lowered are the runes beyond ASCII that are the lower case of another rune.
var lowered = sync.OnceValue(func() map[rune]bool {
	set := map[rune]bool{sigma: true, dotAbove: true}
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			if l := lower(r); l != r && l >= utf8.RuneSelf {
				set[l] = true
			}
		}
	}
	return set
})
