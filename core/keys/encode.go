package keys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

// ErrMalformed says that bytes are not what the encoder of this package writes.
var ErrMalformed = errors.New("keys: malformed key")

// PrefixLen is the length of what every key begins with: space and root.
const PrefixLen = 1 + 4

// separator stands between two components of a path and, twice, after the last
// one. It sorts below every byte of a component.
const separator = 0x00

// Inside text, a zero byte is followed by escaped; the end of text is a zero
// byte followed by ended. ended sorts below escaped, so a text sorts before
// every longer text that it begins.
const (
	ended   = 0x01
	escaped = 0xFF
)

// AppendPrefix appends space and root, the beginning of every key.
func AppendPrefix(dst []byte, space byte, root uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, space), root)
}

func rootOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[1:PrefixLen]) }

// CutPrefix splits space and root off a key.
func CutPrefix(key []byte) (space byte, root uint32, rest []byte, err error) {
	if len(key) < PrefixLen {
		return 0, 0, nil, ErrMalformed
	}
	return key[0], rootOf(key), key[PrefixLen:], nil
}

// SpaceBounds returns the bounds of all keys of a space in a root.
func SpaceBounds(space byte, root uint32) (lower, upper []byte) {
	lower = AppendPrefix(nil, space, root)
	return lower, AppendEnd(nil, lower)
}

// AppendEnd appends to dst the smallest key that is greater than every key
// that begins with prefix. A prefix of nothing but 0xFF has no end, and gives
// dst back.
func AppendEnd(dst, prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xFF {
		n--
	}
	if n == 0 {
		return dst
	}
	dst = append(dst, prefix[:n]...)
	dst[len(dst)-1]++
	return dst
}

// AppendUint32 appends n, big-endian.
func AppendUint32(dst []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(dst, n) }

// CutUint32 splits a number written by AppendUint32 off key.
func CutUint32(key []byte) (n uint32, rest []byte, err error) {
	if len(key) < 4 {
		return 0, nil, ErrMalformed
	}
	return binary.BigEndian.Uint32(key), key[4:], nil
}

// AppendUint64 appends n, big-endian, so that numbers sort by value.
func AppendUint64(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }

// CutUint64 splits a number written by AppendUint64 off key.
func CutUint64(key []byte) (n uint64, rest []byte, err error) {
	if len(key) < 8 {
		return 0, nil, ErrMalformed
	}
	return binary.BigEndian.Uint64(key), key[8:], nil
}

// AppendInt64 appends n so that negative numbers sort below positive ones.
func AppendInt64(dst []byte, n int64) []byte { return AppendUint64(dst, uint64(n)^(1<<63)) }

// CutInt64 splits a number written by AppendInt64 off key.
func CutInt64(key []byte) (n int64, rest []byte, err error) {
	u, rest, err := CutUint64(key)
	return int64(u ^ (1 << 63)), rest, err
}

// AppendFixed appends bytes whose length the space fixes (a UUID, a digest).
func AppendFixed(dst, b []byte) []byte { return append(dst, b...) }

// CutFixed splits n bytes off key. The result aliases key.
func CutFixed(key []byte, n int) (b, rest []byte, err error) {
	if n < 0 || len(key) < n {
		return nil, nil, ErrMalformed
	}
	return key[:n:n], key[n:], nil
}

// AppendText appends a text of any bytes, zero bytes among them, so that texts
// sort byte by byte and a shorter one before a longer one that it begins.
func AppendText[T ~string | ~[]byte](dst []byte, text T) []byte {
	for i := range len(text) {
		c := text[i]
		dst = append(dst, c)
		if c == 0 {
			dst = append(dst, escaped)
		}
	}
	return append(dst, 0, ended)
}

// CutText splits a text written by AppendText off key, appending it to dst.
func CutText(dst, key []byte) (text, rest []byte, err error) {
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 || i+1 >= len(key) {
			return nil, nil, ErrMalformed
		}
		dst = append(dst, key[:i]...)
		switch key[i+1] {
		case ended:
			return dst, key[i+2:], nil
		case escaped:
			dst = append(dst, 0)
			key = key[i+2:]
		default:
			return nil, nil, ErrMalformed
		}
	}
}

// ValidPath reports whether path can be a part of a key: components joined by
// "/", none of them empty, no zero byte. The empty path, the root of a tree, is
// valid. Which components are allowed beyond that is not this package's
// business.
func ValidPath(path string) bool {
	if path == "" {
		return true
	}
	return strings.IndexByte(path, 0) < 0 && path[0] != '/' && path[len(path)-1] != '/' && !strings.Contains(path, "//")
}

// AppendPath appends a path so that paths sort by component: "a" before "a/x"
// before "a-b/x". The path must satisfy ValidPath: one that does not would
// decode to another path, so it is a mistake in the program and panics.
func AppendPath(dst []byte, path string) []byte {
	dst = AppendPathInside(dst, path)
	if path == "" {
		return append(dst, separator, separator)
	}
	return append(dst, separator)
}

// ComparePaths orders paths as their keys are ordered: by component, a path before
// everything below it.
func ComparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			case x < y:
				return -1
			}
			return 1
		}
	}
	return len(a) - len(b)
}

// AppendPathInside appends what every path strictly below path begins with,
// and path itself does too. It is the prefix of a directory's scan; below the
// empty path there is everything, so it appends nothing for it.
func AppendPathInside(dst []byte, path string) []byte {
	if path == "" {
		return dst
	}
	if !ValidPath(path) {
		panic("keys: not a valid path")
	}
	for i := range len(path) {
		c := path[i]
		if c == '/' {
			c = separator
		}
		dst = append(dst, c)
	}
	return append(dst, separator)
}

// AppendPathPast appends the smallest key that sorts after path and everything
// below it: where a listing goes on after a directory. The path is not empty.
func AppendPathPast(dst []byte, path string) []byte {
	dst = AppendPathInside(dst, path)
	dst[len(dst)-1] = separator + 1
	return dst
}

// CutPath splits a path written by AppendPath off key.
func CutPath(key []byte) (path string, rest []byte, err error) {
	raw, rest, err := cutPathBytes(key)
	if err != nil {
		return "", nil, err
	}
	if bytes.IndexByte(raw, separator) < 0 {
		return string(raw), rest, nil
	}
	var b strings.Builder
	b.Grow(len(raw))
	for _, c := range raw {
		if c == separator {
			c = '/'
		}
		b.WriteByte(c)
	}
	return b.String(), rest, nil
}

// SkipPath splits a path off key without decoding it.
func SkipPath(key []byte) (rest []byte, err error) {
	_, rest, err = cutPathBytes(key)
	return rest, err
}

func cutPathBytes(key []byte) (raw, rest []byte, err error) {
	if len(key) >= 2 && key[0] == separator && key[1] == separator {
		return nil, key[2:], nil
	}
	for i := 0; i+1 < len(key); i++ {
		switch {
		case key[i] == '/' || i == 0 && key[i] == separator:
			// A component never holds a slash, and is never empty.
			return nil, nil, ErrMalformed
		case key[i] == separator && key[i+1] == separator:
			return key[:i], key[i+2:], nil
		}
	}
	return nil, nil, ErrMalformed
}
