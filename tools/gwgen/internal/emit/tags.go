package emit

import (
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// The tags say in the Go type what the schema said, in the words of swaggest/jsonschema-go, so that a witness can
// reflect the types back into schemas and hold them against the frozen ones. The decoders do not read them.

func objectTag(t *schema.Type) string {
	var tags []string
	if !t.Open {
		tags = append(tags, `additionalProperties:"false"`)
	}
	if len(t.OneOf) > 0 {
		var alts []string
		for _, names := range t.OneOf {
			alts = append(alts, strings.Join(names, "+"))
		}
		tags = append(tags, `oneOf:`+strconv.Quote(strings.Join(alts, ",")))
	}
	return strings.Join(tags, " ")
}

func fieldTag(m goField) string {
	tags := []string{`json:` + strconv.Quote(m.Name)}
	add := func(k, v string) { tags = append(tags, k+":"+strconv.Quote(v)) }
	if m.Required {
		add("required", "true")
	}
	t := m.Type
	add("nullable", strconv.FormatBool(t.Nullable))
	inner := t
	for _, b := range []struct {
		key string
		v   *int64
	}{{"minItems", t.MinItems}, {"maxItems", t.MaxItems}, {"maxProperties", t.MaxProperties}} {
		if b.v != nil {
			add(b.key, strconv.FormatInt(*b.v, 10))
		}
	}
	prefix := ""
	if t.Kind == schema.Array {
		inner, prefix = t.Elem, "items."
	}
	if len(inner.Enum) > 0 {
		add(prefix+"enum", strings.Join(inner.Enum, ","))
	}
	if inner.Pattern != "" {
		add(prefix+"pattern", inner.Pattern)
	}
	min := "minimum"
	if inner.Exclusive {
		min = "exclusiveMinimum"
	}
	for _, b := range []struct {
		key string
		v   *int64
	}{{"minLength", inner.MinLength}, {"maxLength", inner.MaxLength}, {min, inner.Minimum}, {"maximum", inner.Maximum}} {
		if b.v != nil {
			add(prefix+b.key, strconv.FormatInt(*b.v, 10))
		}
	}
	if inner.Kind == schema.Raw {
		add("admit", admitWords(inner.Admit))
	}
	return strings.Join(tags, " ")
}

func admitWords(a schema.Admit) string {
	var out []string
	for _, k := range []struct {
		bit  schema.Admit
		word string
	}{{schema.AdmitString, "string"}, {schema.AdmitNumber, "number"}, {schema.AdmitBool, "boolean"}, {schema.AdmitNull, "null"},
		{schema.AdmitArray, "array"}, {schema.AdmitObject, "object"}, {schema.AdmitScalarArray, "scalars"}} {
		if a&k.bit != 0 {
			out = append(out, k.word)
		}
	}
	return strings.Join(out, ",")
}
