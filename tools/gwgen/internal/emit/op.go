package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// opGen writes gen/op.
type opGen struct {
	cat   *catalogue.Catalogue
	types *goTypes
	out   Files
	pats  []string
}

// Op writes gen/op: the neutral form of every operation.
func Op(c *catalogue.Catalogue, out Files) error {
	types, err := collect(c)
	if err != nil {
		return err
	}
	g := &opGen{cat: c, types: types, out: out}
	if err := copyRuntime("op", out); err != nil {
		return err
	}
	for _, o := range c.Operations {
		if o.Stream() {
			continue
		}
		f := &gocode.File{Package: "op", From: sources(o)}
		f.Import("context")
		g.structs(f, types.Request[o])
		g.structs(f, types.Result[o])
		g.decodeEntry(f, types.Request[o])
		g.decodeEntry(f, types.Result[o])
		name := opName(o)
		f.P("func invoke%s(ctx context.Context, api *API, req Request) (Result, error) {", name)
		f.P("	r, err := api.%s.%s(ctx, req.(*%sRequest))", gocode.Exported(o.Area), gocode.Exported(o.Verb), name)
		f.P("	if err != nil {\n		return nil, err\n	}\n	return r, nil\n}")
		if err := out.Go("op/"+o.Area+"_"+o.Verb+".go", f); err != nil {
			return err
		}
	}
	for _, s := range types.Shared {
		f := &gocode.File{Package: "op", From: "a definition that several operations may share"}
		g.structs(f, s)
		if err := out.Go("op/shared_"+strings.ToLower(s.Name)+".go", f); err != nil {
			return err
		}
	}
	for _, step := range []func() error{g.descriptors, g.areas, g.reasons, g.limits, g.patterns} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func sources(o *catalogue.Operation) string {
	s := "spec/" + o.Native
	if o.Result != "" {
		s += " and spec/" + o.Result
	}
	return s
}

// structs writes a type with its methods.
func (g *opGen) structs(f *gocode.File, s *goStruct) {
	switch {
	case s.Op != nil && s.Result:
		f.Comment(fmt.Sprintf("%s is the success object of %s. %s", s.Name, s.Op.ID, s.Doc))
	case s.Op != nil:
		f.Comment(fmt.Sprintf("%s holds the arguments of %s.", s.Name, s.Op.ID))
	default:
		f.Comment(fmt.Sprintf("%s: %s", s.Name, orElse(s.Doc, "part of several messages.")))
	}
	f.P("type %s struct {", s.Name)
	if tag := objectTag(s.Type); tag != "" {
		f.P("_ struct{} `%s`", tag)
	}
	for _, m := range s.structFields() {
		if m.Doc != "" {
			f.Comment(m.Doc)
		}
		if n := fieldNote(m); n != "" {
			f.Comment(n)
		}
		f.P("%s %s `%s`", m.Go, m.goType(), fieldTag(m))
	}
	f.P("}\n")
	g.append(f, s)
	g.validate(f, s)
	g.decode(f, s)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func fieldNote(m goField) string {
	switch {
	case m.AbsentWhen != "" && m.Type.Nullable:
		return "nil is written as null; left out when " + gocode.Exported(m.AbsentWhen) + "."
	case m.AbsentWhen != "":
		return "Left out when " + gocode.Exported(m.AbsentWhen) + "."
	case m.Required && m.Type.Nullable:
		return "nil is written as null."
	}
	return ""
}

// append writes AppendJSON.
func (g *opGen) append(f *gocode.File, s *goStruct) {
	f.P("// AppendJSON writes the object compactly, members sorted by name.")
	f.P("func (v *%s) AppendJSON(dst []byte) []byte {", s.Name)
	fields := slices.Clone(s.fields)
	slices.SortFunc(fields, func(a, b goField) int { return strings.Compare(a.Name, b.Name) })
	if len(fields) == 0 {
		f.P("	return append(dst, '{', '}')\n}\n")
		return
	}
	f.P("	start := len(dst)")
	for _, m := range fields {
		g.appendField(f, m)
	}
	f.P("	return closeObject(dst, start)\n}\n")
}

func (g *opGen) appendField(f *gocode.File, m goField) {
	key := "," + strconv.Quote(m.Name) + ":"
	t := m.Type
	if m.Go == "" {
		f.P("	dst = append(dst, `%s%s`...)", key, t.Const)
		return
	}
	if t.Const != nil {
		f.P("	if v.%s {\n		dst = append(dst, `%strue`...)\n	}", m.Go, key)
		return
	}
	expr := "v." + m.Go
	if m.pointer() && t.Kind != schema.Object && t.Kind != schema.IntOrString {
		expr = "*" + expr
	}
	write := func() { g.appendValue(f, m, key, expr) }
	canBeNil := m.pointer() || t.Kind == schema.Array || t.Kind == schema.Map || t.Kind == schema.Raw
	if m.AbsentWhen != "" {
		f.P("	if !v.%s {", gocode.Exported(m.AbsentWhen))
		defer f.P("	}")
	}
	present := m.Required || m.AbsentWhen != ""
	switch {
	case !canBeNil:
		write()
	case present && !t.Nullable:
		write() // nil slices are written as empty
	case present:
		f.P("	if v.%s != nil {", m.Go)
		write()
		f.P("	} else {\n		dst = append(dst, `%snull`...)\n	}", key)
	default:
		f.P("	if v.%s != nil {", m.Go)
		write()
		f.P("	}")
	}
}

func (g *opGen) appendValue(f *gocode.File, m goField, key, expr string) {
	switch m.Type.Kind {
	case schema.Array:
		f.P("	dst = append(dst, `%s`...)", key)
		f.P("	{\n		from := len(dst)")
		f.P("		for i := range %s {\n			dst = append(dst, ',')", expr)
		f.P("			%s", appendCall(m.Type.Elem, "dst", expr+"[i]"))
		f.P("		}\n		dst = closeArray(dst, from)\n	}")
	case schema.Map:
		f.P("	dst = append(dst, `%s`...)", key)
		f.P("	{\n		from := len(dst)")
		f.P("		for _, k := range sortedKeys(%s) {\n			dst = append(appendString(append(dst, ','), k), ':')", expr)
		if m.Type.Elem.Kind == schema.Object {
			f.P("			e := %s[k]\n			dst = e.AppendJSON(dst)", expr)
		} else {
			f.P("			%s", appendCall(m.Type.Elem, "dst", expr+"[k]"))
		}
		f.P("		}\n		dst = closeObject(dst, from)\n	}")
	default:
		f.P("	%s", appendCall(m.Type, "append(dst, `"+key+"`...)", expr))
	}
}

func appendCall(t *schema.Type, dst, expr string) string {
	switch t.Kind {
	case schema.String:
		return fmt.Sprintf("dst = appendString(%s, %s)", dst, expr)
	case schema.Int:
		if t.Small() {
			return fmt.Sprintf("dst = appendInt(%s, int64(%s))", dst, expr)
		}
		return fmt.Sprintf("dst = appendInt(%s, %s)", dst, expr)
	case schema.Number:
		return fmt.Sprintf("dst = appendFloat(%s, %s)", dst, expr)
	case schema.Bool:
		return fmt.Sprintf("dst = appendBool(%s, %s)", dst, expr)
	case schema.Raw:
		return fmt.Sprintf("dst = appendRaw(%s, %s)", dst, expr)
	case schema.IntOrString:
		if strings.HasSuffix(expr, "]") {
			expr = "&" + expr
		}
		return fmt.Sprintf("dst = appendIntOrString(%s, %s)", dst, expr)
	case schema.Object:
		return fmt.Sprintf("dst = %s.AppendJSON(%s)", expr, dst)
	}
	panic("cannot write " + t.Kind.String())
}

// decode writes the strict decoder of a type.
func (g *opGen) decode(f *gocode.File, s *goStruct) {
	memory := g.memory(s)
	low := lowerFirst(s.Name)
	if memory {
		f.P("// %sMemory is one allocation for a request and what its pointers point at.", low)
		f.P("type %sMemory struct {\n	request %s", low, s.Name)
		for _, m := range s.structFields() {
			if m.scalarPointer() {
				f.P("	%s %s", lowerFirst(m.Go), m.value())
			}
		}
		f.P("}\n")
		f.P("func (v *%s) decode(s *scanner, mem *%sMemory) {", s.Name, low)
	} else {
		f.P("func (v *%s) decode(s *scanner) {", s.Name)
	}
	f.P("	if !s.object() {\n		return\n	}")
	unknown := "s.unknown()"
	if s.Type.Open {
		f.P("	var more names")
		unknown = "s.ignore(&more)"
	}
	if len(s.fields) == 0 {
		f.P("	first := true\n	for s.member(&first) {\n		%s\n	}\n}\n", unknown)
		return
	}
	f.P("	var seen uint64\n	first := true")
	f.P("	for s.member(&first) {\n		switch string(s.key) {")
	for _, m := range s.fields {
		f.P("		case %q:\n			s.enter(&seen, %d, %q)", m.Name, m.Bit, m.Name)
		g.decodeField(f, m, memory)
	}
	f.P("		default:\n			%s\n			continue\n		}\n		s.pop()\n	}", unknown)
	var want, late uint64
	var when string
	for _, m := range s.fields {
		if m.Required {
			want |= 1 << m.Bit
		}
		if m.AbsentWhen != "" {
			late |= 1 << m.Bit
			when = gocode.Exported(m.AbsentWhen)
		}
	}
	if late != 0 {
		f.P("	want := uint64(%#x)", want)
		f.P("	if v.%s {\n		s.forbid(seen, %#x, members%s[:], %q)", when, late, s.Name, "must be left out when "+snakeOf(s, when)+" is true")
		f.P("	} else {\n		want |= %#x\n	}", late)
		f.P("	s.require(seen, want, members%s[:])\n}\n", s.Name)
	} else if want != 0 {
		f.P("	s.require(seen, %#x, members%s[:])\n}\n", want, s.Name)
	} else {
		f.P("}\n")
	}
	if want|late != 0 {
		var names []string
		for _, m := range s.fields {
			names = append(names, strconv.Quote(m.Name))
		}
		f.P("var members%s = [...]string{%s}\n", s.Name, strings.Join(names, ", "))
	}
}

func snakeOf(s *goStruct, goName string) string {
	for _, m := range s.fields {
		if m.Go == goName {
			return m.Name
		}
	}
	return goName
}

func lowerFirst(s string) string {
	if strings.ToUpper(s) == s {
		return strings.ToLower(s)
	}
	i := 1
	for i < len(s) && s[i] >= 'A' && s[i] <= 'Z' && i+1 < len(s) && s[i+1] >= 'A' && s[i+1] <= 'Z' {
		i++
	}
	out := strings.ToLower(s[:i]) + s[i:]
	if out == "type" || out == "range" || out == "request" {
		return out + "_"
	}
	return out
}

// memory says whether a type's pointers are decoded into one block.
func (g *opGen) memory(s *goStruct) bool {
	if s.Op == nil || s.Result {
		return false
	}
	for _, m := range s.structFields() {
		if m.scalarPointer() {
			return true
		}
	}
	return false
}

func (g *opGen) decodeField(f *gocode.File, m goField, memory bool) {
	t := m.Type
	target := "v." + m.Go
	if t.Nullable && !operand(t) {
		f.P("			if !s.null() {")
		defer f.P("			}")
	}
	if t.Const != nil {
		switch t.Kind {
		case schema.String:
			f.P("			s.constString(%q)", t.Const.Str)
		case schema.Bool:
			f.P("			s.constBool(%v)", t.Const.Bool)
		case schema.Int:
			f.P("			s.constInt(%d)", t.Const.Int)
		}
		if m.Go != "" {
			f.P("			%s = true", target)
		}
		return
	}
	switch t.Kind {
	case schema.Object:
		if m.pointer() {
			f.P("			%s = new(%s)", target, m.Elem.Name)
		}
		f.P("			%s.decode(s)", target)
	case schema.Array:
		f.P("			if s.array() {\n				%s = %s{}\n				for s.item() {", target, m.value())
		if t.Elem.Kind == schema.Object {
			f.P("					%s = append(%s, %s{})\n					%s[len(%s)-1].decode(s)", target, target, m.Elem.Name, target, target)
		} else {
			f.P("					%s = append(%s, %s)", target, target, readCall(t.Elem))
		}
		f.P("				}\n			}")
	case schema.Map:
		f.P("			if s.object() {\n				%s = %s{}\n				first := true\n				for s.member(&first) {\n					k := s.mapKey(%s)", target, m.value(), "has("+target+", s.key)")
		if t.Elem.Kind == schema.Object {
			f.P("					var e %s\n					e.decode(s)\n					%s[k] = e", m.Elem.Name, target)
		} else {
			f.P("					%s[k] = %s", target, readCall(t.Elem))
		}
		f.P("					s.pop()\n				}\n			}")
	default:
		switch {
		case !m.pointer():
			f.P("			%s = %s", target, readCall(t))
		case memory && m.scalarPointer():
			f.P("			mem.%s = %s\n			%s = &mem.%s", lowerFirst(m.Go), readCall(t), target, lowerFirst(m.Go))
		default:
			f.P("			%s = ptr(%s)", target, readCall(t))
		}
	}
}

// operand says whether values of t are what something is compared with: scalars
// and lists of them. Null is one of those, and not the same as none.
func operand(t *schema.Type) bool {
	return t.Kind == schema.Raw && t.Admit&schema.AdmitScalarArray != 0
}

func readCall(t *schema.Type) string {
	switch t.Kind {
	case schema.String:
		return "s.str()"
	case schema.Int:
		if t.Small() {
			lo := int64(-1 << 31)
			if t.Minimum != nil {
				lo = *t.Minimum
			}
			return fmt.Sprintf("s.integer32(%d, %d)", lo, *t.Maximum)
		}
		return "s.integer()"
	case schema.Number:
		return "s.float()"
	case schema.Bool:
		return "s.boolean()"
	case schema.Raw:
		return "s.raw()"
	case schema.IntOrString:
		return "s.intOrString()"
	}
	panic("cannot read " + t.Kind.String())
}

func (g *opGen) decodeEntry(f *gocode.File, s *goStruct) {
	iface := "Request"
	if s.Result {
		iface = "Result"
	}
	f.P("func decode%s(b []byte) (%s, *Invalid) {\n	s := scanner{b: b}\n	s.share()", s.Name, iface)
	if g.memory(s) {
		f.P("	mem := new(%sMemory)\n	v := &mem.request\n	v.decode(&s, mem)", lowerFirst(s.Name))
	} else {
		f.P("	v := new(%s)\n	v.decode(&s)", s.Name)
	}
	f.P("	s.end()\n	if s.err != nil {\n		return nil, s.err\n	}")
	f.P("	if inv := v.validate(false); inv != nil {\n		return nil, inv\n	}\n	return v, nil\n}\n")
}
