package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// validate writes Validate and validate. raw asks for the syntax of free-form members too, which a decoder has
// already read.
func (g *opGen) validate(f *gocode.File, s *goStruct) {
	f.P("// Validate checks bounds, closed sets and patterns; nil means valid.")
	f.P("func (v *%s) Validate() *Invalid { return v.validate(true) }\n", s.Name)
	f.P("func (v *%s) validate(raw bool) *Invalid {", s.Name)
	for _, m := range s.structFields() {
		g.validateField(f, s, m)
	}
	if len(s.Type.OneOf) > 0 {
		g.validateOneOf(f, s)
	}
	f.P("	return nil\n}\n")
}

func (g *opGen) validateField(f *gocode.File, s *goStruct, m goField) {
	path := "$." + m.Name
	var body gocode.File
	expr := "v." + m.Go
	switch m.Type.Kind {
	case schema.Object:
		body.P("	if inv := %s.validate(raw); inv != nil {\n		return under(inv, %q)\n	}", expr, path)
	case schema.Array:
		lo, hi := int64(0), int64(-1)
		if m.Type.MinItems != nil {
			lo = *m.Type.MinItems
		}
		if m.Type.MaxItems != nil {
			hi = *m.Type.MaxItems
		}
		if lo > 0 || hi >= 0 {
			body.P("	if inv := checkItems(len(%s), %d, %d, %q); inv != nil {\n		return inv\n	}", expr, lo, hi, path)
		}
		g.validateElems(&body, m, expr, fmt.Sprintf("itemPath(%q, i)", path), "i")
	case schema.Map:
		if m.Type.MaxProperties != nil {
			body.P("	if len(%s) > %d {\n		return refuse(%q, \"maxProperties\", \"must not have more than %d members\")\n	}", expr, *m.Type.MaxProperties, path, *m.Type.MaxProperties)
		}
		g.validateElems(&body, m, expr, fmt.Sprintf("memberPath(%q, k)", path), "k")
	case schema.Raw:
		if m.Required && !m.Type.Nullable {
			body.P("	if %s == nil {\n		return refuse(%q, \"missing\", \"is required\")\n	}", expr, path)
		}
		f.P("%s", strings.TrimRight(bodyOf(&body), "\n"))
		var in gocode.File
		g.validateScalar(&in, m.Type, expr, strconv.Quote(path))
		f.P("	if %s != nil {\n%s	}", expr, bodyOf(&in))
		return
	default:
		if m.pointer() && m.Type.Kind != schema.IntOrString {
			expr = "*" + expr
		}
		g.validateScalar(&body, m.Type, expr, strconv.Quote(path))
	}
	if body.Empty() {
		return
	}
	open := ""
	switch {
	case m.pointer():
		open = fmt.Sprintf("v.%s != nil", m.Go)
	case m.Type.Kind == schema.Array && (m.Type.MinItems != nil) && !m.Required:
		open = fmt.Sprintf("v.%s != nil", m.Go)
	}
	if m.AbsentWhen != "" && !m.pointer() {
		open = "!v." + gocode.Exported(m.AbsentWhen)
	}
	if open != "" {
		f.P("	if %s {\n%s	}", open, bodyOf(&body))
	} else {
		f.P("%s", strings.TrimRight(bodyOf(&body), "\n"))
	}
}

func (g *opGen) validateElems(f *gocode.File, m goField, expr, path, index string) {
	e := m.Type.Elem
	var body gocode.File
	if e.Kind == schema.Object {
		if m.Type.Kind == schema.Map {
			body.P("		e := %s[k]\n		if inv := e.validate(raw); inv != nil {\n			return under(inv, %s)\n		}", expr, path)
		} else {
			body.P("		if inv := %s[i].validate(raw); inv != nil {\n			return under(inv, %s)\n		}", expr, path)
		}
	} else {
		g.validateScalar(&body, e, expr+"["+index+"]", path)
	}
	if !body.Empty() {
		f.P("	for %s := range %s {\n%s	}", index, expr, bodyOf(&body))
	}
}

