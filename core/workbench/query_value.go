package workbench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
)

// kind is the type of a scalar. Scalars of different types sort by it.
type kind byte

const (
	kindNull kind = iota
	kindUnsigned
	kindSigned
	kindFloat
	kindBoolean
	kindString
)

func (k kind) numeric() bool { return k == kindUnsigned || k == kindSigned || k == kindFloat }

// scalar is a value of a field. It is comparable, and equal values are equal
// under ==: bits holds every number, text every string.
type scalar struct {
	kind kind
	bits uint64
	text string
}

func unsigned(n uint64) scalar { return scalar{kind: kindUnsigned, bits: n} }
func signed(n int64) scalar    { return scalar{kind: kindSigned, bits: uint64(n)} }
func text(s string) scalar     { return scalar{kind: kindString, text: s} }
func float(f float64) scalar {
	if f == 0 {
		f = 0 // the two zeros are one value
	}
	return scalar{kind: kindFloat, bits: math.Float64bits(f)}
}

func optText(s *string) scalar {
	if s == nil {
		return scalar{}
	}
	return text(*s)
}

// compareScalars orders by type, then by value; strings by their bytes.
func compareScalars(a, b scalar) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	switch a.kind {
	case kindSigned:
		return cmp.Compare(int64(a.bits), int64(b.bits))
	case kindFloat:
		return cmp.Compare(math.Float64frombits(a.bits), math.Float64frombits(b.bits))
	case kindString:
		return strings.Compare(a.text, b.text)
	}
	return cmp.Compare(a.bits, b.bits)
}

func (s scalar) appendJSON(dst []byte) []byte {
	switch s.kind {
	case kindUnsigned:
		return strconv.AppendUint(dst, s.bits, 10)
	case kindSigned:
		return strconv.AppendInt(dst, int64(s.bits), 10)
	case kindFloat:
		return canon.AppendFloat(dst, math.Float64frombits(s.bits))
	case kindBoolean:
		return strconv.AppendBool(dst, s.bits != 0)
	case kindString:
		return canon.AppendString(dst, s.text)
	}
	return append(dst, "null"...)
}

// parseScalar reads a JSON value that is neither an array nor an object. An
// integer that no 64 bits hold is a float.
func parseScalar(raw []byte) (scalar, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return scalar{}, false
	}
	switch raw[0] {
	case 'n':
		return scalar{}, true
	case 't':
		return scalar{kind: kindBoolean, bits: 1}, true
	case 'f':
		return scalar{kind: kindBoolean}, true
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return text(s), err == nil
	}
	literal := string(raw)
	if !strings.ContainsAny(literal, ".eE") {
		if literal[0] == '-' {
			if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
				return signed(n), true
			}
		} else if n, err := strconv.ParseUint(literal, 10, 64); err == nil {
			return unsigned(n), true
		}
	}
	f, err := strconv.ParseFloat(literal, 64)
	return float(f), err == nil
}
