package schema

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a parsed source with what its references may name.
type Document struct {
	// Name is the path below spec.
	Name string
	Root *yaml.Node
	defs map[string]*Type
}

// Load reads a YAML or JSON file.
func Load(path, name string) (*Document, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(b, name)
}

// Parse reads YAML or JSON text.
func Parse(b []byte, name string) (*Document, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n.Kind != yaml.DocumentNode || len(n.Content) != 1 {
		return nil, fmt.Errorf("%s: holds no document", name)
	}
	return &Document{Name: name, Root: n.Content[0], defs: map[string]*Type{}}, nil
}

// Get follows mapping keys from the node and gives nil when one is missing.
func Get(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == k {
				next = n.Content[i+1]
				break
			}
		}
		n = next
	}
	return n
}

// Str gives the scalar under keys, "" when there is none.
func Str(n *yaml.Node, keys ...string) string {
	if m := Get(n, keys...); m != nil && m.Kind == yaml.ScalarNode {
		return m.Value
	}
	return ""
}

// Pairs lists a mapping in the source's order.
func Pairs(n *yaml.Node) (out []Pair) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		out = append(out, Pair{n.Content[i].Value, n.Content[i+1]})
	}
	return out
}

// Pair is an entry of a mapping.
type Pair struct {
	Key   string
	Value *yaml.Node
}

func (d *Document) errorf(n *yaml.Node, format string, args ...any) error {
	line := 0
	if n != nil {
		line = n.Line
	}
	return fmt.Errorf("%s:%d: %s", d.Name, line, fmt.Sprintf(format, args...))
}

// Pointer finds a node by a local reference, "#/a/b".
func (d *Document) Pointer(ref string) *yaml.Node {
	n := d.Root
	for _, p := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		n = Get(n, strings.NewReplacer("~1", "/", "~0", "~").Replace(p))
	}
	return n
}

// known lists the keywords that a schema may use. An unknown one is an error: silence would lose a rule.
var known = map[string]bool{
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true, "enum": true, "const": true,
	"pattern": true, "minLength": true, "maxLength": true, "minimum": true, "maximum": true, "minItems": true, "maxItems": true,
	"maxProperties": true, "anyOf": true, "oneOf": true, "$ref": true, "format": true, "exclusiveMinimum": true, "uniqueItems": true,
	// said to readers only
	"description": true, "title": true, "examples": true, "example": true, "default": true, "deprecated": true, "$comment": true,
	"contentEncoding": true, "$schema": true, "$id": true, "discriminator": true, "$defs": true,
}

