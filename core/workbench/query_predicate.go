package workbench

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// field is one of the built-in fields of every file.
type field byte

const (
	fieldDigest field = iota
	fieldType
	fieldGeneration
	fieldSize
	fieldManifest
	fieldPath
	fieldProducer
	fieldWorkbench
)

// queryFields are the built-in fields, by id, which is also their order.
var queryFields = [...]struct {
	id   string
	kind kind
}{
	fieldDigest:     {"body_digest_uri", kindString},
	fieldType:       {"content_type", kindString},
	fieldGeneration: {"generation", kindUnsigned},
	fieldSize:       {"logical_size", kindUnsigned},
	fieldManifest:   {"manifest_id", kindString},
	fieldPath:       {"path", kindString},
	fieldProducer:   {"producer", kindString},
	fieldWorkbench:  {"workbench_id", kindString},
}

func fieldOf(member, id string) (field, error) {
	for f := range queryFields {
		if queryFields[f].id == id {
			return field(f), nil
		}
	}
	return 0, invalid(member, "must be a field id that workbench_catalog lists")
}

// fieldsOf resolves a list of distinct field ids.
func fieldsOf(member string, ids []string, limit int) ([]field, error) {
	if len(ids) > limit {
		return nil, invalid(member, fmt.Sprintf("must be at most %d fields", limit))
	}
	fs := make([]field, 0, len(ids))
	for i, id := range ids {
		f, err := fieldOf(fmt.Sprintf("%s[%d]", member, i), id)
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

// inRecord reports whether the field is in a file's record, and not in its key.
func (f field) inRecord() bool { return f != fieldPath && f != fieldWorkbench }

// row is a file as queries see it. The file's body aliases memory of the View;
// a query that is bare leaves the file out.
type row struct {
	id, path string
	file     record.File
}

// value gives a field of the row. A producer or manifest id that nobody named is
// a null that is there.
func (r *row) value(f field) scalar {
	switch f {
	case fieldDigest:
		return text(digestURI(r.file.Body.SHA256))
	case fieldType:
		return text(r.file.ContentType)
	case fieldGeneration:
		return unsigned(r.file.Generation)
	case fieldSize:
		return unsigned(uint64(r.file.Body.Length))
	case fieldManifest:
		return optText(r.file.ManifestID)
	case fieldPath:
		return text(r.path)
	case fieldProducer:
		return optText(r.file.Producer)
	}
	return text(r.id)
}

type predicate struct {
	field    field
	op       string
	operands []scalar // one, but for in, exists and not_exists
}

// parsePredicates checks operators and operands against the types of the fields.
func parsePredicates(ps []op.WorkbenchPredicate) ([]predicate, error) {
	if len(ps) > int(op.LimitQueryMaxPredicates) {
		return nil, invalid("$.predicates", fmt.Sprintf("must be at most %d", op.LimitQueryMaxPredicates))
	}
	out := make([]predicate, 0, len(ps))
	for i := range ps {
		at := fmt.Sprintf("$.predicates[%d]", i)
		f, err := fieldOf(at+".field", ps[i].Field)
		if err != nil {
			return nil, err
		}
		p := predicate{field: f, op: ps[i].Op}
		raws := []json.RawMessage{json.RawMessage(ps[i].Value)}
		at += ".value"
		switch p.op {
		case "exists", "not_exists":
			if ps[i].Value != nil && strings.TrimSpace(string(ps[i].Value)) != "null" {
				return nil, invalid(at, "must be left out or null for "+p.op)
			}
			raws = nil
		case "in":
			raws = nil
			if ps[i].Value == nil || json.Unmarshal(ps[i].Value, &raws) != nil || raws == nil {
				return nil, invalid(at, "must be an array for in")
			}
			if len(raws) > int(op.LimitQueryMaxInValues) {
				return nil, invalid(at, fmt.Sprintf("must be at most %d values", op.LimitQueryMaxInValues))
			}
		case "prefix", "suffix", "contains":
			if queryFields[f].kind != kindString {
				return nil, invalid(fmt.Sprintf("$.predicates[%d].op", i), p.op+" is for strings only")
			}
		}
		for _, raw := range raws {
			s, ok := parseScalar(raw)
			if !ok {
				return nil, invalid(at, "must be one value of the field's type")
			}
			if s.kind != queryFields[f].kind && (s.kind != kindNull || textual(p.op)) {
				return nil, invalid(at, "must be of the type of "+ps[i].Field)
			}
			if s.kind == kindString && s.text == "" {
				return nil, invalid(at, "must not be empty")
			}
			if slices.Contains(p.operands, s) {
				return nil, invalid(at, "must not repeat a value")
			}
			p.operands = append(p.operands, s)
		}
		out = append(out, p)
	}
	return out, nil
}

func textual(op string) bool { return op == "prefix" || op == "suffix" || op == "contains" }

// holds reports whether a row satisfies the predicate. Values of different types
// are unequal, and neither is less than the other.
func (p *predicate) holds(r *row) bool {
	switch p.op {
	case "exists":
		return true
	case "not_exists":
		return false
	}
	v := r.value(p.field)
	switch p.op {
	case "in":
		return slices.Contains(p.operands, v)
	case "eq":
		return v == p.operands[0]
	case "ne":
		return v != p.operands[0]
	}
	o := p.operands[0]
	if v.kind != o.kind {
		return false
	}
	switch p.op {
	case "prefix":
		return strings.HasPrefix(v.text, o.text)
	case "suffix":
		return strings.HasSuffix(v.text, o.text)
	case "contains":
		return strings.Contains(v.text, o.text)
	}
	c := compareScalars(v, o)
	switch p.op {
	case "lt":
		return c < 0
	case "lte":
		return c <= 0
	case "gt":
		return c > 0
	}
	return c >= 0
}
