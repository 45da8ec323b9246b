package mcpapi

// appendQuoted appends a JSON text as the content of a JSON string, without the quotes around it. A tool's text content
// is its structured content once more, byte for byte.
//
// Of a JSON text only quotes and backslashes need escaping, and white space between its tokens.
func appendQuoted(dst, src []byte) []byte {
	for len(src) > 0 {
		n := plainRun(src)
		for n < len(src) && src[n] >= ' ' && src[n] != '"' && src[n] != '\\' {
			n++
		}
		dst = append(dst, src[:n]...)
		if n == len(src) {
			break
		}
		switch c := src[n]; c {
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', c)
		}
		src = src[n+1:]
	}
	return dst
}
