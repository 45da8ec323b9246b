package workbench

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

type predicate struct {
	field    field
	op       string
	operands []scalar // one, but for in, exists and not_exists
	// raws are the operands as they came, until the type of the field is known; at
	// is where.
	raws []json.RawMessage
	at   string
}

// parsePredicates reads what can be read without knowing the types of custom
// fields.
func (cs *columns) parsePredicates(ps []op.WorkbenchPredicate) ([]predicate, error) {
	if len(ps) > int(op.LimitQueryMaxPredicates) {
		return nil, invalid("$.predicates", fmt.Sprintf("must be at most %d", op.LimitQueryMaxPredicates))
	}
	out := make([]predicate, 0, len(ps))
	for i := range ps {
		at := fmt.Sprintf("$.predicates[%d]", i)
		f, err := cs.field(at+".field", ps[i].Field)
		if err != nil {
			return nil, err
		}
		p := predicate{field: f, op: ps[i].Op, raws: []json.RawMessage{json.RawMessage(ps[i].Value)}, at: at}
		at += ".value"
		switch p.op {
		case "exists", "not_exists":
			if ps[i].Value != nil && strings.TrimSpace(string(ps[i].Value)) != "null" {
				return nil, invalid(at, "must be left out or null for "+p.op)
			}
			p.raws = nil
		case "in":
			p.raws = nil
			if ps[i].Value == nil || json.Unmarshal(ps[i].Value, &p.raws) != nil || p.raws == nil {
				return nil, invalid(at, "must be an array for in")
			}
			if len(p.raws) > int(op.LimitQueryMaxInValues) {
				return nil, invalid(at, fmt.Sprintf("must be at most %d values", op.LimitQueryMaxInValues))
			}
		}
		if f < fieldCustom {
			err = p.resolve(*cs)
		} else {
			for _, raw := range p.raws {
				if _, ok := parseScalar(raw); !ok {
					return nil, invalid(at, "must be one value of the field's type")
				}
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func forTexts(op string) bool { return op == "prefix" || op == "suffix" || op == "contains" }

// resolve reads the operands as values of the field's type. A custom field that
// is nothing but null, or missing, in the scope has none: its operands are what
// they are by themselves.
func (p *predicate) resolve(cs columns) error {
	kind, untyped := cs.kind(p.field), false
	if kind == record.KindNull {
		untyped = true
	} else if forTexts(p.op) && !textual(kind) {
		return invalid(p.at+".op", p.op+" is for strings and bytes only")
	}
	p.operands = make([]scalar, 0, len(p.raws))
	for _, raw := range p.raws {
		s, ok := parseScalar(raw)
		if ok && !untyped {
			s, ok = parseOperand(kind, raw)
		}
		if !ok || s.Kind == record.KindNull && forTexts(p.op) {
			return invalid(p.at+".value", "must be a value of the type of "+cs.id(p.field))
		}
		if textual(s.Kind) && s.Text == "" {
			return invalid(p.at+".value", "must not be empty")
		}
		if slices.Contains(p.operands, s) {
			return invalid(p.at+".value", "must not repeat a value")
		}
		p.operands = append(p.operands, s)
	}
	return nil
}

// holds reports whether a row satisfies the predicate. Values of different types
// are unequal, and neither is less than the other; what is missing satisfies
// nothing but not_exists.
func (p *predicate) holds(cs columns, r *row) bool {
	v := cs.value(r, p.field)
	switch p.op {
	case "exists":
		return v != missing
	case "not_exists":
		return v == missing
	}
	if v == missing {
		return false
	}
	switch p.op {
	case "in":
		return slices.Contains(p.operands, v)
	case "eq":
		return v == p.operands[0]
	case "ne":
		return v != p.operands[0]
	}
	o := p.operands[0]
	if v.Kind != o.Kind {
		return false
	}
	switch p.op {
	case "prefix":
		return strings.HasPrefix(v.Text, o.Text)
	case "suffix":
		return strings.HasSuffix(v.Text, o.Text)
	case "contains":
		return strings.Contains(v.Text, o.Text)
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
