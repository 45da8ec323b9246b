package workbench

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
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
	custom := p.field >= fieldCustom
	o := scalar{}
	if len(p.operands) > 0 {
		o = p.operands[0]
	}
	switch p.op {
	case "not_exists":
		return nil, false
	case "exists":
		return everything(), custom
	case "suffix", "contains":
		if !custom {
			return nil, false
		}
		lower := beginOf(o.Kind)
		return reach(lower, keys.AppendEnd(nil, lower)), true
	case "prefix":
		lower := p.field.begins(o)
		return reach(lower, keys.AppendEnd(nil, lower)), true
	case "eq", "in":
		return p.field.only(p.operands), true
	}
	if o.Kind == record.KindNull {
		switch {
		case p.op == "lte" || p.op == "gte":
			return p.field.only(p.operands), true
		case p.op != "ne":
			return nil, true // nothing is less or greater than null
		case !custom:
			return nil, false
		}
	}
	e, ok := p.field.edge(o)
	if !ok {
		return nil, false
	}
	upTo, from := e.at, e.past
	if e.rough {
		upTo, from = e.past, e.at
	}
	// Values of a custom field are in the order of their types.
	least, end := []byte(nil), []byte(nil)
	if custom && p.op != "ne" {
		least = beginOf(o.Kind)
		end = keys.AppendEnd(nil, least)
	}
	above := func(from []byte) []span {
		if from == nil {
			return nil
		}
		return reach(from, end)
	}
	switch p.op {
	case "lt":
		return reach(least, upTo), true
	case "lte":
		return reach(least, e.past), true
	case "gt":
		return above(from), true
	case "gte":
		return above(e.at), true
	}
	return append(reach(nil, e.at), above(e.past)...), !e.rough
}

// only returns the spans of the rows that have one of some values.
func (f field) only(values []scalar) []span {
	var ss []span
	for _, o := range values {
		if o.Kind == record.KindNull && f < fieldCustom {
			continue // no value that keys hold is null
		}
		if encoded, ok := f.encode(o); ok {
			ss = append(ss, only(encoded))
		}
	}
	slices.SortFunc(ss, func(a, b span) int { return bytes.Compare(a.lower, b.lower) })
	// Two long texts may share what the index holds of them.
	return slices.CompactFunc(ss, func(a, b span) bool { return bytes.Equal(a.lower, b.lower) })
}

// encode returns how keys hold a value; not ok when no row can have it.
func (f field) encode(o scalar) (encoded []byte, ok bool) {
	switch f {
	case fieldGeneration, fieldSize:
		return keys.AppendUint64(nil, o.Bits), true
	case fieldType:
		return keys.AppendText(nil, o.Text[:min(len(o.Text), keys.IndexTextLen)]), true
	case fieldWorkbench:
		return keys.AppendText(nil, o.Text), true
	case fieldPath:
		if o.Text == "" || !keys.ValidPath(o.Text) {
			return nil, false
		}
		return keys.AppendPath(nil, o.Text), true
	case fieldDigest:
		d, err := canon.ParseDigestURI(o.Text)
		return d[:], err == nil
	}
	value := o.AppendOrdered(nil)
	return keys.AppendText(nil, value[:min(len(value), keys.IndexTextLen)]), true
}

// edge returns where an operand lies; not ok for paths, whose keys have another
// order than their texts.
func (f field) edge(o scalar) (e edge, ok bool) {
	if f == fieldPath {
		return edge{}, false
	}
	encoded, ok := f.encode(o)
	if !ok {
		lower := f.begins(o)
		return edge{lower, keys.AppendEnd(nil, lower), true}, true
	}
	rough := f == fieldType && len(o.Text) >= keys.IndexTextLen || f >= fieldCustom && 1+len(o.Text) >= keys.IndexTextLen
	return edge{encoded, keys.AppendEnd(nil, encoded), rough}, true
}

// begins returns what the encoded values begin with that begin with a text. For a
// digest it may be less: as many whole bytes of it as the text has in its
// beginning.
func (f field) begins(o scalar) []byte {
	switch {
	case f == fieldPath:
		return []byte(strings.ReplaceAll(o.Text, "/", "\x00"))
	case f == fieldDigest:
		digits, ok := strings.CutPrefix(o.Text, digestScheme)
		if !ok {
			return []byte{}
		}
		n := 0
		for n < min(len(digits), 64) && ('0' <= digits[n] && digits[n] <= '9' || 'a' <= digits[n] && digits[n] <= 'f') {
			n++
		}
		lower, _ := hex.DecodeString(digits[:n&^1]) // they are digits
		return lower
	case f >= fieldCustom:
		return openText(o.AppendOrdered(nil))
	}
	return openText([]byte(o.Text))
}

// beginOf returns what the values of a type begin with in the index of a custom
// field.
func beginOf(k record.Kind) []byte { return openText([]byte{byte(k)}) }

// openText is a text in a key that may go on.
func openText(text []byte) []byte {
	encoded := keys.AppendText(nil, text[:min(len(text), keys.IndexTextLen)])
	return encoded[:len(encoded)-len(keys.AppendText(nil, ""))]
}
