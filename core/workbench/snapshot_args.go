package workbench

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// checkSnapshotName refuses what no snapshot can be called.
func checkSnapshotName(member, name string) error {
	switch {
	case name == "":
		return invalid(member, "must not be empty")
	case len(name) > int(op.LimitMaxSnapshotNameBytes):
		return invalid(member, "must be at most 128 bytes long")
	case strings.IndexByte(name, 0) >= 0:
		return invalid(member, "must not contain NUL")
	}
	return nil
}

// checkSelector refuses an at_snapshot that cannot select anything.
func checkSelector(s *op.IntOrString) error {
	switch {
	case s == nil:
		return nil
	case s.IsString && s.Str == "":
		return invalid("$.at_snapshot", "must be the id or the name of a snapshot")
	case s.IsString:
		return checkSnapshotName("$.at_snapshot", s.Str)
	case s.Int < 0:
		return invalid("$.at_snapshot", "must not be negative")
	}
	return nil
}

// snapshotSelector takes exactly one of an id and a name.
func snapshotSelector(id *int64, name *string) (op.IntOrString, error) {
	switch {
	case (id == nil) == (name == nil):
		return op.IntOrString{}, invalid("$.snapshot_id", "give either snapshot_id or name, and not both")
	case name != nil:
		return op.IntOrString{IsString: true, Str: *name}, checkSnapshotName("$.name", *name)
	case *id < 0:
		return op.IntOrString{}, invalid("$.snapshot_id", "must not be negative")
	}
	return op.IntOrString{Int: *id}, nil
}

// leaseDays is the lease asked for, in days.
func leaseDays(ttl *int32) (int32, error) {
	if ttl == nil {
		return int32(op.LimitSnapshotDefaultTtlDays), nil
	}
	if *ttl < 1 || *ttl > int32(op.LimitSnapshotMaxTtlDays) {
		return 0, invalid("$.ttl_days", "must be from 1 to 90")
	}
	return *ttl, nil
}

// parseAnnotation checks what a caller says about a snapshot, and brings the
// metadata into canonical form: numbers keep their values, and what is read later
// is always written the same way.
func parseAnnotation(reason *string, metadata op.RawJSON) (a record.Annotation, err error) {
	if reason != nil && *reason == "" {
		return a, invalid("$.reason", "must not be empty")
	}
	a.Reason = reason
	if text := bytes.TrimSpace(metadata); len(text) > 0 && !bytes.Equal(text, []byte("null")) {
		if a.Metadata, err = canon.Append(nil, text); err != nil {
			return a, invalid("$.metadata", "must be valid JSON, with no number beyond a 64-bit float")
		}
		members, depth := measure(a.Metadata)
		switch {
		case a.Metadata[0] != '{':
			return a, invalid("$.metadata", "must be an object")
		case members > int(op.LimitMaxAnnotationMembers):
			return a, invalid("$.metadata", "must have at most 64 members")
		case depth > int(op.LimitMaxAnnotationDepth):
			return a, invalid("$.metadata", "must nest at most 8 levels deep, itself among them")
		}
	}
	shown := annotation(a)
	text, err := canon.Append(nil, shown.AppendJSON(nil))
	if err != nil {
		return a, invalid("$.reason", "must be valid UTF-8")
	}
	if len(text) > int(op.LimitMaxAnnotationBytes) {
		return a, invalid("$.metadata", fmt.Sprintf("must be at most 4096 bytes long together with reason, as compact JSON; it is %d", len(text)))
	}
	return a, nil
}

// measure counts the members of a canonical object at its top, and how many
// objects and arrays are open at once.
func measure(text []byte) (members, deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		case c == ':' && depth == 1:
			members++
		}
	}
	return members, deepest
}

// annotation is what a caller said, as answers show it. It shares no memory with
// a View.
func annotation(a record.Annotation) op.WorkbenchAnnotation {
	shown := op.WorkbenchAnnotation{Reason: a.Reason}
	if len(a.Metadata) > 0 {
		shown.Metadata = bytes.Clone(a.Metadata)
	}
	return shown
}