// Type reads a schema.
func (d *Document) Type(n *yaml.Node) (*Type, error) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, d.errorf(n, "a schema must be a mapping")
	}
	for _, p := range Pairs(n) {
		if !known[p.Key] && !strings.HasPrefix(p.Key, "x-") {
			return nil, d.errorf(p.Value, "keyword %q has no lowering", p.Key)
		}
	}
	if ref := Str(n, "$ref"); ref != "" {
		return d.ref(n, ref)
	}
	if Str(n, "x-json") == "true" {
		t := &Type{Kind: Raw, Admit: AdmitAny, Doc: Str(n, "description")}
		if Get(n, "type") != nil {
			a, err := d.admit(n)
			if err != nil {
				return nil, err
			}
			t.Admit = a
		}
		t.Nullable = t.Admit&AdmitNull != 0
		return t, d.bounds(n, t)
	}
	if b := Get(n, "anyOf"); b != nil {
		return d.union(n, b)
	}
	if b := Get(n, "oneOf"); b != nil && Get(n, "type") == nil {
		return d.union(n, b)
	}
	t := &Type{Doc: Str(n, "description"), Format: Str(n, "format"), Pattern: Str(n, "pattern")}
	types := d.types(n)
	if i := slices.Index(types, "null"); i >= 0 {
		t.Nullable = true
		types = slices.Delete(types, i, i+1)
	}
	if len(types) == 0 && Get(n, "const") == nil {
		if Get(n, "properties") == nil && Get(n, "enum") == nil {
			return &Type{Kind: Raw, Admit: AdmitAny, Nullable: true, Doc: t.Doc}, nil
		}
		return nil, d.errorf(n, "a schema needs a type")
	}
	if len(types) > 1 {
		a, err := d.admit(n)
		if err != nil {
			return nil, err
		}
		if slices.Equal(sorted(types), []string{"integer", "string"}) {
			t.Kind = IntOrString
			return t, d.bounds(n, t)
		}
		return &Type{Kind: Raw, Admit: a, Nullable: a&AdmitNull != 0, Doc: t.Doc}, nil
	}
	if c := Get(n, "const"); c != nil {
		if err := d.constant(c, t, types); err != nil {
			return nil, err
		}
		return t, nil
	}
	switch types[0] {
	case "string":
		t.Kind = String
	case "integer":
		t.Kind = Int
	case "number":
		t.Kind = Number
	case "boolean":
		t.Kind = Bool
	case "array":
		t.Kind = Array
		if Get(n, "items") == nil {
			return nil, d.errorf(n, "an array needs items")
		}
		e, err := d.Type(Get(n, "items"))
		if err != nil {
			return nil, err
		}
		t.Elem = e
	case "object":
		if err := d.object(n, t); err != nil {
			return nil, err
		}
	default:
		return nil, d.errorf(n, "type %q has no lowering", types[0])
	}
	if e := Get(n, "enum"); e != nil {
		if t.Kind != String {
			return nil, d.errorf(e, "an enum must be of strings")
		}
		for _, v := range e.Content {
			if v.Tag == "!!null" {
				if !t.Nullable {
					return nil, d.errorf(e, "null in the enum but not in the type")
				}
				continue
			}
			t.Enum = append(t.Enum, v.Value)
		}
	}
	return t, d.bounds(n, t)
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func (d *Document) types(n *yaml.Node) []string {
	t := Get(n, "type")
	if t == nil {
		return nil
	}
	if t.Kind == yaml.ScalarNode {
		return []string{t.Value}
	}
	var out []string
	for _, c := range t.Content {
		out = append(out, c.Value)
	}
	return out
}

func (d *Document) ref(n *yaml.Node, ref string) (*Type, error) {
	if !strings.HasPrefix(ref, "#/") {
		return nil, d.errorf(n, "reference %q leaves the document", ref)
	}
	t, ok := d.defs[ref]
	if !ok {
		target := d.Pointer(ref)
		if target == nil {
			return nil, d.errorf(n, "reference %q names nothing", ref)
		}
		d.defs[ref] = &Type{} // a cycle finds this and is refused below
		var err error
		if t, err = d.Type(target); err != nil {
			return nil, err
		}
		t.Name = ref[strings.LastIndexByte(ref, '/')+1:]
		d.defs[ref] = t
	}
	if t.Kind == Invalid {
		return nil, d.errorf(n, "reference %q leads back to itself", ref)
	}
	if doc := Str(n, "description"); doc != "" {
		c := *t
		c.Doc = doc
		return &c, nil
	}
	return t, nil
}

func (d *Document) constant(c *yaml.Node, t *Type, types []string) error {
	t.Const = &Const{}
	switch c.Tag {
	case "!!str":
		t.Kind, t.Const.Str = String, c.Value
	case "!!bool":
		t.Kind, t.Const.Bool = Bool, c.Value == "true"
	case "!!int":
		v, err := strconv.ParseInt(c.Value, 10, 64)
		if err != nil {
			return d.errorf(c, "constant %q is not an integer", c.Value)
		}
		t.Kind, t.Const.Int = Int, v
	default:
		return d.errorf(c, "a constant must be a string, a boolean or an integer")
	}
	t.Const.Kind = t.Kind
	if len(types) == 1 && types[0] != t.Kind.String() {
		return d.errorf(c, "constant %s is not of type %s", t.Const, types[0])
	}
	return nil
}

