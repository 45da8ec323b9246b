package workbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// field is one of the built-in fields of every file, or from fieldCustom on a
// custom field: fieldCustom and a place in the columns of a query.
type field int

const (
	fieldDigest field = iota
	fieldType
	fieldGeneration
	fieldSize
	fieldManifest
	fieldPath
	fieldProducer
	fieldWorkbench
	fieldCustom
)

// queryFields are the built-in fields, by id, which is also their order.
var queryFields = [...]struct {
	id   string
	kind record.Kind
}{
	fieldDigest:     {"body_digest_uri", record.KindString},
	fieldType:       {"content_type", record.KindString},
	fieldGeneration: {"generation", record.KindUnsigned},
	fieldSize:       {"logical_size", record.KindUnsigned},
	fieldManifest:   {"manifest_id", record.KindString},
	fieldPath:       {"path", record.KindString},
	fieldProducer:   {"producer", record.KindString},
	fieldWorkbench:  {"workbench_id", record.KindString},
}

// fieldOf resolves the id of a built-in field.
func fieldOf(member, id string) (field, error) {
	for f := range queryFields {
		if queryFields[f].id == id {
			return field(f), nil
		}
	}
	return 0, unknownField(member)
}

func unknownField(member string) error {
	return invalid(member, "must be a field id that workbench_catalog lists")
}

// columns are the custom fields that a query names.
type columns []column

type column struct {
	id string
	// member is where the query names it first.
	member string
	// kind is the type of its values in the scope. It is null when there are none
	// but nulls.
	kind record.Kind
}

// field resolves the id of a field, which may be a custom one.
func (cs *columns) field(member, id string) (field, error) {
	if f, err := fieldOf(member, id); err == nil {
		return f, nil
	}
	if !legalFieldID(id) {
		return 0, unknownField(member)
	}
	i := slices.IndexFunc(*cs, func(c column) bool { return c.id == id })
	if i < 0 {
		i = len(*cs)
		// What is found is kept longer than the request, whose memory its strings share.
		*cs = append(*cs, column{id: strings.Clone(id), member: member})
	}
	return fieldCustom + field(i), nil
}

// fields resolves a list of distinct field ids.
func (cs *columns) fields(member string, ids []string, limit int) ([]field, error) {
	if len(ids) > limit {
		return nil, invalid(member, fmt.Sprintf("must be at most %d fields", limit))
	}
	fs := make([]field, 0, len(ids))
	for i, id := range ids {
		f, err := cs.field(fmt.Sprintf("%s[%d]", member, i), id)
		if err != nil {
			return nil, err
		}
		if slices.Contains(fs, f) {
			return nil, invalid(fmt.Sprintf("%s[%d]", member, i), "must not be repeated")
		}
		fs = append(fs, f)
	}
	return fs, nil
}

func (cs columns) id(f field) string {
	if f >= fieldCustom {
		return cs[f-fieldCustom].id
	}
	return queryFields[f].id
}

// kind is the type of a field's values.
func (cs columns) kind(f field) record.Kind {
	if f >= fieldCustom {
		return cs[f-fieldCustom].kind
	}
	return queryFields[f].kind
}

// inRecord reports whether the field is in a file's record, and not in its key.
func (f field) inRecord() bool { return f != fieldPath && f != fieldWorkbench }

// indexPrefix appends what the keys of an index begin with; not ok when the field
// has none.
func (cs columns) indexPrefix(dst []byte, root uint32, f field) ([]byte, bool) {
	switch {
	case f >= fieldCustom:
		return keys.AppendIndexCustomField(dst, root, cs.id(f)), true
	case f == fieldDigest:
		return keys.AppendPrefix(dst, keys.SpaceIndexDigest, root), true
	case f == fieldType:
		return keys.AppendPrefix(dst, keys.SpaceIndexType, root), true
	case f == fieldGeneration:
		return keys.AppendPrefix(dst, keys.SpaceIndexGeneration, root), true
	case f == fieldSize:
		return keys.AppendPrefix(dst, keys.SpaceIndexSize, root), true
	}
	return dst, false
}

// row is a file as queries see it. The file's body aliases memory of the View;
// a query that is bare leaves the file out.
type row struct {
	id, path string
	file     record.File
}

// value gives a field of the row. A producer or manifest id that nobody named is
// a null that is there.
func (cs columns) value(r *row, f field) scalar {
	switch f {
	case fieldDigest:
		return record.String(digestURI(r.file.Body.SHA256))
	case fieldType:
		return record.String(r.file.ContentType)
	case fieldGeneration:
		return record.Unsigned(r.file.Generation)
	case fieldSize:
		return record.Unsigned(uint64(r.file.Body.Length))
	case fieldManifest:
		return optText(r.file.ManifestID)
	case fieldPath:
		return record.String(r.path)
	case fieldProducer:
		return optText(r.file.Producer)
	case fieldWorkbench:
		return record.String(r.id)
	}
	i, ok := slices.BinarySearchFunc(r.file.Index, cs.id(f), func(v record.IndexValue, id string) int { return strings.Compare(v.Field, id) })
	if !ok {
		return missing
	}
	return r.file.Index[i].Value
}
