// Package schema is the intermediate form of the wire's types: what JSON Schema, OpenAPI, AsyncAPI and protobuf say of
// a value, reduced to what this project may say at all.
package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the shape of a value.
type Kind uint8

// The kinds. Raw is free-form JSON; IntOrString is the one scalar union; Union is a choice of objects told apart by a
// constant member.
const (
	Invalid Kind = iota
	String
	Int
	Number
	Bool
	Object
	Array
	Map
	Raw
	IntOrString
	Union
)

var kindNames = [...]string{"invalid", "string", "integer", "number", "boolean", "object", "array", "map", "JSON", "integer or string", "union"}

func (k Kind) String() string { return kindNames[k] }

// Admit is the set of JSON kinds that a Raw value may have.
type Admit uint8

// The members of Admit. ScalarArray is an array of strings, numbers and booleans.
const (
	AdmitString Admit = 1 << iota
	AdmitNumber
	AdmitBool
	AdmitNull
	AdmitArray
	AdmitObject
	AdmitScalarArray
	AdmitAny = AdmitString | AdmitNumber | AdmitBool | AdmitNull | AdmitArray | AdmitObject
)

// Type describes a value.
type Type struct {
	Kind     Kind
	Nullable bool

	// Name is the name of the definition that the source gave the type, "" when written in place.
	Name string
	// Doc is the source's description.
	Doc string
	// Format is the source's format word; it is said, not checked.
	Format string

	Enum    []string // String: the closed set, in the source's order, without null
	Const   *Const
	Pattern string

	MinLength, MaxLength *int64
	Minimum, Maximum     *int64 // Int, Number, IntOrString
	Exclusive            bool   // Number: Minimum itself is out
	MinItems, MaxItems   *int64
	MaxProperties        *int64

	Admit Admit // Raw

	Fields   []*Field // Object
	Open     bool     // Object: may gain members; a reader passes over those it does not know
	OneOf    [][]string
	Elem     *Type   // Array, Map
	Branches []*Type // Union
	Tag      string  // Union: the constant member
}

// Const is the one value that a member may have.
type Const struct {
	Kind Kind // String, Bool or Int
	Str  string
	Bool bool
	Int  int64
}

func (c *Const) String() string {
	if c == nil {
		return "none"
	}
	switch c.Kind {
	case String:
		return fmt.Sprintf("%q", c.Str)
	case Bool:
		return fmt.Sprint(c.Bool)
	}
	return fmt.Sprint(c.Int)
}

// Field is a member of an object.
type Field struct {
	Name     string
	Doc      string
	Required bool
	// AbsentWhen names a boolean member; the field is left out when that is true and present otherwise.
	AbsentWhen string
	Type       *Type
}

// Field finds a member.
func (t *Type) Field(name string) *Field {
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Optional says whether the value may be missing or null, which are the same thing.
func (f *Field) Optional() bool { return !f.Required || f.Type.Nullable }

// Small says whether an integer fits 32 bits by its maximum.
func (t *Type) Small() bool {
	return t.Kind == Int && t.Maximum != nil && *t.Maximum < 1<<31 && (t.Minimum == nil || *t.Minimum >= -1<<31)
}

// Fingerprint says everything that the wire can see of a type; two types with one fingerprint are the same.
func (t *Type) Fingerprint() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *Type) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s", t.Kind)
	if t.Nullable {
		b.WriteString("?")
	}
	if len(t.Enum) > 0 {
		e := slices.Clone(t.Enum)
		slices.Sort(e)
		fmt.Fprintf(b, " enum%q", e)
	}
	if t.Const != nil {
		fmt.Fprintf(b, " const=%s", t.Const)
	}
	if t.Pattern != "" {
		fmt.Fprintf(b, " pattern=%q", t.Pattern)
	}
	for _, x := range []struct {
		name string
		v    *int64
	}{{"minLength", t.MinLength}, {"maxLength", t.MaxLength}, {"minimum", t.Minimum}, {"maximum", t.Maximum}, {"minItems", t.MinItems}, {"maxItems", t.MaxItems}, {"maxProperties", t.MaxProperties}} {
		if x.v != nil {
			fmt.Fprintf(b, " %s=%d", x.name, *x.v)
		}
	}
	if t.Exclusive {
		b.WriteString(" exclusive")
	}
	if t.Kind == Raw {
		fmt.Fprintf(b, " admit=%b", t.Admit)
	}
	if t.Elem != nil {
		b.WriteString("<")
		t.Elem.write(b)
		b.WriteString(">")
	}
	if t.Kind == Object {
		fs := slices.Clone(t.Fields)
		slices.SortFunc(fs, func(x, y *Field) int { return strings.Compare(x.Name, y.Name) })
		b.WriteString("{")
		if t.Open {
			b.WriteString("...;")
		}
		for _, f := range fs {
			b.WriteString(f.Name)
			if f.Required {
				b.WriteString("!")
			}
			if f.AbsentWhen != "" {
				b.WriteString("~" + f.AbsentWhen)
			}
			b.WriteString(":")
			f.Type.write(b)
			b.WriteString(";")
		}
		b.WriteString("}")
		for _, o := range t.OneOf {
			fmt.Fprintf(b, " oneOf%q", o)
		}
	}
	for _, br := range t.Branches {
		b.WriteString("|")
		br.write(b)
	}
}

// Int64 writes a bound for a message.
func Int64(v int64) string { return strconv.FormatInt(v, 10) }
