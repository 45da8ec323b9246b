package canon

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a canonical JSON string. Bytes of s that are not
// UTF-8 become U+FFFD, as nothing else would be JSON; callers that must not
// lose them check first.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		run := i
		for i < len(s) && bare[s[i]] {
			i++
		}
		dst = append(dst, s[run:i]...)
		if i == len(s) {
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = appendRune(dst, r)
		i += n
	}
	return append(dst, '"')
}

// appendRune appends r as it stands inside a canonical string.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r < 0x20 {
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// unescape decodes the inside of a canonical string: the few escapes that
// appendRune writes, nothing else.
func unescape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		i++
		switch text[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(text[i+1:])
			out = append(out, byte(r))
			i += 4
		default:
			out = append(out, text[i])
		}
	}
	return out
}

// number parses a number and appends its canonical form.
func (p *parser) number() error {
	start := p.at
	negative := p.peek() == '-'
	if negative {
		p.at++
	}
	switch c := p.peek(); {
	case c == '0':
		p.at++
	case isDigit(c):
		p.digits()
	default:
		return p.refuse(RuleSyntax)
	}
	integer := true
	if p.peek() == '.' {
		integer = false
		p.at++
		if !p.digits() {
			return p.refuse(RuleSyntax)
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		integer = false
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return p.refuse(RuleSyntax)
		}
	}
	literal := p.src[start:p.at]
	if integer && fitsInteger(literal, negative) {
		p.dst = append(p.dst, literal...)
		return nil
	}
	// ParseFloat rounds correctly whatever the number of digits; an underflow
	// is zero with its sign and no error.
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		p.at = start
		return p.refuse(RuleRange)
	}
	p.dst = AppendFloat(p.dst, f)
	return nil
}

// digits skips a run of digits and reports whether there was one.
func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.src) && isDigit(p.src[p.at]) {
		p.at++
	}
	return p.at > start
}

// fitsInteger reports whether an integer literal fits int64 or uint64. Minus
// zero does not: as an integer it would lose its sign. A literal of JSON has no
// leading zeros, so a fitting one is its own canonical form.
func fitsInteger(literal []byte, negative bool) bool {
	const smallest, largest = "-9223372036854775808", "18446744073709551615"
	limit := largest
	if negative {
		if len(literal) == 2 && literal[1] == '0' {
			return false
		}
		limit = smallest
	}
	// Equal signs and no leading zeros: more digits is more, and among equally
	// many the order of bytes is the order of magnitudes.
	return len(literal) < len(limit) || len(literal) == len(limit) && string(literal) <= limit
}

// Bounds of the decimal exponent within which a float is written out in full.
const (
	minFixedExponent = -5
	maxFixedExponent = 15
)

// AppendFloat appends the canonical spelling of f: its shortest digits, written
// out with a point when the decimal exponent lies in -5…15, else with a signed
// exponent that is not padded. It panics on NaN and infinities, which no JSON
// text can hold.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic("canon: not a JSON number")
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64) // [-]d[.ddd]e±dd[d]
	e := len(dst) - 1
	for dst[e] != 'e' {
		e--
	}
	exponent := 0
	for _, c := range dst[e+2:] {
		exponent = exponent*10 + int(c-'0')
	}
	if dst[e+1] == '-' {
		exponent = -exponent
	}
	if minFixedExponent <= exponent && exponent <= maxFixedExponent {
		fixed := strconv.AppendFloat(dst[:start], f, 'f', -1, 64)
		for _, c := range fixed[start:] {
			if c == '.' {
				return fixed
			}
		}
		return append(fixed, '.', '0')
	}
	sign := dst[e+1]
	dst = append(dst[:e], 'e', sign)
	if exponent < 0 {
		exponent = -exponent
	}
	return strconv.AppendInt(dst, int64(exponent), 10)
}
