package wsapi

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a frame: the envelope and the deepest arguments that a decoder takes.
const maxDepth = 130

var (
	errTruncated = errors.New("the frame ends in the middle of a value")
	errTrailing  = errors.New("bytes after the value")
	errDepth     = errors.New("nested too deeply")
	errKey       = errors.New("a map key is not a string")
	errExtension = errors.New("extension types are not understood")
	errNumber    = errors.New("a number is not finite")
	errType      = errors.New("a byte that begins no value")
)

// appendJSON appends the JSON text of one MessagePack value, which must fill src. Members keep their order, doubled
// ones included, so that the decoder of the text can refuse them. A float without a fraction becomes an integer, as
// JavaScript writers mean it. Binary values become arrays of numbers.
func appendJSON(dst, src []byte) ([]byte, error) {
	r := unpacker{src: src}
	dst, err := r.value(dst, 0)
	if err == nil && len(r.src) > 0 {
		err = errTrailing
	}
	return dst, err
}

type unpacker struct{ src []byte }

// take cuts n bytes off the input.
func (r *unpacker) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.src) {
		return nil, errTruncated
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b, nil
}

// length reads a big-endian length of n bytes.
func (r *unpacker) length(n int) (int, error) {
	b, err := r.take(n)
	if err != nil {
		return 0, err
	}
	switch n {
	case 1:
		return int(b[0]), nil
	case 2:
		return int(binary.BigEndian.Uint16(b)), nil
	}
	return int(binary.BigEndian.Uint32(b)), nil
}

