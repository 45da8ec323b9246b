package value

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Number is a JSON number as it was written.
type Number string

// Decode reads exactly one JSON value (V1).
func Decode(data []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	v, err := read(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows the JSON value")
		}
		return nil, err
	}
	return v, nil
}

func read(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		return Number(tok.String()), nil
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			v, err := read(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.ReadToken()
		return list, err
	case '{':
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			v, err := read(dec)
			if err != nil {
				return nil, err
			}
			object[key] = v
		}
		_, err := dec.ReadToken()
		return object, err
	}
	return nil, fmt.Errorf("unexpected token %v", tok)
}

// Encode writes v in its canonical form: members sorted by name, no space, strings with the fewest escapes,
// numbers as they were written (V2).
func Encode(v any) []byte { return Append(nil, v) }

// Append is Encode into dst.
func Append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		out, err := jsontext.AppendQuote(dst, v)
		if err != nil {
			// Only text that is not UTF-8 fails; a value never holds any (V1), so show what it is.
			return strconv.AppendQuote(dst, v)
		}
		return out
	case Number:
		return append(dst, v...)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range Keys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, key)
			dst = append(dst, ':')
			dst = Append(dst, v[key])
		}
		return append(dst, '}')
	}
	return append(dst, fmt.Sprintf("%q", fmt.Sprintf("!%T", v))...)
}

// Keys lists the members of an object in the order of Encode.
func Keys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Equal reports whether a and b are the same value.
func Equal(a, b any) bool { return bytes.Equal(Encode(a), Encode(b)) }

// At follows a dotted path ("entries.0.name") into v.
func At(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Clone copies v deeply.
func Clone(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Clone(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = Clone(e)
		}
		return out
	}
	return v
}

// MapStrings returns a copy of v in which fn has replaced every string that is not a member name.
func MapStrings(v any, fn func(string) string) any {
	switch v := v.(type) {
	case string:
		return fn(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = MapStrings(e, fn)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = MapStrings(e, fn)
		}
		return out
	}
	return v
}

// Shorten is Encode cut to a length that a report can print.
func Shorten(v any) string {
	const most = 400
	text := string(Encode(v))
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:cut], len(text))
}
