// Package emit writes gen from the catalogue.
package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// goStruct is an object type with its Go name.
type goStruct struct {
	Name   string
	Type   *schema.Type
	Doc    string
	Op     *catalogue.Operation // of a request or result; nil for a shared type
	Result bool
	fields []goField
}

type goField struct {
	*schema.Field
	Go   string // field name; "" for a constant that needs no field
	Bit  int
	Elem *goStruct // the struct inside, for objects, arrays and maps of them
}

// goTypes names every object of the catalogue.
type goTypes struct {
	byName  map[string]*goStruct
	Shared  []*goStruct
	Request map[*catalogue.Operation]*goStruct
	Result  map[*catalogue.Operation]*goStruct
}

func opName(o *catalogue.Operation) string { return gocode.Exported(o.Area + "_" + o.Verb) }

// prefixes are what the names of an operation's inner types may begin with, in order of preference.
func prefixes(o *catalogue.Operation) [2]string { return [2]string{gocode.Exported(o.Area), opName(o)} }

// maxNesting must stay below maxTrail of the scanner: a struct and an array each take a step.
const maxNesting = 5

func collect(c *catalogue.Catalogue) (*goTypes, error) {
	g := &goTypes{byName: map[string]*goStruct{}, Request: map[*catalogue.Operation]*goStruct{}, Result: map[*catalogue.Operation]*goStruct{}}
	for _, o := range c.Operations {
		if o.Stream() {
			continue
		}
		for _, side := range []struct {
			suffix string
			t      *schema.Type
			m      map[*catalogue.Operation]*goStruct
		}{{"Request", o.Request, g.Request}, {"Result", o.Response, g.Result}} {
			s := &goStruct{Name: opName(o) + side.suffix, Type: side.t, Doc: side.t.Doc, Op: o, Result: side.suffix == "Result"}
			if g.byName[s.Name] != nil {
				return nil, fmt.Errorf("two types are called %s", s.Name)
			}
			g.byName[s.Name] = s
			if err := g.fill(s, prefixes(o), 0); err != nil {
				return nil, fmt.Errorf("%s: %w", o.ID, err)
			}
			side.m[o] = s
		}
	}
	slices.SortFunc(g.Shared, func(a, b *goStruct) int { return strings.Compare(a.Name, b.Name) })
	return g, nil
}

func (g *goTypes) fill(s *goStruct, pre [2]string, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%s nests deeper than %d objects", s.Name, maxNesting)
	}
	bit := 0
	for _, f := range s.Type.Fields {
		gf := goField{Field: f, Go: gocode.Exported(f.Name), Bit: bit}
		bit++
		t := f.Type
		if t.Const != nil {
			switch {
			case f.Required:
				gf.Go = ""
			case t.Kind == schema.Bool && t.Const.Bool:
			default:
				return fmt.Errorf("%s.%s: an optional constant can only be true", s.Name, f.Name)
			}
		}
		inner := t
		for inner.Kind == schema.Array || inner.Kind == schema.Map {
			if inner != t {
				return fmt.Errorf("%s.%s: an array or map inside another has no lowering", s.Name, f.Name)
			}
			inner = inner.Elem
			if inner.Nullable && inner.Kind != schema.Raw {
				return fmt.Errorf("%s.%s: null items have no lowering", s.Name, f.Name)
			}
		}
		switch inner.Kind {
		case schema.Object:
			e, err := g.shared(inner, f.Name, inner != t, pre, depth+1)
			if err != nil {
				return err
			}
			gf.Elem = e
		case schema.Union:
			return fmt.Errorf("%s.%s: a union of objects has no lowering", s.Name, f.Name)
		}
		s.fields = append(s.fields, gf)
	}
	if bit > 64 {
		return fmt.Errorf("%s has more than 64 members", s.Name)
	}
	return nil
}

// shared names an object that stands inside others: after its definition, or after the member that holds it. Two
// equal ones share a type; when two different ones would, the second gets its operation's name in front.
func (g *goTypes) shared(t *schema.Type, member string, many bool, pre [2]string, depth int) (*goStruct, error) {
	base := t.Name
	if base == "" {
		base = member
		if many {
			base = singular(base)
		}
	}
	plain := *t
	plain.Nullable = false
	prints := plain.Fingerprint()
	short := strings.TrimPrefix(gocode.Exported(base), pre[0])
	for _, p := range pre {
		name := p + short
		if s := g.byName[name]; s != nil {
			have := *s.Type
			have.Nullable = false
			if s.Op == nil && have.Fingerprint() == prints {
				return s, nil
			}
			continue
		}
		s := &goStruct{Name: name, Type: t, Doc: t.Doc}
		g.byName[name] = s
		if err := g.fill(s, pre, depth); err != nil {
			return nil, err
		}
		g.Shared = append(g.Shared, s)
		return s, nil
	}
	return nil, fmt.Errorf("no name is left for the object at %s", member)
}

func singular(s string) string {
	switch {
	case strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ches"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss"):
		return s[:len(s)-1]
	}
	return s
}

// pointer says whether the Go field is a pointer: a member that may be missing or null, unless nil is in the type.
func (f goField) pointer() bool {
	switch f.Type.Kind {
	case schema.Array, schema.Map, schema.Raw:
		return false
	}
	if f.Type.Const != nil {
		return false
	}
	if f.AbsentWhen != "" {
		return f.Type.Nullable
	}
	return f.Optional()
}

// value is the Go type of the field without its pointer.
func (f goField) value() string { return goValue(f.Type, f.Elem) }

func goValue(t *schema.Type, elem *goStruct) string {
	switch t.Kind {
	case schema.String:
		return "string"
	case schema.Int:
		if t.Small() {
			return "int32"
		}
		return "int64"
	case schema.Number:
		return "float64"
	case schema.Bool:
		return "bool"
	case schema.Raw:
		return "RawJSON"
	case schema.IntOrString:
		return "IntOrString"
	case schema.Object:
		return elem.Name
	case schema.Array:
		return "[]" + goValue(t.Elem, elem)
	case schema.Map:
		return "map[string]" + goValue(t.Elem, elem)
	}
	panic("no Go type for " + t.Kind.String())
}

func (f goField) goType() string {
	if f.pointer() {
		return "*" + f.value()
	}
	return f.value()
}

// scalarPointer says whether a decoded pointer can live in the request's own memory.
func (f goField) scalarPointer() bool {
	if !f.pointer() {
		return false
	}
	return f.Type.Kind != schema.Object
}

func (s *goStruct) structFields() (out []goField) {
	for _, f := range s.fields {
		if f.Go != "" {
			out = append(out, f)
		}
	}
	return out
}

func (s *goStruct) field(name string) goField {
	for _, f := range s.fields {
		if f.Name == name {
			return f
		}
	}
	panic("no member " + name)
}
