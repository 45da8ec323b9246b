// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/values.go. DO NOT EDIT.

package op

// RawJSON is one JSON value exactly as it was written, digits and member order included. nil means absent.
type RawJSON []byte

// IntOrString is a member that may be an integer or a string. The zero value is the integer 0.
type IntOrString struct {
	IsString bool
	Int      int64
	Str      string
}
