package workbench

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// span is a range of values as keys hold them: from lower on, up to and without
// upper. A nil upper has no end.
type span struct {
	lower, upper []byte
	// one says that lower is a whole encoded value, and the span that value alone.
	one bool
}

// everything is the spans of any value.
func everything() []span { return []span{{}} }

func unbounded(ss []span) bool { return len(ss) == 1 && len(ss[0].lower) == 0 && ss[0].upper == nil }

// reach is the span between two bounds, or none when there is nothing between.
func reach(lower, upper []byte) []span {
	if upper != nil && bytes.Compare(lower, upper) >= 0 {
		return nil
	}
	return []span{{lower: lower, upper: upper}}
}

// only is the span of one encoded value.
func only(encoded []byte) span { return span{encoded, keys.AppendEnd(nil, encoded), true} }

// intersect returns what two lists of disjoint spans, in order, have in common.
func intersect(a, b []span) []span {
	var out []span
	for i, j := 0, 0; i < len(a) && j < len(b); {
		s := span{lower: a[i].lower, upper: a[i].upper, one: a[i].one || b[j].one}
		if bytes.Compare(b[j].lower, s.lower) > 0 {
			s.lower = b[j].lower
		}
		if endsBefore(b[j].upper, s.upper) {
			s.upper = b[j].upper
		}
		if s.upper == nil || bytes.Compare(s.lower, s.upper) < 0 {
			out = append(out, s)
		}
		if endsBefore(a[i].upper, b[j].upper) {
			i++
		} else {
			j++
		}
	}
	return out
}

// endsBefore compares two upper bounds.
func endsBefore(a, b []byte) bool { return a != nil && (b == nil || bytes.Compare(a, b) < 0) }

// edge is where an operand lies among the encoded values of a field: lesser ones
// are below at, greater ones from past on, where a nil past says that there are
// none. A rough edge has some of both between the two, because keys do not tell
// them apart.
type edge struct {
	at, past []byte
	rough    bool
}

// spans returns the encoded values that a row's field may have when the row
// satisfies the predicate, in order and disjoint; not ok when the keys that hold
// the field say nothing about it.
func (p *predicate) spans() (ss []span, ok bool) {
	switch p.op {
	case "eq", "in":
		for _, o := range p.operands {
			if o.kind == kindNull {
				continue // no value that keys hold is null
			}
			if encoded, ok := p.field.encode(o); ok {
				ss = append(ss, only(encoded))
			}
		}
		slices.SortFunc(ss, func(a, b span) int { return bytes.Compare(a.lower, b.lower) })
		// Two long texts may share what the index holds of them.
		return slices.CompactFunc(ss, func(a, b span) bool { return bytes.Equal(a.lower, b.lower) }), true
	case "ne", "lt", "lte", "gt", "gte", "prefix":
	default:
		return nil, false
	}
	o := p.operands[0]
	if o.kind == kindNull {
		return nil, p.op != "ne" // nothing is less or greater than null
	}
	if p.op == "prefix" {
		lower := p.field.begins(o.text)
		return reach(lower, keys.AppendEnd(nil, lower)), true
	}
	e, ok := p.field.edge(o)
	if !ok {
		return nil, false
	}
	below, above := reach(nil, e.at), []span(nil)
	if e.rough {
		below = reach(nil, e.past)
	}
	switch {
	case e.rough:
		above = reach(e.at, nil)
	case e.past != nil:
		above = reach(e.past, nil)
	}
	switch p.op {
	case "lt":
		return below, true
	case "lte":
		return reach(nil, e.past), true
	case "gt":
		return above, true
	case "gte":
		return reach(e.at, nil), true
	}
	return append(below, above...), !e.rough
}

// encode returns how keys hold a value; not ok when no row can have it.
func (f field) encode(o scalar) (encoded []byte, ok bool) {
	switch f {
	case fieldGeneration, fieldSize:
		return keys.AppendUint64(nil, o.bits), true
	case fieldType:
		return keys.AppendText(nil, o.text[:min(len(o.text), keys.IndexTextLen)]), true
	case fieldWorkbench:
		return keys.AppendText(nil, o.text), true
	case fieldPath:
		if o.text == "" || !keys.ValidPath(o.text) {
			return nil, false
		}
		return keys.AppendPath(nil, o.text), true
	}
	d, err := canon.ParseDigestURI(o.text)
	return d[:], err == nil
}

// edge returns where an operand lies; not ok for paths, whose keys have another
// order than their texts.
func (f field) edge(o scalar) (e edge, ok bool) {
	if f == fieldPath {
		return edge{}, false
	}
	encoded, ok := f.encode(o)
	if !ok {
		lower := f.begins(o.text)
		return edge{lower, keys.AppendEnd(nil, lower), true}, true
	}
	return edge{encoded, keys.AppendEnd(nil, encoded), f == fieldType && len(o.text) >= keys.IndexTextLen}, true
}

// begins returns what the encoded values begin with that begin with a text. For a
// digest it may be less: as many whole bytes of it as the text has in its
// beginning.
func (f field) begins(text string) []byte {
	switch f {
	case fieldPath:
		return []byte(strings.ReplaceAll(text, "/", "\x00"))
	case fieldDigest:
		digits, _ := strings.CutPrefix(text, digestScheme)
		if len(digits) == len(text) {
			return []byte{}
		}
		n := 0
		for n < min(len(digits), 64) && ('0' <= digits[n] && digits[n] <= '9' || 'a' <= digits[n] && digits[n] <= 'f') {
			n++
		}
		lower, _ := hex.DecodeString(digits[:n&^1]) // they are digits
		return lower
	}
	encoded := keys.AppendText(nil, text[:min(len(text), keys.IndexTextLen)])
	return encoded[:len(encoded)-len(keys.AppendText(nil, ""))]
}
