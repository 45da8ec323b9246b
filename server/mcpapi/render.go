package mcpapi

import "bytes"

// appendPretty appends the JSON value src indented by two spaces, members in the order of src. src must be valid JSON.
//
// With quoted set the result is escaped for use inside of a JSON string, in the same pass: a tool's text content is
// its structured content once more, and large results should not be walked three times.
func appendPretty(dst, src []byte, quoted bool) []byte {
	depth := 0
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '{', '[':
			i++
			for i < len(src) && isSpace(src[i]) {
				i++
			}
			if i < len(src) && src[i] == c+2 { // '}' follows '{', and ']' follows '[', at a distance of two
				dst = append(dst, c, c+2)
				i++
				continue
			}
			depth++
			dst = appendNewline(append(dst, c), depth, quoted)
		case '}', ']':
			i++
			depth--
			dst = append(appendNewline(dst, depth, quoted), c)
		case ',':
			i++
			dst = appendNewline(append(dst, ','), depth, quoted)
		case ':':
			i++
			dst = append(dst, ':', ' ')
		case '"':
			n := stringLen(src[i:])
			dst = appendRaw(dst, src[i:i+n], quoted)
			i += n
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// blanks is as much indentation as is copied at once.
const blanks = "                                                                "

func appendNewline(dst []byte, depth int, quoted bool) []byte {
	if quoted {
		dst = append(dst, '\\', 'n')
	} else {
		dst = append(dst, '\n')
	}
	n := 2 * depth
	for ; n > len(blanks); n -= len(blanks) {
		dst = append(dst, blanks...)
	}
	return append(dst, blanks[:n]...)
}

// stringLen is the length of the JSON string at the start of b, quotes included.
func stringLen(b []byte) int {
	for i := 1; ; {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return len(b)
		}
		i += q
		// A quote is escaped when an odd number of backslashes stands before it.
		n := 0
		for b[i-1-n] == '\\' {
			n++
		}
		i++
		if n%2 == 0 {
			return i
		}
	}
}

// appendRaw appends a JSON string as it is, or escaped once more. JSON strings hold no raw control characters, so
// that quotes and backslashes are all there is to escape.
func appendRaw(dst, s []byte, quoted bool) []byte {
	if !quoted {
		return append(dst, s...)
	}
	dst = append(dst, '\\', '"')
	for body := s[1 : len(s)-1]; ; {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			dst = append(dst, body...)
			break
		}
		dst = append(append(dst, body[:i]...), '\\', '\\')
		// The escaped character goes with its backslash: only it can be a quote or a backslash here.
		if c := body[i+1]; c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, body[i+1])
		body = body[i+2:]
	}
	return append(dst, '\\', '"')
}
