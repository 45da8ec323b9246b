package workbench

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// scalar is a value of a field. Equal values are equal under ==.
type scalar = record.Scalar

// missing is what a file has of a custom field that it does not have. It is no
// value: it satisfies nothing but not_exists, and sorts before every value.
var missing = scalar{Kind: 0xFF}

func numeric(k record.Kind) bool {
	return k == record.KindUnsigned || k == record.KindSigned || k == record.KindFloat
}

func textual(k record.Kind) bool { return k == record.KindString || k == record.KindBytes }

func optText(s *string) scalar {
	if s == nil {
		return scalar{}
	}
	return record.String(*s)
}

// compareScalars orders by type, then by value; texts by their bytes.
func compareScalars(a, b scalar) int {
	if a.Kind != b.Kind {
		return cmp.Compare(a.Kind+1, b.Kind+1) // missing comes first
	}
	switch a.Kind {
	case record.KindSigned, record.KindTimestamp:
		return cmp.Compare(int64(a.Bits), int64(b.Bits))
	case record.KindFloat:
		return cmp.Compare(math.Float64frombits(a.Bits), math.Float64frombits(b.Bits))
	case record.KindString, record.KindBytes:
		return strings.Compare(a.Text, b.Text)
	}
	return cmp.Compare(a.Bits, b.Bits)
}

func appendScalar(dst []byte, s scalar) []byte {
	switch s.Kind {
	case record.KindUnsigned:
		return strconv.AppendUint(dst, s.Bits, 10)
	case record.KindSigned, record.KindTimestamp:
		return strconv.AppendInt(dst, int64(s.Bits), 10)
	case record.KindFloat:
		return canon.AppendFloat(dst, math.Float64frombits(s.Bits))
	case record.KindBoolean:
		return strconv.AppendBool(dst, s.Bits != 0)
	case record.KindString:
		return canon.AppendString(dst, s.Text)
	case record.KindBytes:
		return canon.AppendString(dst, base64.RawURLEncoding.EncodeToString([]byte(s.Text)))
	}
	return append(dst, "null"...)
}

// parseScalar reads a JSON value that is neither an array nor an object, as what
// it is by itself: an integer is unsigned unless it is negative, and a float when
// no 64 bits hold it.
func parseScalar(raw []byte) (scalar, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return scalar{}, false
	}
	switch raw[0] {
	case 'n':
		return scalar{}, true
	case 't':
		return record.Boolean(true), true
	case 'f':
		return record.Boolean(false), true
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return record.String(s), err == nil
	case '[', '{':
		return scalar{}, false
	}
	literal := string(raw)
	if !strings.ContainsAny(literal, ".eE") {
		if literal[0] == '-' {
			if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
				return record.Signed(n), true
			}
		} else if n, err := strconv.ParseUint(literal, 10, 64); err == nil {
			return record.Unsigned(n), true
		}
	}
	f, err := strconv.ParseFloat(literal, 64)
	return record.Float(f), err == nil
}

// parseOperand reads a JSON value as one of a type. JSON has fewer types than
// fields have, so a literal means the value of the field's type that it spells
// exactly; null is null for every type.
func parseOperand(kind record.Kind, raw []byte) (scalar, bool) {
	s, ok := parseScalar(raw)
	if !ok || s.Kind == record.KindNull || s.Kind == kind {
		return s, ok
	}
	whole := s.Kind == record.KindSigned || s.Kind == record.KindUnsigned
	fits := s.Kind == record.KindSigned || s.Bits <= math.MaxInt64
	switch {
	case kind == record.KindSigned && whole && fits:
		return record.Signed(int64(s.Bits)), true
	case kind == record.KindTimestamp && whole && fits:
		return record.Timestamp(int64(s.Bits)), true
	case kind == record.KindFloat && whole && fits:
		// Beyond this there are integers that no float is.
		const exact = 1 << 53
		n := int64(s.Bits)
		return record.Float(float64(n)), -exact <= n && n <= exact
	case kind == record.KindBytes && s.Kind == record.KindString:
		b, err := base64.RawURLEncoding.Strict().DecodeString(s.Text)
		return record.Bytes(string(b)), err == nil && !strings.ContainsAny(s.Text, "\r\n")
	}
	return scalar{}, false
}
