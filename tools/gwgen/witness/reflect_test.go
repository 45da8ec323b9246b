package witness

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/frozen"
	"github.com/swaggest/jsonschema-go"
)

// reflected gives the schema that a generated Go type says by its fields and tags, as swaggest/jsonschema-go reads them.
func reflected(t testing.TB, sample any) any {
	t.Helper()
	r := jsonschema.Reflector{}
	schema, err := r.Reflect(sample, jsonschema.InlineRefs,
		jsonschema.InterceptProp(func(p jsonschema.InterceptPropParams) error {
			if p.Processed {
				tagged(p)
			}
			return nil
		}),
		jsonschema.InterceptSchema(func(p jsonschema.InterceptSchemaParams) (bool, error) {
			vt := p.Value.Type()
			if vt.Kind() == reflect.Pointer {
				vt = vt.Elem()
			}
			if p.Processed && vt.Kind() == reflect.Struct {
				alternatives(p.Schema, vt)
			}
			return false, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	return implied(frozen.Normalise(parse(t, text)))
}

// tagged completes what swaggest cannot take from a tag: free-form values, the scalar union, null in a closed set, and
// constraints of items.
func tagged(p jsonschema.InterceptPropParams) {
	tag := p.Field.Tag
	nullable := tag.Get("nullable") == "true"
	s := p.PropertySchema
	ft := p.Field.Type
	for ft.Kind() == reflect.Pointer {
		ft = ft.Elem()
	}
	switch ft {
	case reflect.TypeFor[op.RawJSON]():
		*s = freeForm(strings.Split(tag.Get("admit"), ","), tag.Get("maxProperties"))
		return
	case reflect.TypeFor[op.IntOrString]():
		n, str := (&jsonschema.Schema{}), (&jsonschema.Schema{})
		n.AddType(jsonschema.Integer)
		str.AddType(jsonschema.String)
		if v := tag.Get("minimum"); v != "" {
			n.WithMinimum(number(v))
		}
		if v := tag.Get("minLength"); v != "" {
			str.WithMinLength(int64(number(v)))
		}
		*s = jsonschema.Schema{}
		s.AnyOf = []jsonschema.SchemaOrBool{n.ToSchemaOrBool(), str.ToSchemaOrBool()}
		if nullable {
			s.AnyOf = append(s.AnyOf, (&jsonschema.Schema{}).WithType(jsonschema.Null.Type()).ToSchemaOrBool())
		}
		return
	}
	if len(s.Enum) > 0 && nullable && !slices.Contains(s.Enum, nil) {
		s.Enum = append(s.Enum, nil)
	}
	if s.Items != nil && s.Items.SchemaOrBool != nil {
		item := s.Items.SchemaOrBool.TypeObject
		if v := tag.Get("items.enum"); v != "" {
			for _, w := range strings.Split(v, ",") {
				item.Enum = append(item.Enum, w)
			}
		}
	}
}

func freeForm(admit []string, maxProperties string) (s jsonschema.Schema) {
	branch := func(word string) jsonschema.SchemaOrBool {
		b := &jsonschema.Schema{}
		if word == "scalars" {
			item := &jsonschema.Schema{}
			for _, k := range []jsonschema.SimpleType{jsonschema.String, jsonschema.Integer, jsonschema.Number, jsonschema.Boolean} {
				item.AddType(k)
			}
			b.AddType(jsonschema.Array)
			b.WithItems(*(&jsonschema.Items{}).WithSchemaOrBool(item.ToSchemaOrBool()))
		} else {
			b.AddType(jsonschema.SimpleType(word))
		}
		return b.ToSchemaOrBool()
	}
	if slices.Contains(admit, "scalars") {
		for _, w := range admit {
			s.AnyOf = append(s.AnyOf, branch(w))
		}
		// The frozen schema also lists the integers from zero, which its numbers admit anyway.
		n := &jsonschema.Schema{}
		n.AddType(jsonschema.Integer)
		n.WithMinimum(0)
		s.AnyOf = append(s.AnyOf, n.ToSchemaOrBool())
		return s
	}
	for _, w := range admit {
		s.AddType(jsonschema.SimpleType(w))
	}
	if maxProperties != "" {
		s.WithMaxProperties(int64(number(maxProperties)))
	}
	return s
}

func alternatives(s *jsonschema.Schema, t reflect.Type) {
	f, ok := t.FieldByName("_")
	if !ok || f.Tag.Get("oneOf") == "" || s.OneOf != nil {
		return
	}
	for _, alt := range strings.Split(f.Tag.Get("oneOf"), ",") {
		s.OneOf = append(s.OneOf, (&jsonschema.Schema{Required: strings.Split(alt, "+")}).ToSchemaOrBool())
	}
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("a generated tag holds no number: " + s)
	}
	return v
}

// implied drops what a schema says twice or by default: an empty list of required members.
func implied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = implied(e)
		}
		if list, ok := out["type"].([]any); ok && len(list) == 1 {
			out["type"] = list[0]
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = implied(e)
		}
		return out
	}
	return v
}

func frozenSchema(t testing.TB, tool mcp.Tool) any {
	return implied(frozen.Normalise(parse(t, tool.InputSchema)))
}

// TestReflectedTypesEqualFrozenSchemas is the proof that the generated Go types and the frozen contract say the same.
func TestReflectedTypesEqualFrozenSchemas(t *testing.T) {
	if len(mcp.Workbench) != 18 {
		t.Fatalf("the profile has %d tools, want 18", len(mcp.Workbench))
	}
	for _, tool := range mcp.Workbench {
		want := frozenSchema(t, tool)
		got := reflected(t, tool.Op.New())
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: the Go type says something else than the frozen schema (-frozen +type):\n%s", tool.Name, d)
		}
	}
}

// TestReflectionSeesEveryChange changes each constraint of each frozen schema in turn; the comparison must fail.
func TestReflectionSeesEveryChange(t *testing.T) {
	changes := 0
	for _, tool := range mcp.Workbench {
		got := reflected(t, tool.Op.New())
		var visit func(at []any, v any)
		visit = func(at []any, v any) {
			switch v := v.(type) {
			case map[string]any:
				for _, k := range slices.Sorted(maps.Keys(v)) {
					visit(append(slices.Clone(at), k), v[k])
				}
				return
			case []any:
				for i := range v {
					visit(append(slices.Clone(at), i), v[i])
				}
				return
			}
			changed := frozenSchema(t, tool)
			alter(changed, at)
			changed = implied(frozen.Normalise(changed))
			changes++
			if cmp.Equal(changed, got) {
				t.Errorf("%s: a change at %v goes unseen", tool.Name, at)
			}
		}
		visit(nil, frozenSchema(t, tool))
	}
	if changes < 300 {
		t.Errorf("only %d changes were tried", changes)
	}
}

// alter changes the leaf at a path.
func alter(v any, at []any) {
	for _, step := range at[:len(at)-1] {
		switch s := step.(type) {
		case string:
			v = v.(map[string]any)[s]
		case int:
			v = v.([]any)[s]
		}
	}
	other := func(old any) any {
		switch o := old.(type) {
		case string:
			return o + "x"
		case bool:
			return !o
		case json.Number:
			if o == "0" {
				return json.Number("7")
			}
			return json.Number(string(o) + "1")
		}
		return "was null"
	}
	switch s := at[len(at)-1].(type) {
	case string:
		m := v.(map[string]any)
		m[s] = other(m[s])
	case int:
		l := v.([]any)
		l[s] = other(l[s])
	}
}