func (d *Document) object(n *yaml.Node, t *Type) error {
	props, more := Get(n, "properties"), Get(n, "additionalProperties")
	if props == nil && (more == nil || more.Kind == yaml.ScalarNode && more.Value == "true") {
		t.Kind, t.Admit = Raw, AdmitObject
		if t.Nullable {
			t.Admit |= AdmitNull
		}
		return nil
	}
	if more != nil && more.Kind == yaml.MappingNode {
		if props != nil {
			return d.errorf(n, "an object has either named members or a map's")
		}
		e, err := d.Type(more)
		if err != nil {
			return err
		}
		t.Kind, t.Elem = Map, e
		return nil
	}
	t.Kind, t.Open = Object, more == nil || more.Value != "false"
	required := map[string]bool{}
	if r := Get(n, "required"); r != nil {
		for _, c := range r.Content {
			if Get(props, c.Value) == nil {
				return d.errorf(c, "required member %q is not described", c.Value)
			}
			required[c.Value] = true
		}
	}
	for _, p := range Pairs(props) {
		ft, err := d.Type(p.Value)
		if err != nil {
			return err
		}
		f := &Field{Name: p.Key, Doc: Str(p.Value, "description"), Required: required[p.Key], AbsentWhen: Str(p.Value, "x-absent-when"), Type: ft}
		if f.AbsentWhen != "" && f.Required {
			return d.errorf(p.Value, "member %q is required and yet absent when %s", p.Key, f.AbsentWhen)
		}
		t.Fields = append(t.Fields, f)
	}
	for _, f := range t.Fields {
		if f.AbsentWhen == "" {
			continue
		}
		if w := t.Field(f.AbsentWhen); w == nil || w.Type.Kind != Bool {
			return d.errorf(n, "member %q is absent when %q, which is not a boolean member", f.Name, f.AbsentWhen)
		}
	}
	if one := Get(n, "oneOf"); one != nil {
		for _, b := range one.Content {
			var names []string
			for _, p := range Pairs(b) {
				if p.Key != "required" {
					return d.errorf(b, "a oneOf beside properties may only list required members")
				}
				for _, c := range p.Value.Content {
					names = append(names, c.Value)
				}
			}
			t.OneOf = append(t.OneOf, names)
		}
	}
	return nil
}

// union lowers anyOf and oneOf: a scalar that may be null, an integer or a string, free-form JSON, or a choice of
// objects told apart by a constant member.
func (d *Document) union(n, list *yaml.Node) (*Type, error) {
	var branches []*yaml.Node
	nullable := false
	for _, b := range list.Content {
		if Str(b, "type") == "null" {
			nullable = true
			continue
		}
		branches = append(branches, b)
	}
	if len(branches) == 1 {
		t, err := d.Type(branches[0])
		if err != nil {
			return nil, err
		}
		c := *t
		c.Nullable = c.Nullable || nullable
		if doc := Str(n, "description"); doc != "" {
			c.Doc = doc
		}
		return &c, nil
	}
	if len(branches) == 2 {
		a, b := branches[0], branches[1]
		if Str(a, "type") == "string" {
			a, b = b, a
		}
		if Str(a, "type") == "integer" && Str(b, "type") == "string" {
			t := &Type{Kind: IntOrString, Nullable: nullable, Doc: Str(n, "description")}
			if err := d.bounds(a, t); err != nil {
				return nil, err
			}
			return t, d.bounds(b, t)
		}
	}
	if t, err := d.choice(n, branches, nullable); t != nil || err != nil {
		return t, err
	}
	a, err := d.admit(n)
	if err != nil {
		return nil, err
	}
	return &Type{Kind: Raw, Admit: a, Nullable: a&AdmitNull != 0, Doc: Str(n, "description")}, nil
}

