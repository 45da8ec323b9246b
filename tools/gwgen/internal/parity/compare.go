package parity

import (
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// same compares two descriptions of a value in JSON Schema. The first is the native one.
func (k *checker) same(o *catalogue.Operation, wire, source, path string, want, have *schema.Type) {
	diff := func(format string, args ...any) { k.differs(o, wire, source, path, format, args...) }
	if want.Kind != have.Kind {
		diff("is %s, natively %s", have.Kind, want.Kind)
		return
	}
	if want.Nullable != have.Nullable {
		diff("%s null, natively it %s", may(have.Nullable), may(want.Nullable))
	}
	if a, b := sortedCopy(want.Enum), sortedCopy(have.Enum); !slices.Equal(a, b) {
		diff("has the closed set [%s], natively [%s]", strings.Join(b, ", "), strings.Join(a, ", "))
	}
	if want.Const.String() != have.Const.String() {
		diff("has the constant %s, natively %s", have.Const, want.Const)
	}
	if want.Pattern != have.Pattern {
		diff("has the pattern %q, natively %q", have.Pattern, want.Pattern)
	}
	for _, b := range []struct {
		name       string
		want, have *int64
	}{
		{"minLength", want.MinLength, have.MinLength}, {"maxLength", want.MaxLength, have.MaxLength},
		{"minimum", want.Minimum, have.Minimum}, {"maximum", want.Maximum, have.Maximum},
		{"minItems", want.MinItems, have.MinItems}, {"maxItems", want.MaxItems, have.MaxItems},
		{"maxProperties", want.MaxProperties, have.MaxProperties},
	} {
		if bound(b.want) != bound(b.have) {
			diff("has %s %s, natively %s", b.name, bound(b.have), bound(b.want))
		}
	}
	if want.Exclusive != have.Exclusive {
		diff("differs in whether the minimum itself is in")
	}
	if want.Admit != have.Admit {
		diff("admits other kinds of JSON than natively")
	}
	if want.Kind == schema.Object {
		k.sameObject(o, wire, source, path, want, have)
	}
	if want.Elem != nil && have.Elem != nil {
		k.same(o, wire, source, path+"[]", want.Elem, have.Elem)
	}
	if len(want.Branches) != len(have.Branches) {
		diff("has %d branches, natively %d", len(have.Branches), len(want.Branches))
	} else {
		for i := range want.Branches {
			k.same(o, wire, source, path, want.Branches[i], have.Branches[i])
		}
	}
}

func (k *checker) sameObject(o *catalogue.Operation, wire, source, path string, want, have *schema.Type) {
	if want.Open != have.Open {
		k.differs(o, wire, source, path, "differs in whether it may gain members")
	}
	for _, w := range want.Fields {
		p := path + "." + w.Name
		h := have.Field(w.Name)
		if h == nil {
			k.differs(o, wire, source, p, "is missing")
			continue
		}
		if w.Required != h.Required {
			k.differs(o, wire, source, p, "%s, natively it %s", must(h.Required), must(w.Required))
		}
		if w.AbsentWhen != h.AbsentWhen {
			k.differs(o, wire, source, p, "is absent when %q, natively when %q", h.AbsentWhen, w.AbsentWhen)
		}
		k.same(o, wire, source, p, w.Type, h.Type)
	}
	for _, h := range have.Fields {
		if want.Field(h.Name) == nil {
			k.differs(o, wire, source, path+"."+h.Name, "does not exist natively")
		}
	}
	if a, b := alternatives(want.OneOf), alternatives(have.OneOf); a != b {
		k.differs(o, wire, source, path, "has the alternatives [%s], natively [%s]", b, a)
	}
}

func alternatives(list [][]string) string {
	var out []string
	for _, l := range list {
		out = append(out, strings.Join(sortedCopy(l), "+"))
	}
	return strings.Join(sortedCopy(out), ", ")
}

func may(b bool) string {
	if b {
		return "may be"
	}
	return "may not be"
}

func must(b bool) string {
	if b {
		return "is required"
	}
	return "is optional"
}

func bound(v *int64) string {
	if v == nil {
		return "none"
	}
	return schema.Int64(*v)
}

func sortedCopy(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
