package jail

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Root is the presentation root: the checked, normalised prefix of every path
// that answers show. It is durable configuration and identifies nothing.
type Root string

// DefaultRoot serves a data directory whose owner named no other.
const DefaultRoot Root = "/agents/default/wb"

// ParseRoot checks and normalises a presentation root: absolute, not "/", no
// ".", "..", backslash or NUL; repeated and trailing slashes are dropped; at
// most 4096 bytes and 64 components afterwards.
func ParseRoot(s string) (Root, error) {
	if s == "" || s[0] != '/' {
		return "", errors.New("a workbench root starts with a slash")
	}
	if strings.ContainsAny(s, "\\\x00") || !utf8.ValidString(s) {
		return "", errors.New("a workbench root holds no backslash, no NUL and valid UTF-8 only")
	}
	var b strings.Builder
	components := 0
	for c := range strings.SplitSeq(s, "/") {
		switch c {
		case "":
			continue
		case ".", "..":
			return "", errors.New("a workbench root has no . or .. component")
		}
		components++
		b.WriteByte('/')
		b.WriteString(c)
	}
	switch {
	case components == 0:
		return "", errors.New("a workbench root is not / itself")
	case components > MaxComponents || b.Len() > MaxPathBytes:
		return "", errors.New("a workbench root has at most 64 components and 4096 bytes")
	}
	return Root(b.String()), nil
}

// Workbench is the presentation path of a workbench.
func (r Root) Workbench(id string) string { return string(r) + "/" + id }

// Path is the presentation path of a full path in a workbench; an empty one
// means the workbench itself.
func (r Root) Path(id, full string) string {
	if full == "" {
		return r.Workbench(id)
	}
	return string(r) + "/" + id + "/" + full
}