func (d *Document) choice(n *yaml.Node, branches []*yaml.Node, nullable bool) (*Type, error) {
	for _, b := range branches {
		if Str(b, "$ref") == "" && Get(b, "properties") == nil {
			return nil, nil
		}
	}
	t := &Type{Kind: Union, Nullable: nullable, Doc: Str(n, "description")}
	for _, b := range branches {
		bt, err := d.Type(b)
		if err != nil {
			return nil, err
		}
		if bt.Kind != Object {
			return nil, d.errorf(b, "a branch of a union must be an object")
		}
		t.Branches = append(t.Branches, bt)
	}
	for _, f := range t.Branches[0].Fields {
		seen := map[string]bool{}
		for _, b := range t.Branches {
			if g := b.Field(f.Name); g != nil && g.Required && g.Type.Const != nil && g.Type.Kind == String {
				seen[g.Type.Const.Str] = true
			}
		}
		if len(seen) == len(t.Branches) {
			t.Tag = f.Name
			return t, nil
		}
	}
	return nil, d.errorf(n, "the branches of a union need one required constant string member of the same name, different in each")
}

// admit says which JSON kinds a free-form schema lets in.
func (d *Document) admit(n *yaml.Node) (Admit, error) {
	list := Get(n, "anyOf")
	if list == nil {
		list = Get(n, "oneOf")
	}
	if list != nil {
		var a Admit
		for _, b := range list.Content {
			x, err := d.admit(b)
			if err != nil {
				return 0, err
			}
			a |= x
		}
		return a, nil
	}
	var a Admit
	for _, w := range d.types(n) {
		switch w {
		case "string":
			a |= AdmitString
		case "integer", "number":
			a |= AdmitNumber
		case "boolean":
			a |= AdmitBool
		case "null":
			a |= AdmitNull
		case "object":
			a |= AdmitObject
		case "array":
			items := Get(n, "items")
			if items == nil {
				a |= AdmitArray
				break
			}
			in, err := d.admit(items)
			if err != nil {
				return 0, err
			}
			if in != AdmitString|AdmitNumber|AdmitBool {
				return 0, d.errorf(items, "items of a free-form array must be strings, numbers and booleans, or unconstrained")
			}
			a |= AdmitScalarArray
		default:
			return 0, d.errorf(n, "type %q has no lowering", w)
		}
	}
	if a == AdmitNumber && len(d.types(n)) == 1 && d.types(n)[0] == "integer" {
		// An integer branch beside a number branch adds nothing; alone it would lose its meaning.
		return a, nil
	}
	if a == 0 {
		return 0, d.errorf(n, "a branch needs a type")
	}
	return a, nil
}

func (d *Document) bounds(n *yaml.Node, t *Type) error {
	for _, x := range []struct {
		word string
		to   **int64
		of   []Kind
	}{
		{"minLength", &t.MinLength, []Kind{String, IntOrString}}, {"maxLength", &t.MaxLength, []Kind{String, IntOrString}},
		{"minimum", &t.Minimum, []Kind{Int, IntOrString, Number}}, {"maximum", &t.Maximum, []Kind{Int, IntOrString, Number}},
		{"minItems", &t.MinItems, []Kind{Array}}, {"maxItems", &t.MaxItems, []Kind{Array}},
		{"maxProperties", &t.MaxProperties, []Kind{Raw, Map}},
	} {
		v := Get(n, x.word)
		if v == nil {
			continue
		}
		i, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			return d.errorf(v, "%s must be an integer", x.word)
		}
		if !slices.Contains(x.of, t.Kind) {
			return d.errorf(v, "%s does not bound a value of type %s", x.word, t.Kind)
		}
		*x.to = &i
	}
	if v := Get(n, "exclusiveMinimum"); v != nil {
		if t.Kind != Number || v.Value != "0" {
			return d.errorf(v, "exclusiveMinimum is known for numbers above 0 only")
		}
		one := int64(0)
		t.Minimum, t.Exclusive = &one, true
	}
	return nil
}
