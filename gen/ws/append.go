// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/append.go. DO NOT EDIT.

package ws

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string: UTF-8 raw, only the quote, the backslash and control characters escaped.
// Bytes that are not UTF-8 come out as U+FFFD, so that the answer is always valid JSON.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		n, ascii := plainPrefix(s)
		if !ascii && !utf8.ValidString(s[:n]) {
			dst = appendRepaired(dst, s[:n])
		} else {
			dst = append(dst, s[:n]...)
		}
		if n == len(s) {
			return append(dst, '"')
		}
		switch c := s[n]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		s = s[n+1:]
	}
}

func appendRepaired(dst []byte, s string) []byte {
	for _, r := range s {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func appendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// appendFloat writes the shortest digits that read back as v. JSON has no infinities; they come out as null.
func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(v)
	format := byte('f')
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, format, -1, 64)
	if format == 'e' {
		// 1e-09 is written 1e-9.
		if n := len(dst); n-start >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
	}
	return dst
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func appendRaw(dst []byte, v RawJSON) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return append(dst, v...)
}

func appendIntOrString(dst []byte, v *IntOrString) []byte {
	if v.IsString {
		return appendString(dst, v.Str)
	}
	return appendInt(dst, v.Int)
}

// closeObject ends an object whose members were each written with a comma before them: the first comma, at start,
// becomes the opening brace.
func closeObject(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '{', '}')
	}
	dst[start] = '{'
	return append(dst, '}')
}

// closeArray does the same for an array.
func closeArray(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '[', ']')
	}
	dst[start] = '['
	return append(dst, ']')
}

func itoa(n int) string { return strconv.Itoa(n) }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, in the high bit of each byte of w, the bytes that end a run of plain text: control characters, the
// quote and the backslash. A mark above a true one may be false, the lowest mark is exact.
func special(w uint64) uint64 {
	quote := w ^ ('"' * ones)
	slash := w ^ ('\\' * ones)
	return ((w-0x20*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}
