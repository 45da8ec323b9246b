package workbench

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// valueTypes are the types of custom values as callers write them, by kind.
var valueTypes = [...]string{
	record.KindNull: "null", record.KindBoolean: "boolean", record.KindSigned: "signed", record.KindUnsigned: "unsigned",
	record.KindFloat: "float", record.KindTimestamp: "timestamp", record.KindBytes: "bytes", record.KindString: "string",
}

// parseIndexValues reads the custom fields of a file, and sorts them.
func parseIndexValues(values []op.WorkbenchIndexValue) ([]record.IndexValue, error) {
	if len(values) > int(op.LimitMaxIndexValues) {
		return nil, invalid("$.index_values", fmt.Sprintf("must be at most %d", op.LimitMaxIndexValues))
	}
	out := make([]record.IndexValue, 0, len(values))
	for i := range values {
		at := fmt.Sprintf("$.index_values[%d]", i)
		v := &values[i]
		if !legalFieldID(v.Field) {
			return nil, invalid(at+".field", "must be 1 to 128 ASCII letters, digits, '_', '.' or '-'")
		}
		if _, err := fieldOf(at, v.Field); err == nil {
			return nil, invalid(at+".field", "must not be a built-in field")
		}
		kind := slices.Index(valueTypes[:], v.Type)
		if kind < 0 {
			return nil, invalid(at+".type", "must be one of "+strings.Join(valueTypes[:], ", "))
		}
		s, rule := parseIndexValue(record.Kind(kind), v.Value)
		if rule != "" {
			return nil, invalid(at+".value", rule)
		}
		out = append(out, record.IndexValue{Field: strings.Clone(v.Field), Value: s})
	}
	slices.SortFunc(out, func(a, b record.IndexValue) int { return strings.Compare(a.Field, b.Field) })
	for i := 1; i < len(out); i++ {
		if out[i].Field == out[i-1].Field {
			return nil, invalid("$.index_values", "must not give "+out[i].Field+" twice")
		}
	}
	return out, nil
}

// parseIndexValue reads a value of a kind, or says what it must be.
func parseIndexValue(kind record.Kind, raw op.RawJSON) (s record.Scalar, rule string) {
	literal := strings.TrimSpace(string(raw))
	isText := strings.HasPrefix(literal, `"`)
	var text string
	if isText && json.Unmarshal([]byte(literal), &text) != nil {
		return s, "must be valid JSON"
	}
	switch kind {
	case record.KindNull:
		if literal == "" || literal == "null" {
			return record.Scalar{}, ""
		}
		return s, "must be null for null"
	case record.KindBoolean:
		if literal == "true" || literal == "false" {
			return record.Boolean(literal == "true"), ""
		}
		return s, "must be true or false for boolean"
	case record.KindSigned, record.KindTimestamp:
		n, err := strconv.ParseInt(literal, 10, 64)
		switch {
		case err != nil:
			return s, "must be an integer of 64 bits for " + valueTypes[kind]
		case kind == record.KindTimestamp:
			return record.Timestamp(n), ""
		}
		return record.Signed(n), ""
	case record.KindUnsigned:
		n, err := strconv.ParseUint(literal, 10, 64)
		if err != nil {
			return s, "must be an integer of 64 bits that is not negative for unsigned"
		}
		return record.Unsigned(n), ""
	case record.KindFloat:
		if strings.Trim(literal, "0123456789+-.eE") == "" { // JSON knows no other numbers, the library does
			if f, err := strconv.ParseFloat(literal, 64); err == nil && !math.IsInf(f, 0) {
				return record.Float(f), ""
			}
		}
		return s, "must be a number for float"
	case record.KindBytes:
		b, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if !isText || err != nil || strings.ContainsAny(text, "\r\n") {
			return s, "must be unpadded base64url for bytes"
		}
		text = string(b)
	}
	switch {
	case !isText:
		return s, "must be a string for string"
	case int64(len(text)) > op.LimitMaxIndexValueBytes:
		return s, fmt.Sprintf("must be at most %d bytes", op.LimitMaxIndexValueBytes)
	case kind == record.KindBytes:
		return record.Bytes(text), ""
	}
	return record.String(text), ""
}

// presentIndexValues writes custom fields as parseIndexValues reads them.
func presentIndexValues(values []record.IndexValue) []op.WorkbenchIndexValue {
	out := make([]op.WorkbenchIndexValue, len(values))
	for i := range values {
		s := &values[i].Value
		out[i] = op.WorkbenchIndexValue{Field: values[i].Field, Type: valueTypes[s.Kind]}
		if s.Kind != record.KindNull {
			out[i].Value = op.RawJSON(appendIndexValue(nil, s))
		}
	}
	return out
}

func appendIndexValue(dst []byte, s *record.Scalar) []byte {
	switch s.Kind {
	case record.KindBoolean:
		return strconv.AppendBool(dst, s.Bits != 0)
	case record.KindSigned, record.KindTimestamp:
		return strconv.AppendInt(dst, int64(s.Bits), 10)
	case record.KindUnsigned:
		return strconv.AppendUint(dst, s.Bits, 10)
	case record.KindFloat:
		return canon.AppendFloat(dst, math.Float64frombits(s.Bits))
	case record.KindBytes:
		return canon.AppendString(dst, base64.RawURLEncoding.EncodeToString([]byte(s.Text)))
	case record.KindString:
		return canon.AppendString(dst, s.Text)
	}
	return append(dst, "null"...)
}

// checkDescriptor refuses a producer or manifest id that no descriptor holds.
func checkDescriptor(member string, s *string) (*string, error) {
	if s == nil {
		return nil, nil
	}
	if *s == "" || int64(len(*s)) > op.LimitMaxDescriptorBytes {
		return nil, invalid(member, fmt.Sprintf("must be 1 to %d bytes", op.LimitMaxDescriptorBytes))
	}
	for i := range len(*s) {
		if (*s)[i] < 0x20 || (*s)[i] == 0x7F {
			return nil, invalid(member, "must not contain control characters")
		}
	}
	own := strings.Clone(*s)
	return &own, nil
}
