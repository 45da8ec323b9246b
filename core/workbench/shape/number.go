package shape

import (
	"errors"
	"fmt"
	"strconv"
)

// longestPlain is the most digits a number without exponent can have and stay
// below 1e308, the last power of ten that a double holds.
const longestPlain = 308

// outsized returns the first number in valid JSON that no double holds, and
// where it begins. Such a number is JSON, but the readers that most clients use
// fail on it, and with it on the whole answer. A loss of digits is no reason:
// items keep theirs (S2), and what a reader makes of them is its own choice.
func outsized(v []byte) (number []byte, at int) {
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			for i++; v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || '0' <= c && c <= '9':
			end, exponent := i+1, false
			for end < len(v) && partOfNumber(v[end]) {
				exponent = exponent || v[end]|0x20 == 'e'
				end++
			}
			if (exponent || end-i > longestPlain) && overflows(v[i:end]) {
				return v[i:end], i
			}
			i = end
		default:
			i++
		}
	}
	return nil, 0
}

func partOfNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '+' || c == '-' || c|0x20 == 'e'
}

func overflows(number []byte) bool {
	_, err := strconv.ParseFloat(string(number), 64)
	return errors.Is(err, strconv.ErrRange)
}

// shownDigits bounds how much of a number a message repeats.
const shownDigits = 40

func outsizedError(format string, number []byte, where string) error {
	shown := string(number)
	if len(shown) > shownDigits {
		shown = shown[:shownDigits] + "…"
	}
	return &DecodeError{format, fmt.Sprintf("The number %s%s is too large for a 64-bit float, so that most readers of JSON would fail on it.", shown, where)}
}