func (r *unpacker) value(dst []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errDepth
	}
	head, err := r.take(1)
	if err != nil {
		return dst, err
	}
	c := head[0]
	switch {
	case c <= 0x7f:
		return strconv.AppendUint(dst, uint64(c), 10), nil
	case c >= 0xe0:
		return strconv.AppendInt(dst, int64(int8(c)), 10), nil
	case c&0xf0 == 0x80:
		return r.object(dst, int(c&0x0f), depth)
	case c&0xf0 == 0x90:
		return r.array(dst, int(c&0x0f), depth)
	case c&0xe0 == 0xa0:
		return r.str(dst, int(c&0x1f))
	}
	switch c {
	case 0xc0:
		return append(dst, "null"...), nil
	case 0xc2:
		return append(dst, "false"...), nil
	case 0xc3:
		return append(dst, "true"...), nil
	case 0xc4, 0xc5, 0xc6:
		return r.sized(dst, 1<<(c-0xc4), r.bytes)
	case 0xca, 0xcb:
		return r.float(dst, 4<<(c-0xca))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return r.unsigned(dst, 1<<(c-0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return r.signed(dst, 1<<(c-0xd0))
	case 0xd9, 0xda, 0xdb:
		return r.sized(dst, 1<<(c-0xd9), r.str)
	case 0xdc, 0xdd:
		return r.sized(dst, 2<<(c-0xdc), func(dst []byte, n int) ([]byte, error) { return r.array(dst, n, depth) })
	case 0xde, 0xdf:
		return r.sized(dst, 2<<(c-0xde), func(dst []byte, n int) ([]byte, error) { return r.object(dst, n, depth) })
	case 0xc1:
		return dst, errType
	}
	return dst, errExtension
}

func (r *unpacker) sized(dst []byte, width int, read func([]byte, int) ([]byte, error)) ([]byte, error) {
	n, err := r.length(width)
	if err != nil {
		return dst, err
	}
	return read(dst, n)
}

func (r *unpacker) object(dst []byte, n, depth int) ([]byte, error) {
	// Each member takes two bytes at least, so that a hostile count ends before the loop does.
	if n > len(r.src)/2 {
		return dst, errTruncated
	}
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if len(r.src) == 0 {
			return dst, errTruncated
		}
		switch c := r.src[0]; {
		case c&0xe0 == 0xa0, c == 0xd9, c == 0xda, c == 0xdb:
		default:
			return dst, errKey
		}
		var err error
		if dst, err = r.value(dst, depth+1); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = r.value(dst, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (r *unpacker) array(dst []byte, n, depth int) ([]byte, error) {
	if n > len(r.src) {
		return dst, errTruncated
	}
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = r.value(dst, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// str appends a string. Bytes that are not UTF-8 stay as they are: refusing them is the text's decoder's business.
func (r *unpacker) str(dst []byte, n int) ([]byte, error) {
	b, err := r.take(n)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"'), nil
}

const hexDigits = "0123456789abcdef"

func (r *unpacker) bytes(dst []byte, n int) ([]byte, error) {
	b, err := r.take(n)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return append(dst, ']'), nil
}

func (r *unpacker) unsigned(dst []byte, width int) ([]byte, error) {
	b, err := r.take(width)
	if err != nil {
		return dst, err
	}
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return strconv.AppendUint(dst, v, 10), nil
}

func (r *unpacker) signed(dst []byte, width int) ([]byte, error) {
	b, err := r.take(width)
	if err != nil {
		return dst, err
	}
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return strconv.AppendInt(dst, v, 10), nil
}

func (r *unpacker) float(dst []byte, width int) ([]byte, error) {
	b, err := r.take(width)
	if err != nil {
		return dst, err
	}
	var f float64
	if width == 4 {
		f = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	} else {
		f = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return dst, errNumber
	case f == math.Trunc(f) && math.Abs(f) < 1<<63:
		return strconv.AppendInt(dst, int64(f), 10), nil
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64), nil
}

// appendMsgpack appends the MessagePack form of src by the writer's rules (invariant 3). src is a JSON text of our own
// making: no object in it has a name twice, which a MessagePack reader may refuse and which is not looked for here.
func appendMsgpack(dst, src []byte) ([]byte, error) {
	p := packer{src: src}
	dst, err := p.value(dst)
	if err == nil {
		p.space()
		if p.i < len(src) {
			err = errTrailing
		}
	}
	return dst, err
}

type packer struct {
	src   []byte
	i     int
	depth int
}

var errText = errors.New("not a JSON text")

func (p *packer) space() {
	for p.i < len(p.src) && (p.src[p.i] == ' ' || p.src[p.i] == '\n' || p.src[p.i] == '\t' || p.src[p.i] == '\r') {
		p.i++
	}
}

func (p *packer) value(dst []byte) ([]byte, error) {
	p.space()
	if p.i >= len(p.src) {
		return dst, errText
	}
	switch c := p.src[p.i]; c {
	case '{':
		return p.container(dst, '}', true)
	case '[':
		return p.container(dst, ']', false)
	case '"':
		return p.str(dst)
	case 't':
		return p.literal(dst, "true", 0xc3)
	case 'f':
		return p.literal(dst, "false", 0xc2)
	case 'n':
		return p.literal(dst, "null", 0xc0)
	default:
		return p.number(dst)
	}
}

func (p *packer) literal(dst []byte, word string, code byte) ([]byte, error) {
	if len(p.src)-p.i < len(word) || string(p.src[p.i:p.i+len(word)]) != word {
		return dst, errText
	}
	p.i += len(word)
	return append(dst, code), nil
}

// container writes an object or an array. The count stands in front and is known at the end, so that the elements are
// moved once when the header turns out shorter or longer than the usual one.
func (p *packer) container(dst []byte, end byte, object bool) ([]byte, error) {
	if p.depth++; p.depth > maxDepth {
		return dst, errDepth
	}
	p.i++
	start := len(dst)
	if object {
		dst = append(dst, 0xde, 0, 0)
	} else {
		dst = append(dst, 0)
	}
	n := 0
	for {
		p.space()
		if p.i >= len(p.src) {
			return dst, errText
		}
		if p.src[p.i] == end && n == 0 {
			break
		}
		if n > 0 {
			if p.src[p.i] == end {
				break
			}
			if p.src[p.i] != ',' {
				return dst, errText
			}
			p.i++
		}
		var err error
		if object {
			p.space()
			if p.i >= len(p.src) || p.src[p.i] != '"' {
				return dst, errText
			}
			if dst, err = p.str(dst); err != nil {
				return dst, err
			}
			p.space()
			if p.i >= len(p.src) || p.src[p.i] != ':' {
				return dst, errText
			}
			p.i++
		}
		if dst, err = p.value(dst); err != nil {
			return dst, err
		}
		n++
	}
	p.i++
	p.depth--
	return count(dst, start, n, object), nil
}

// count writes the header of a container whose elements begin behind the place held for it at start.
func count(dst []byte, start, n int, object bool) []byte {
	var header [5]byte
	h := header[:0]
	held := 1
	switch {
	case object:
		held = 3
		if n <= math.MaxUint16 {
			h = binary.BigEndian.AppendUint16(append(h, 0xde), uint16(n))
		} else {
			h = binary.BigEndian.AppendUint32(append(h, 0xdf), uint32(n))
		}
	case n < 16:
		h = append(h, 0x90|byte(n))
	case n <= math.MaxUint16:
		h = binary.BigEndian.AppendUint16(append(h, 0xdc), uint16(n))
	default:
		h = binary.BigEndian.AppendUint32(append(h, 0xdd), uint32(n))
	}
	if grow := len(h) - held; grow > 0 {
		dst = append(dst, header[:grow]...)
		copy(dst[start+len(h):], dst[start+held:len(dst)-grow])
	}
	copy(dst[start:], h)
	return dst
}

func (p *packer) str(dst []byte) ([]byte, error) {
	begin := p.i
	plain := true
	for p.i++; ; p.i++ {
		if p.i >= len(p.src) {
			return dst, errText
		}
		if c := p.src[p.i]; c == '"' {
			break
		} else if c == '\\' {
			plain = false
			p.i++
		}
	}
	p.i++
	s := p.src[begin+1 : p.i-1]
	if !plain {
		var err error
		if s, err = jsontext.AppendUnquote(nil, p.src[begin:p.i]); err != nil {
			return dst, errText
		}
	}
	switch n := len(s); {
	case n < 32:
		dst = append(dst, 0xa0|byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, 0xd9, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
	}
	return append(dst, s...), nil
}

func (p *packer) number(dst []byte) ([]byte, error) {
	begin := p.i
	for p.i < len(p.src) {
		c := p.src[p.i]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		p.i++
	}
	f, err := strconv.ParseFloat(string(p.src[begin:p.i]), 64)
	if err != nil {
		return dst, errText
	}
	return appendNumber(dst, f), nil
}

// appendNumber writes a number as a JavaScript writer does: an integer when it has no fraction and fits 32 bits,
// otherwise a double.
func appendNumber(dst []byte, f float64) []byte {
	if f != math.Trunc(f) || f >= 1<<32 || f < -1<<31 {
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(f))
	}
	switch v := int64(f); {
	case v >= 0 && v < 128:
		return append(dst, byte(v))
	case v >= -32 && v < 0:
		return append(dst, byte(int8(v)))
	case v >= 0 && v <= math.MaxUint8:
		return append(dst, 0xcc, byte(v))
	case v >= 0 && v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(v))
	case v >= 0:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(v))
	case v >= math.MinInt8:
		return append(dst, 0xd0, byte(int8(v)))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(int16(v)))
	default:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(int32(v)))
	}
}
