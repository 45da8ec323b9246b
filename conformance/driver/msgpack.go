package driver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// EncodeMsgpack writes a value as MessagePack with the shortest forms; a number without a fraction is an integer.
func EncodeMsgpack(v any) []byte { return appendMsgpack(nil, v) }

func appendMsgpack(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0)
	case bool:
		if v {
			return append(dst, 0xc3)
		}
		return append(dst, 0xc2)
	case string:
		switch n := len(v); {
		case n < 32:
			dst = append(dst, 0xa0|byte(n))
		case n < 1<<8:
			dst = append(dst, 0xd9, byte(n))
		case n < 1<<16:
			dst = binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(n))
		default:
			dst = binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
		}
		return append(dst, v...)
	case value.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && n >= math.MinInt32 && n <= math.MaxUint32 {
			switch {
			case n >= 0 && n < 128:
				return append(dst, byte(n))
			case n < 0 && n >= -32:
				return append(dst, byte(n))
			case n >= 0:
				return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
			}
			return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(n))
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			f = math.NaN()
		}
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(f))
	case []any:
		dst = binary.BigEndian.AppendUint16(append(dst, 0xdc), uint16(len(v)))
		for _, e := range v {
			dst = appendMsgpack(dst, e)
		}
		return dst
	case map[string]any:
		// The form that the clients in the field write: map16 whatever the size.
		dst = binary.BigEndian.AppendUint16(append(dst, 0xde), uint16(len(v)))
		for _, key := range value.Keys(v) {
			dst = appendMsgpack(appendMsgpack(dst, key), v[key])
		}
		return dst
	}
	return append(dst, 0xc1)
}

// DecodeMsgpack reads exactly one value, in the forms that clients in the field expect of a server. Errors: anything
// but the types of JSON; a map whose header is not the 16-bit one; 64-bit integers, which clients in JavaScript would
// get as another type than all other numbers; a whole number below 2^32 written as a float; text that is not UTF-8; a
// member that is given twice; bytes after the value.
func DecodeMsgpack(data []byte) (any, error) {
	d := &msgpack{rest: data}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("%d bytes follow the value", len(d.rest))
	}
	return v, nil
}

type msgpack struct{ rest []byte }

func (d *msgpack) take(n int) ([]byte, error) {
	if n > len(d.rest) {
		return nil, errors.New("the value ends too early")
	}
	p := d.rest[:n]
	d.rest = d.rest[n:]
	return p, nil
}

func (d *msgpack) uint(n int) (int, error) {
	p, err := d.take(n)
	if err != nil {
		return 0, err
	}
	v := 0
	for _, b := range p {
		v = v<<8 | int(b)
	}
	return v, nil
}

func (d *msgpack) value(depth int) (any, error) {
	if depth > 64 {
		return nil, errors.New("nested too deeply")
	}
	p, err := d.take(1)
	if err != nil {
		return nil, err
	}
	number := func(n int) (any, error) { return value.Number(strconv.Itoa(n)), nil }
	sized := func(bytes int, then func(n, depth int) (any, error)) (any, error) {
		n, err := d.uint(bytes)
		if err != nil {
			return nil, err
		}
		return then(n, depth)
	}
	switch tag := p[0]; {
	case tag < 0x80:
		return number(int(tag))
	case tag < 0x90, tag == 0xdf:
		return nil, fmt.Errorf("the map header %#02x is not the 16-bit one", tag)
	case tag < 0xa0:
		return d.array(int(tag&0x0f), depth)
	case tag < 0xc0:
		return d.text(int(tag&0x1f), depth)
	case tag >= 0xe0:
		return number(int(int8(tag)))
	case tag == 0xc0:
		return nil, nil
	case tag == 0xc2, tag == 0xc3:
		return tag == 0xc3, nil
	case tag == 0xca, tag == 0xcb:
		return d.float(tag)
	case tag == 0xcc, tag == 0xcd, tag == 0xce:
		return sized(1<<(tag-0xcc), func(n, _ int) (any, error) { return number(n) })
	case tag == 0xd0:
		return sized(1, func(n, _ int) (any, error) { return number(int(int8(n))) })
	case tag == 0xd1:
		return sized(2, func(n, _ int) (any, error) { return number(int(int16(n))) })
	case tag == 0xd2:
		return sized(4, func(n, _ int) (any, error) { return number(int(int32(n))) })
	case tag == 0xd9, tag == 0xda, tag == 0xdb:
		return sized(1<<(tag-0xd9), d.text)
	case tag == 0xdc, tag == 0xdd:
		return sized(2<<(tag-0xdc), d.array)
	case tag == 0xde:
		return sized(2, d.object)
	default:
		return nil, fmt.Errorf("the type %#02x has no place in this protocol", tag)
	}
}

func (d *msgpack) float(tag byte) (any, error) {
	if tag == 0xca {
		p, err := d.take(4)
		if err != nil {
			return nil, err
		}
		return floatNumber(float64(math.Float32frombits(binary.BigEndian.Uint32(p))))
	}
	p, err := d.take(8)
	if err != nil {
		return nil, err
	}
	return floatNumber(math.Float64frombits(binary.BigEndian.Uint64(p)))
}

// floatNumber writes a float as JSON does, an integral one as an integer: the encoding has no other form for a
// large integer.
func floatNumber(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no number of JSON", f)
	}
	if f == math.Trunc(f) && f >= math.MinInt32 && f <= math.MaxUint32 {
		return nil, fmt.Errorf("the whole number %v is written as a float", f)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return value.Number(strconv.FormatInt(int64(f), 10)), nil
	}
	return value.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
}

func (d *msgpack) text(n, _ int) (any, error) {
	p, err := d.take(n)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(p) {
		return nil, errors.New("text that is not UTF-8")
	}
	return string(p), nil
}

func (d *msgpack) array(n, depth int) (any, error) {
	if n > len(d.rest) {
		return nil, errors.New("an array longer than its bytes")
	}
	list := make([]any, n)
	for i := range list {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (d *msgpack) object(n, depth int) (any, error) {
	if n > len(d.rest) {
		return nil, errors.New("a map longer than its bytes")
	}
	object := make(map[string]any, n)
	for range n {
		k, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("a map key that is no text: %s", value.Shorten(k))
		}
		if _, again := object[key]; again {
			return nil, fmt.Errorf("the map key %q twice", key)
		}
		if object[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return object, nil
}
