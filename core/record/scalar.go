package record

import (
	"encoding/binary"
	"math"
)

// Kind is the type of a scalar (workbench-interop 5.1). Part of the store's
// format; scalars of different kinds sort by it.
type Kind byte

const (
	KindNull Kind = iota
	KindBoolean
	KindSigned
	KindUnsigned
	KindFloat
	KindTimestamp // Unix milliseconds
	KindBytes
	KindString
	kinds
)

// Scalar is a typed value. Equal values are equal under ==.
type Scalar struct {
	Kind Kind
	// Bits holds what is not text: a boolean as 0 or 1, a signed number and a
	// timestamp in two's complement, a float as IEEE 754 has it.
	Bits uint64
	// Text holds a string or bytes.
	Text string
}

// Boolean makes a scalar.
func Boolean(b bool) Scalar {
	s := Scalar{Kind: KindBoolean}
	if b {
		s.Bits = 1
	}
	return s
}

// Signed makes a scalar.
func Signed(n int64) Scalar { return Scalar{Kind: KindSigned, Bits: uint64(n)} }

// Unsigned makes a scalar.
func Unsigned(n uint64) Scalar { return Scalar{Kind: KindUnsigned, Bits: n} }

// Timestamp makes a scalar of Unix milliseconds.
func Timestamp(millis int64) Scalar { return Scalar{Kind: KindTimestamp, Bits: uint64(millis)} }

// Float makes a scalar of a finite number; the two zeros are one value.
func Float(f float64) Scalar {
	if f == 0 {
		f = 0
	}
	return Scalar{Kind: KindFloat, Bits: math.Float64bits(f)}
}

// Bytes makes a scalar.
func Bytes(b string) Scalar { return Scalar{Kind: KindBytes, Text: b} }

// String makes a scalar.
func String(s string) Scalar { return Scalar{Kind: KindString, Text: s} }

// AppendOrdered appends s so that the bytes of scalars sort as the scalars do:
// by kind, then by value. Index keys hold it.
func (s Scalar) AppendOrdered(dst []byte) []byte {
	dst = append(dst, byte(s.Kind))
	const top = 1 << 63
	switch s.Kind {
	case KindBoolean:
		return append(dst, byte(s.Bits))
	case KindSigned, KindTimestamp:
		return binary.BigEndian.AppendUint64(dst, s.Bits^top)
	case KindUnsigned:
		return binary.BigEndian.AppendUint64(dst, s.Bits)
	case KindFloat:
		if s.Bits&top != 0 {
			return binary.BigEndian.AppendUint64(dst, ^s.Bits)
		}
		return binary.BigEndian.AppendUint64(dst, s.Bits|top)
	case KindBytes, KindString:
		return append(dst, s.Text...)
	}
	return dst
}

// IndexValue is a custom field of a file (workbench-interop 5.1).
type IndexValue struct {
	Field string
	Value Scalar
}

// maxIndexValues bounds what a decoder reads; a writer's bound is its own.
const maxIndexValues = 256

func appendIndexValues(dst []byte, values []IndexValue) []byte {
	dst = AppendUint(dst, uint64(len(values)))
	for i := range values {
		v := &values[i]
		dst = append(AppendBytes(dst, v.Field), byte(v.Value.Kind))
		switch v.Value.Kind {
		case KindBoolean:
			dst = append(dst, byte(v.Value.Bits))
		case KindSigned, KindTimestamp:
			dst = AppendInt(dst, int64(v.Value.Bits))
		case KindUnsigned:
			dst = AppendUint(dst, v.Value.Bits)
		case KindFloat:
			dst = binary.BigEndian.AppendUint64(dst, v.Value.Bits)
		case KindBytes, KindString:
			dst = AppendBytes(dst, v.Value.Text)
		}
	}
	return dst
}

// readIndexValues reads at least one value; fields come in order, each once.
func readIndexValues(r *Reader) []IndexValue {
	n := r.Uint()
	if n == 0 || n > maxIndexValues || n > uint64(r.Len()) {
		r.Fail()
		return nil
	}
	values := make([]IndexValue, 0, n)
	for i := range int(n) {
		v := IndexValue{Field: r.String(), Value: readScalar(r)}
		if v.Field == "" || i > 0 && v.Field <= values[i-1].Field {
			r.Fail()
		}
		if r.Failed() {
			return nil
		}
		values = append(values, v)
	}
	return values
}

func readScalar(r *Reader) Scalar {
	s := Scalar{Kind: Kind(r.Byte())}
	switch s.Kind {
	case KindNull:
	case KindBoolean:
		if r.Bool() {
			s.Bits = 1
		}
	case KindSigned, KindTimestamp:
		s.Bits = uint64(r.Int())
	case KindUnsigned:
		s.Bits = r.Uint()
	case KindFloat:
		if b := r.Fixed(8); b != nil {
			s.Bits = binary.BigEndian.Uint64(b)
		}
		if f := math.Float64frombits(s.Bits); math.IsNaN(f) || math.IsInf(f, 0) || Float(f) != s {
			r.Fail()
		}
	case KindBytes, KindString:
		s.Text = r.String()
	default:
		r.Fail()
	}
	return s
}
