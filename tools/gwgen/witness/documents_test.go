package witness

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// documents makes random JSON documents for a schema: most fit, some are off by one rule.
type documents struct {
	r *rand.Rand
	// defs are the definitions that a schema may refer to.
	defs map[string]any
	// wrong is the chance, in percent, that a value breaks a rule on purpose.
	wrong int
}

func (d *documents) one(schema any) string {
	var b strings.Builder
	d.value(&b, schema.(map[string]any))
	return b.String()
}

var words = []string{"", "a", "wb1", "outputs", "input", "metadata", "a/b/c.txt", "../x", "é", "日本", "😀", "line\nline", "q\"uote", "back\\slash", "\u0000", "\u007f", strings.Repeat("x", 64), strings.Repeat("é", 256), strings.Repeat("y", 257), "structured", "null", "1", "sha256:" + strings.Repeat("0a", 32)}

func (d *documents) chance(percent int) bool { return d.r.IntN(100) < percent }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (d *documents) value(b *strings.Builder, s map[string]any) {
	if ref, ok := s["$ref"].(string); ok {
		d.value(b, d.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any))
		return
	}
	if d.chance(d.wrong) {
		d.anything(b, 2)
		return
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if list, ok := s[k].([]any); ok && s["type"] == nil {
			d.value(b, pick(d.r, list).(map[string]any))
			return
		}
	}
	if c, ok := s["const"]; ok {
		d.literal(b, c)
		return
	}
	if list, ok := s["enum"].([]any); ok {
		d.literal(b, pick(d.r, list))
		return
	}
	kind := ""
	switch t := s["type"].(type) {
	case string:
		kind = t
	case []any:
		kind = pick(d.r, t).(string)
	default:
		d.anything(b, 3)
		return
	}
	switch kind {
	case "string":
		d.str(b, s)
	case "integer":
		d.integer(b, s)
	case "number":
		b.WriteString(pick(d.r, []string{"0", "-1", "1.5", "1e3", "-0.25e-2", "100.0", "9007199254740993", "1E+2"}))
	case "boolean":
		b.WriteString(pick(d.r, []string{"true", "false"}))
	case "null":
		b.WriteString("null")
	case "array":
		d.array(b, s)
	case "object":
		d.object(b, s)
	}
}

func (d *documents) literal(b *strings.Builder, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	b.Write(text)
}

func (d *documents) str(b *strings.Builder, s map[string]any) {
	w := pick(d.r, words)
	if p, ok := s["pattern"].(string); ok && d.chance(95) {
		w = matching(p)
	}
	if m, ok := s["minLength"]; ok && d.chance(80) {
		n := int(asInt(m))
		w = strings.Repeat("z", n)
	}
	text, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	if d.chance(20) {
		// The same value in escapes.
		b.WriteByte('"')
		for _, u := range utf16Of(w) {
			fmt.Fprintf(b, `\u%04X`, u)
		}
		b.WriteByte('"')
		return
	}
	b.Write(text)
}

// matching makes a string for the patterns that the schemas have: a prefix and a count of hexadecimal digits.
func matching(pattern string) string {
	prefix, rest, ok := strings.Cut(strings.TrimPrefix(pattern, "^"), "[0-9a-f]{")
	digits, err := strconv.Atoi(strings.TrimSuffix(rest, "}$"))
	if !ok || err != nil {
		panic("no document can be made for the pattern " + pattern)
	}
	return prefix + strings.Repeat("0a", digits/2)
}

func (d *documents) integer(b *strings.Builder, s map[string]any) {
	lo, hi := int64(-5), int64(1000)
	if m, ok := s["minimum"]; ok {
		lo = asInt(m)
	}
	if m, ok := s["maximum"]; ok {
		hi = asInt(m)
	}
	switch v := d.r.IntN(10); {
	case v == 0:
		fmt.Fprint(b, lo)
	case v == 1:
		fmt.Fprint(b, hi)
	case v == 2 && d.wrong > 0:
		fmt.Fprint(b, lo-1)
	case v == 3 && d.wrong > 0:
		fmt.Fprint(b, hi+1)
	default:
		fmt.Fprint(b, lo+d.r.Int64N(hi-lo+1))
	}
}

func asInt(v any) int64 {
	n, err := v.(json.Number).Int64()
	if err != nil {
		panic(err)
	}
	return n
}

func (d *documents) array(b *strings.Builder, s map[string]any) {
	b.WriteByte('[')
	items, _ := s["items"].(map[string]any)
	n := d.r.IntN(4)
	if m, ok := s["maxItems"]; ok && d.chance(20) {
		n = int(asInt(m)) + d.r.IntN(2)
	}
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		if items == nil {
			d.anything(b, 2)
		} else {
			d.value(b, items)
		}
	}
	b.WriteByte(']')
}

func (d *documents) object(b *strings.Builder, s map[string]any) {
	props, _ := s["properties"].(map[string]any)
	if props == nil {
		d.freeObject(b, 3)
		return
	}
	required := map[string]bool{}
	if list, ok := s["required"].([]any); ok {
		for _, r := range list {
			required[r.(string)] = true
		}
	}
	if list, ok := s["oneOf"].([]any); ok {
		alt := pick(d.r, list).(map[string]any)["required"].([]any)
		for _, r := range alt {
			required[r.(string)] = true
		}
	}
	names := slices.Sorted(maps.Keys(props))
	d.r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	b.WriteByte('{')
	first := true
	write := func(name string) bool {
		if !first {
			b.WriteString(pick(d.r, []string{",", ", ", " ,\n"}))
		}
		first = false
		d.literal(b, name)
		b.WriteString(pick(d.r, []string{":", ": ", " :\t"}))
		return true
	}
	for _, name := range names {
		if required[name] && !d.chance(d.wrong) || !required[name] && d.chance(40) {
			write(name)
			d.value(b, props[name].(map[string]any))
		}
	}
	if d.chance(d.wrong) {
		write(pick(d.r, []string{"unknown", "ID", "Id", "", "é", "path "}))
		d.anything(b, 1)
	}
	b.WriteByte('}')
}

func (d *documents) freeObject(b *strings.Builder, depth int) {
	b.WriteByte('{')
	n := d.r.IntN(4)
	if d.chance(5) {
		n = 63 + d.r.IntN(3)
	}
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:", fmt.Sprintf("k%d", i))
		d.anything(b, depth-1)
	}
	b.WriteByte('}')
}

// anything writes any JSON value. Integers have no fraction of zero: schemas call 1.0 an integer and the decoders do not.
func (d *documents) anything(b *strings.Builder, depth int) {
	n := 7
	if depth <= 0 {
		n = 5
	}
	switch d.r.IntN(n) {
	case 0:
		d.literal(b, pick(d.r, words))
	case 1:
		b.WriteString(pick(d.r, []string{"0", "7", "-3", "1.5", "9007199254740993", "0.1e-1", "18446744073709551616"}))
	case 2:
		b.WriteString("true")
	case 3:
		b.WriteString("false")
	case 4:
		b.WriteString("null")
	case 5:
		d.freeObject(b, depth)
	case 6:
		b.WriteByte('[')
		for i := range d.r.IntN(3) {
			if i > 0 {
				b.WriteByte(',')
			}
			d.anything(b, depth-1)
		}
		b.WriteByte(']')
	}
}

func utf16Of(s string) (out []uint16) {
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			out = append(out, uint16(0xd800+r>>10), uint16(0xdc00+r&0x3ff))
			continue
		}
		out = append(out, uint16(r))
	}
	return out
}
