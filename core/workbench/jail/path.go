package jail

import (
	"strings"
	"unicode/utf8"
)

// Limits on names. They hold for the path as given and again for the path
// with its section in front.
const (
	MaxIDBytes    = 128
	MaxPathBytes  = 4096
	MaxComponents = 64
)

const idRule = "must start with an ASCII letter or digit, hold only ASCII letters, digits, _ and -, and be at most 128 bytes long"

// CheckID accepts a workbench id: an ASCII letter or digit, then letters,
// digits, underscores and hyphens, at most MaxIDBytes in all.
func CheckID(id string) error { return checkID("$.id", id) }

// CheckDestinationID is CheckID for the id of a workbench that is to be made out of
// another.
func CheckDestinationID(id string) error { return checkID("$.destination_id", id) }

func checkID(member, id string) error {
	if id == "" || len(id) > MaxIDBytes || !alphanumeric(id[0]) {
		return &Violation{Kind: BadID, Member: member, Rule: idRule}
	}
	for i := 1; i < len(id); i++ {
		if c := id[i]; !alphanumeric(c) && c != '_' && c != '-' {
			return &Violation{Kind: BadID, Member: member, Rule: idRule}
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// checkRelative is the path rule without the section: see J1.
func checkRelative(path string) error {
	const member = "$.path"
	switch {
	case path == "":
		return badPath(member, "must not be empty")
	case len(path) > MaxPathBytes:
		return badPath(member, "must be at most 4096 bytes long")
	case path[0] == '/':
		return badPath(member, "must be relative to its section, without a leading slash")
	}
	components, start, ascii := 0, 0, true
	for i := 0; i <= len(path); i++ {
		if i < len(path) {
			switch c := path[i]; {
			case c == '\\':
				return badPath(member, "must not contain a backslash")
			case c == 0:
				return badPath(member, "must not contain NUL")
			case c >= utf8.RuneSelf:
				ascii = false
				continue
			case c != '/':
				continue
			}
		}
		switch path[start:i] {
		case "":
			return badPath(member, "must not have an empty component (a doubled or trailing slash)")
		case ".", "..":
			return badPath(member, "must not have a . or .. component")
		}
		components++
		start = i + 1
	}
	if components > MaxComponents {
		return badPath(member, "must have at most 64 components")
	}
	if !ascii && !utf8.ValidString(path) {
		return badPath(member, "must be valid UTF-8")
	}
	return nil
}

// Place is a checked position in a workbench: the workbench's root (no section,
// no path), a section, or a path below either. It keeps the caller's own
// spelling of section and path, which answers echo.
type Place struct {
	ID       string
	Section  Section
	Relative string // "" when none was given
	Full     string // the path from the workbench's root; "" for the root itself
}

// Root reports whether the place is the workbench itself.
func (p Place) Root() bool { return p.Full == "" }

// SectionRoot reports whether the place is one of the five sections, however
// the caller spelled it. Sections exist in every workbench.
func (p Place) SectionRoot() bool {
	_, ok := ParseSection(p.Full)
	return ok
}

// ParseTarget checks the address of one artifact in a section. The path is
// required.
func ParseTarget(id, section, path string) (Place, error) {
	if err := CheckID(id); err != nil {
		return Place{}, err
	}
	s, ok := ParseSection(section)
	if !ok {
		return Place{}, badPath("$.section", "must be one of input, scripts, outputs, logs, metadata")
	}
	return place(id, s, path)
}

// ParseWritable is ParseTarget for the tools that publish bodies: the two
// manifests that the server itself writes are refused.
func ParseWritable(id, section, path string) (Place, error) {
	p, err := ParseTarget(id, section, path)
	if err == nil && Reserved(p.Full) {
		return Place{}, &Violation{Kind: ReservedAt, Member: "$.path",
			Rule: "names a manifest that only commit and restore write"}
	}
	return p, err
}

// ParseArtifact checks the path of an artifact that a program writes, counted
// from the workbench's root. The bare name of a section is a directory's; the two
// manifests are the server's own.
func ParseArtifact(id, path string) (Place, error) {
	if err := CheckID(id); err != nil {
		return Place{}, err
	}
	if err := checkRelative(path); err != nil {
		return Place{}, err
	}
	s, rest := Split(path)
	switch {
	case s != NoSection && rest == "":
		return Place{}, badPath("$.path", "must lie below the section")
	case Reserved(path):
		return Place{}, &Violation{ReservedAt, "$.path", "is written by the server itself"}
	}
	return Place{ID: id, Section: s, Relative: rest, Full: path}, nil
}

// ParseScope checks an optional section and an optional path. A missing path
// and an empty one are the same. Without a section the path counts from the
// workbench's root.
func ParseScope(id string, section, path *string) (Place, error) {
	if err := CheckID(id); err != nil {
		return Place{}, err
	}
	s := NoSection
	if section != nil {
		var ok bool
		if s, ok = ParseSection(*section); !ok {
			return Place{}, badPath("$.section", "must be one of input, scripts, outputs, logs, metadata, or null")
		}
	}
	if path == nil || *path == "" {
		return Place{ID: id, Section: s, Full: s.String()}, nil
	}
	return place(id, s, *path)
}

func place(id string, s Section, path string) (Place, error) {
	if err := checkRelative(path); err != nil {
		return Place{}, err
	}
	if s == NoSection {
		return Place{ID: id, Relative: path, Full: path}, nil
	}
	name := s.String()
	if first, _, _ := strings.Cut(path, "/"); first == name {
		return Place{}, badPath("$.path", "repeats the section: leave "+name+"/ out, paths are relative to their section")
	}
	if len(name)+1+len(path) > MaxPathBytes {
		return Place{}, badPath("$.path", "must be at most 4096 bytes long with the section in front")
	}
	if strings.Count(path, "/")+2 > MaxComponents {
		return Place{}, badPath("$.path", "must have at most 64 components with the section in front")
	}
	return Place{ID: id, Section: s, Relative: path, Full: name + "/" + path}, nil
}

// The manifests that only commit and restore publish.
const (
	RunManifest     = "metadata/run_manifest.json"
	RestoreManifest = "metadata/restore_manifest.json"
)

// Reserved reports whether a full path is closed to put, append and edit.
func Reserved(full string) bool { return full == RunManifest || full == RestoreManifest }

// Split presents a full path the way child rows do: the section it lies in and
// the rest, or no section and the whole path. The root of a section has an
// empty rest.
func Split(full string) (Section, string) {
	first, rest, _ := strings.Cut(full, "/")
	if s, ok := ParseSection(first); ok {
		return s, rest
	}
	return NoSection, full
}

// Name is the last component of a full path.
func Name(full string) string {
	return full[strings.LastIndexByte(full, '/')+1:]
}

// Compare orders full paths by component (J3): "a" < "a/x" < "a-b/x".
func Compare(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
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
	return len(a) - len(b)
}