// validateScalar writes the checks of a value; path is Go source of its path.
func (g *opGen) validateScalar(f *gocode.File, t *schema.Type, expr, path string) {
	check := func(call string, args ...any) {
		f.P("	if inv := %s; inv != nil {\n		return inv\n	}", fmt.Sprintf(call, args...))
	}
	switch t.Kind {
	case schema.String:
		if len(t.Enum) > 0 {
			quoted := make([]string, len(t.Enum))
			for i, e := range t.Enum {
				quoted[i] = strconv.Quote(e)
			}
			f.P("	switch %s {\n	case %s:\n	default:\n		return refuse(%s, \"enum\", %q)\n	}", expr, strings.Join(quoted, ", "), path, "must be one of "+strings.Join(t.Enum, ", "))
			return
		}
		g.length(f, t, expr, path)
		if t.Pattern != "" {
			check("checkPattern(%s, pattern%d, %q, %s)", expr, g.pattern(t.Pattern), t.Pattern, path)
		}
	case schema.Int:
		v := expr
		if t.Small() {
			v = "int64(" + expr + ")"
		}
		if t.Minimum != nil {
			check("checkMin(%s, %d, %s)", v, *t.Minimum, path)
		}
		if t.Maximum != nil {
			check("checkMax(%s, %d, %s)", v, *t.Maximum, path)
		}
	case schema.Number:
		check("checkFinite(%s, %s)", expr, path)
		if t.Minimum != nil {
			op, words := "<", "must be at least "
			if t.Exclusive {
				op, words = "<=", "must be above "
			}
			f.P("	if %s %s %d {\n		return refuse(%s, \"minimum\", %q)\n	}", expr, op, *t.Minimum, path, words+strconv.FormatInt(*t.Minimum, 10))
		}
		if t.Maximum != nil {
			f.P("	if %s > %d {\n		return refuse(%s, \"maximum\", \"must be at most %d\")\n	}", expr, *t.Maximum, path, *t.Maximum)
		}
	case schema.IntOrString:
		var str, num gocode.File
		g.length(&str, t, expr+".Str", path)
		if t.Minimum != nil {
			num.P("	if inv := checkMin(%s.Int, %d, %s); inv != nil {\n		return inv\n	}", expr, *t.Minimum, path)
		}
		if t.Maximum != nil {
			num.P("	if inv := checkMax(%s.Int, %d, %s); inv != nil {\n		return inv\n	}", expr, *t.Maximum, path)
		}
		if !str.Empty() {
			f.P("	if %s.IsString {\n%s	}", expr, bodyOf(&str))
		}
		if !num.Empty() {
			f.P("	if !%s.IsString {\n%s	}", expr, bodyOf(&num))
		}
	case schema.Raw:
		f.P("	if raw {\n		if inv := checkRawSyntax(%s, %s); inv != nil {\n			return inv\n		}\n	}", expr, path)
		hi := int64(-1)
		if t.MaxProperties != nil {
			hi = *t.MaxProperties
		}
		if t.Admit != schema.AdmitAny || hi >= 0 {
			check("checkRaw(%s, %s, %d, %s)", expr, admitExpr(t.Admit), hi, path)
		}
	}
}

func (g *opGen) length(f *gocode.File, t *schema.Type, expr, path string) {
	lo, hi := int64(0), int64(-1)
	if t.MinLength != nil {
		lo = *t.MinLength
	}
	if t.MaxLength != nil {
		hi = *t.MaxLength
	}
	if lo > 0 || hi >= 0 {
		f.P("	if inv := checkLength(%s, %d, %d, %s); inv != nil {\n		return inv\n	}", expr, lo, hi, path)
	}
}

func admitExpr(a schema.Admit) string {
	if a == schema.AdmitAny {
		return "kindAny"
	}
	var out []string
	for _, k := range []struct {
		bit  schema.Admit
		name string
	}{{schema.AdmitString, "kindString"}, {schema.AdmitNumber, "kindNumber"}, {schema.AdmitBool, "kindBool"}, {schema.AdmitNull, "kindNull"},
		{schema.AdmitArray, "kindArray"}, {schema.AdmitObject, "kindObject"}, {schema.AdmitScalarArray, "kindScalarArray"}} {
		if a&k.bit != 0 {
			out = append(out, k.name)
		}
	}
	return strings.Join(out, "|")
}

func (g *opGen) validateOneOf(f *gocode.File, s *goStruct) {
	f.P("	matched := 0")
	var words []string
	for _, names := range s.Type.OneOf {
		var conds []string
		for _, n := range names {
			m := s.field(n)
			if m.pointer() || m.Type.Kind == schema.Array || m.Type.Kind == schema.Map || m.Type.Kind == schema.Raw {
				conds = append(conds, "v."+m.Go+" != nil")
			}
		}
		if len(conds) == 0 {
			conds = []string{"true"}
		}
		f.P("	if %s {\n		matched++\n	}", strings.Join(conds, " && "))
		words = append(words, strings.Join(names, " with "))
	}
	f.P("	if matched != 1 {\n		return refuse(\"$\", \"oneOf\", %q)\n	}", "must have exactly one of "+strings.Join(words, ", "))
}

// pattern numbers a pattern.
func (g *opGen) pattern(p string) int {
	if i := slices.Index(g.pats, p); i >= 0 {
		return i
	}
	g.pats = append(g.pats, p)
	return len(g.pats) - 1
}

func (g *opGen) patterns() error {
	if len(g.pats) == 0 {
		return nil
	}
	f := &gocode.File{Package: "op", From: "the patterns of the schemas"}
	f.Import("regexp")
	f.P("var (")
	for i, p := range g.pats {
		f.P("	pattern%d = regexp.MustCompile(%s)", i, "`"+p+"`")
	}
	f.P(")")
	return g.out.Go("op/patterns.go", f)
}

// bodyOf takes what was written to a scratch file.
func bodyOf(f *gocode.File) string { return f.Body() }
