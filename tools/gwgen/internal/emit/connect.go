package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/protosrc"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Module is the import path of the repository.
const Module = "github.com/sawhorse-dev/sawhorse"

// connectGen writes gen/bind/connect.
type connectGen struct {
	types *goTypes
	pb    *protosrc.Source
	done  map[string]bool // type name and message name
}

// Connect writes gen/bind/connect: protobuf messages to and from the neutral form, and the proto3 JSON mapping without
// reflection.
func Connect(c *catalogue.Catalogue, pb *protosrc.Source, out Files) error {
	types, err := collect(c)
	if err != nil {
		return err
	}
	g := &connectGen{types: types, pb: pb, done: map[string]bool{}}
	if err := copyTemplate("connect", "bind/connect", out); err != nil {
		return err
	}
	for _, name := range []string{"scan.go", "free.go", "append.go", "paths.go"} {
		if err := copyFile("op", name, "bind/connect", "bindconnect", out); err != nil {
			return err
		}
	}
	table := &gocode.File{Package: "bindconnect", From: "spec/operations.yaml and spec/proto"}
	table.Import(Module + "/gen/op")
	table.Import("google.golang.org/protobuf/proto")
	table.P("// bindings says, by operation, how its messages are read and written. Operations that Connect does not carry have none.")
	table.P("var bindings = [...]*binding{")
	shared := &sharedFiles{out: out, list: map[string]*gocode.File{}}
	for _, o := range c.Operations {
		if o.Stream() || !o.Connect.Served() {
			table.P("	nil, // %s", o.ID)
			continue
		}
		m := pb.Method(o.Connect.RPC)
		f := &gocode.File{Package: "bindconnect", From: "spec/proto (" + o.Connect.RPC + ") and the schemas of " + o.ID}
		f.Import(Module + "/gen/op")
		req, res := types.Request[o], types.Result[o]
		g.message(f, shared, req, m.Input(), true)
		g.message(f, shared, res, m.Output(), false)
		if err := out.Go("bind/connect/"+o.Area+"_"+o.Verb+".go", f); err != nil {
			return err
		}
		in, out := g.goType(table, m.Input()), g.goType(table, m.Output())
		svcVar := g.fileVar(table, m.ParentFile())
		table.P("	{ // %s", o.ID)
		table.P("		op: op.%sOp,", opName(o))
		table.P("		method: %s.Services().ByName(%q).Methods().ByName(%q),", svcVar, m.Parent().Name(), m.Name())
		table.P("		newRequest: func() proto.Message { return new(%s) },", in)
		table.P("		newResponse: func() proto.Message { return new(%s) },", out)
		table.P("		decodeRequest: func(s *scanner) op.Request {\n			v := new(op.%s)\n			decode%s(s, v)\n			return v\n		},", req.Name, req.Name)
		table.P("		requestFrom: func(m proto.Message) (op.Request, *Invalid) {\n			v := new(op.%s)\n			return v, %sFrom(m.(*%s), v)\n		},", req.Name, lowerFirst(req.Name), in)
		table.P("		requestTo: func(r op.Request) proto.Message { return %sTo(r.(*op.%s)) },", lowerFirst(req.Name), req.Name)
		table.P("		resultFrom: func(m proto.Message) (op.Result, *Invalid) {\n			v := new(op.%s)\n			return v, %sFrom(m.(*%s), v)\n		},", res.Name, lowerFirst(res.Name), out)
		table.P("		resultTo: func(r op.Result) proto.Message { return %sTo(r.(*op.%s)) },", lowerFirst(res.Name), res.Name)
		table.P("		appendResult: func(dst []byte, r op.Result) []byte { return append%s(dst, r.(*op.%s)) },", res.Name, res.Name)
		table.P("	},")
	}
	table.P("}")
	if err := shared.flush(); err != nil {
		return err
	}
	return out.Go("bind/connect/table.go", table)
}

// sharedFiles holds the converters of types that several operations share, one file a type.
type sharedFiles struct {
	out  Files
	list map[string]*gocode.File
}

func (s *sharedFiles) file(name string) *gocode.File {
	name = "bind/connect/shared_" + strings.ToLower(name) + ".go"
	f := s.list[name]
	if f == nil {
		f = &gocode.File{Package: "bindconnect", From: "a definition that several operations may share"}
		f.Import(Module + "/gen/op")
		s.list[name] = f
	}
	return f
}

func (s *sharedFiles) flush() error {
	for name, f := range s.list {
		if err := s.out.Go(name, f); err != nil {
			return err
		}
	}
	return nil
}

func (g *connectGen) goType(f *gocode.File, m protoreflect.MessageDescriptor) string {
	path, name := g.pb.GoPackage(m.ParentFile())
	f.Import(path, name)
	return name + "." + protosrc.GoName(m.Name())
}

func (g *connectGen) fileVar(f *gocode.File, d protoreflect.FileDescriptor) string {
	path, name := g.pb.GoPackage(d)
	f.Import(path, name)
	return name + ".File_" + strings.NewReplacer("/", "_", ".", "_").Replace(d.Path())
}

// pbField is a member with its protobuf field.
type pbField struct {
	goField
	fd protoreflect.FieldDescriptor
	pb string // Go name
}

// protoName is the member's name in protobuf: free-form JSON carries a suffix.
func protoName(f *schema.Field) string {
	t := f.Type
	if t.Kind == schema.Raw || t.Kind == schema.Array && t.Elem.Kind == schema.Raw {
		return f.Name + "_json"
	}
	return f.Name
}

func (g *connectGen) fields(s *goStruct, m protoreflect.MessageDescriptor) []pbField {
	byName := map[string]goField{}
	for _, f := range s.fields {
		byName[protoName(f.Field)] = f
	}
	var out []pbField
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		f, ok := byName[string(fd.Name())]
		if !ok {
			continue // refused by the parity check, unless a deviation permits it
		}
		out = append(out, pbField{f, fd, protosrc.GoName(fd.Name())})
	}
	return out
}

// message writes what a type needs: from and to its message, and one way of the JSON mapping.
func (g *connectGen) message(f *gocode.File, shared *sharedFiles, s *goStruct, m protoreflect.MessageDescriptor, request bool) {
	key := s.Name + " " + string(m.FullName())
	if g.done[key+direction(request)] {
		return
	}
	g.done[key+direction(request)] = true
	fields := g.fields(s, m)
	for _, x := range fields {
		if x.Elem != nil {
			g.message(shared.file(x.Elem.Name), shared, x.Elem, x.fd.Message(), request)
		}
	}
	if !g.done[key] {
		g.done[key] = true
		g.from(f, s, m, fields)
		g.to(f, s, m, fields)
	}
	if request {
		g.decode(f, s, fields)
	} else {
		g.append(f, s, fields)
	}
}

func direction(request bool) string {
	if request {
		return " in"
	}
	return " out"
}

func (g *connectGen) from(f *gocode.File, s *goStruct, m protoreflect.MessageDescriptor, fields []pbField) {
	pb := g.goType(f, m)
	f.P("func %sFrom(m *%s, v *op.%s) *Invalid {", lowerFirst(s.Name), pb, s.Name)
	f.P("	if inv := unknownFields(m); inv != nil {\n		return inv\n	}")
	for _, x := range fields {
		t := x.Type
		get := "m." + x.pb
		path := strconv.Quote("$." + string(x.fd.Name()))
		if x.Go == "" {
			f.P("	if %s != %s {\n		return refuse(%s, \"const\", %q)\n	}", get, t.Const, path, "must be "+strings.Trim(t.Const.String(), `"`))
			continue
		}
		target := "v." + x.Go
		if t.Const != nil {
			f.P("	%s = m.Get%s()", target, x.pb)
			continue
		}
		presence := x.fd.HasPresence()
		switch t.Kind {
		case schema.IntOrString:
			if x.pointer() {
				f.P("	if %s != nil {\n		%s = intOrStringFrom(%s)\n	}", get, target, get)
			} else {
				f.P("	if %s == nil {\n		return refuse(%s, \"missing\", \"is required\")\n	}\n	%s = *intOrStringFrom(%s)", get, path, target, get)
			}
		case schema.Object:
			call := func(to string) {
				f.P("		if inv := %sFrom(%s, %s); inv != nil {\n			return under(inv, %s)\n		}", lowerFirst(x.Elem.Name), get, to, path)
			}
			if x.pointer() {
				f.P("	if %s != nil {\n		%s = new(op.%s)", get, target, x.Elem.Name)
				call(target)
				f.P("	}")
			} else {
				f.P("	if %s == nil {\n		return refuse(%s, \"missing\", \"is required\")\n	}", get, path)
				call("&" + target)
			}
		case schema.Array:
			g.listFrom(f, s, x, get, target, path)
		case schema.Map:
			f.P("	%s = %s", target, get)
			if !x.Optional() {
				f.P("	if %s == nil {\n		%s = map[string]%s{}\n	}", target, target, goValue(t.Elem, x.Elem))
			}
		case schema.Raw:
			switch {
			case presence:
				f.P("	if %s != nil {\n		%s = RawJSON(*%s)\n	}", get, target, get)
			default:
				f.P("	if %s != \"\" {\n		%s = RawJSON(%s)\n	}", get, target, get)
			}
			if x.Type.Nullable && !operand(x.Type) {
				f.P("	if string(%s) == \"null\" {\n		%s = nil\n	}", target, target)
			}
		default:
			g.scalarFrom(f, x, get, target, path, presence)
		}
	}
	f.P("	return nil\n}\n")
}

func (g *connectGen) scalarFrom(f *gocode.File, x pbField, get, target, path string, presence bool) {
	conv := func(e string) string {
		if x.Type.Kind == schema.Int && x.fd.Kind() == protoreflect.Uint64Kind {
			return "int64(" + e + ")"
		}
		return e
	}
	switch {
	case x.pointer() && presence:
		if conv("") != "" {
			f.P("	if %s != nil {\n		%s = ptr(%s)\n	}", get, target, conv("*"+get))
		} else {
			f.P("	%s = %s", target, get)
		}
	case x.pointer():
		f.P("	%s = ptr(%s)", target, conv(get))
	case presence && x.AbsentWhen != "":
		f.P("	%s = %s", target, conv("m.Get"+x.pb+"()"))
	case presence:
		f.P("	if %s == nil {\n		return refuse(%s, \"missing\", \"is required\")\n	}\n	%s = %s", get, path, target, conv("*"+get))
	default:
		f.P("	%s = %s", target, conv(get))
	}
}

func (g *connectGen) listFrom(f *gocode.File, s *goStruct, x pbField, get, target, path string) {
	elem := x.Type.Elem
	guard := "len(" + get + ") > 0"
	switch {
	case x.AbsentWhen != "":
		guard = "!m.Get" + protosrc.GoName(protoreflect.Name(x.AbsentWhen)) + "()"
	case !x.Optional():
		guard = ""
	}
	if guard != "" {
		f.P("	if %s {", guard)
		defer f.P("	}")
	}
	f.P("	%s = make([]%s, len(%s))", target, qualified(elem, x.Elem), get)
	switch elem.Kind {
	case schema.Object:
		f.P("	for i, e := range %s {\n		if e == nil {\n			return refuse(itemPath(%s, i), \"missing\", \"is required\")\n		}", get, path)
		f.P("		if inv := %sFrom(e, &%s[i]); inv != nil {\n			return under(inv, itemPath(%s, i))\n		}\n	}", lowerFirst(x.Elem.Name), target, path)
	case schema.Raw:
		f.P("	for i, e := range %s {\n		%s[i] = RawJSON(e)\n	}", get, target)
	case schema.IntOrString:
		f.P("	for i, e := range %s {\n		%s[i] = *intOrStringFrom(e)\n	}", get, target)
	default:
		f.P("	copy(%s, %s)", target, get)
	}
}

func qualified(t *schema.Type, elem *goStruct) string {
	v := goValue(t, elem)
	switch t.Kind {
	case schema.Object:
		return "op." + v
	case schema.Raw:
		return "RawJSON"
	case schema.IntOrString:
		return "IntOrString"
	}
	return v
}

func (g *connectGen) to(f *gocode.File, s *goStruct, m protoreflect.MessageDescriptor, fields []pbField) {
	pb := g.goType(f, m)
	f.P("func %sTo(v *op.%s) *%s {\n	m := new(%s)", lowerFirst(s.Name), s.Name, pb, pb)
	for _, x := range fields {
		g.fieldTo(f, x)
	}
	f.P("	return m\n}\n")
}

func (g *connectGen) fieldTo(f *gocode.File, x pbField) {
	t := x.Type
	set := "m." + x.pb
	presence := x.fd.HasPresence()
	if x.Go == "" {
		f.P("	%s = %s", set, t.Const)
		return
	}
	from := "v." + x.Go
	if t.Const != nil {
		f.P("	if %s {\n		%s = ptr(true)\n	}", from, set)
		return
	}
	if x.AbsentWhen != "" {
		f.P("	if !v.%s {", gocode.Exported(x.AbsentWhen))
		defer f.P("	}")
	}
	switch t.Kind {
	case schema.IntOrString:
		if x.pointer() {
			f.P("	%s = intOrStringTo(%s)", set, from)
		} else {
			f.P("	%s = intOrStringTo(&%s)", set, from)
		}
	case schema.Object:
		if x.pointer() {
			f.P("	if %s != nil {\n		%s = %sTo(%s)\n	}", from, set, lowerFirst(x.Elem.Name), from)
		} else {
			f.P("	%s = %sTo(&%s)", set, lowerFirst(x.Elem.Name), from)
		}
	case schema.Array:
		elem := "string"
		if t.Elem.Kind == schema.Object || t.Elem.Kind == schema.IntOrString {
			elem = "*" + g.goType(f, x.fd.Message())
		} else if t.Elem.Kind != schema.Raw {
			elem = goValue(t.Elem, x.Elem)
		}
		f.P("	if len(%s) > 0 {\n		%s = make([]%s, len(%s))", from, set, elem, from)
		switch t.Elem.Kind {
		case schema.Object:
			f.P("		for i := range %s {\n			%s[i] = %sTo(&%s[i])\n		}", from, set, lowerFirst(x.Elem.Name), from)
		case schema.Raw:
			f.P("		for i := range %s {\n			%s[i] = string(%s[i])\n		}", from, set, from)
		case schema.IntOrString:
			f.P("		for i := range %s {\n			%s[i] = intOrStringTo(&%s[i])\n		}", from, set, from)
		default:
			f.P("		copy(%s, %s)", set, from)
		}
		f.P("	}")
	case schema.Map:
		f.P("	%s = %s", set, from)
	case schema.Raw:
		switch {
		case presence:
			f.P("	if %s != nil {\n		%s = ptr(string(%s))\n	}", from, set, from)
		case t.Nullable:
			f.P("	%s = \"null\"\n	if %s != nil {\n		%s = string(%s)\n	}", set, from, set, from)
		default:
			f.P("	%s = string(%s)", set, from)
		}
	default:
		uint := t.Kind == schema.Int && x.fd.Kind() == protoreflect.Uint64Kind
		conv := func(e string) string {
			if uint {
				return "uint64(" + e + ")"
			}
			return e
		}
		switch {
		case x.pointer() && presence && !uint:
			f.P("	%s = %s", set, from)
		case x.pointer() && presence:
			f.P("	if %s != nil {\n		%s = ptr(%s)\n	}", from, set, conv("*"+from))
		case presence:
			f.P("	%s = ptr(%s)", set, conv(from))
		default:
			f.P("	%s = %s", set, conv(from))
		}
	}
}

// decode writes the reader of the proto3 JSON mapping.
func (g *connectGen) decode(f *gocode.File, s *goStruct, fields []pbField) {
	f.P("func decode%s(s *scanner, v *op.%s) {\n	if !s.object() {\n		return\n	}", s.Name, s.Name)
	if len(fields) == 0 {
		f.P("	first := true\n	for s.member(&first) {\n		s.unknown()\n	}\n}\n")
		return
	}
	f.P("	var seen uint64\n	first := true\n	for s.member(&first) {\n		switch string(s.key) {")
	var want uint64
	var names []string
	for i, x := range fields {
		name := string(x.fd.Name())
		names = append(names, strconv.Quote(name))
		f.P("		case %q:\n			s.enter(&seen, %d, %q)\n			if !s.null() {", name, i, name)
		if x.fd.HasPresence() && !x.Optional() && x.AbsentWhen == "" {
			want |= 1 << i
		}
		g.decodeField(f, x)
		if want&(1<<i) != 0 {
			// null is absent, so it does not count as given.
			f.P("			} else {\n				seen &^= 1 << %d\n			}", i)
		} else {
			f.P("			}")
		}
	}
	f.P("		default:\n			s.unknown()\n			continue\n		}\n		s.pop()\n	}")
	for _, x := range fields {
		if x.Type.Kind == schema.Array && !x.Optional() || x.Type.Kind == schema.Array && x.AbsentWhen != "" {
			f.P("	if v.%s == nil {\n		v.%s = []%s{}\n	}", x.Go, x.Go, qualified(x.Type.Elem, x.Elem))
		}
	}
	if want != 0 {
		f.P("	s.require(seen, %#x, []string{%s})", want, strings.Join(names, ", "))
	}
	f.P("}\n")
}

func (g *connectGen) decodeField(f *gocode.File, x pbField) {
	t := x.Type
	target := "v." + x.Go
	if x.Go == "" {
		// A constant: read it and hold it to its value.
		switch t.Kind {
		case schema.String:
			f.P("			s.constString(%q)", t.Const.Str)
		case schema.Bool:
			f.P("			s.constBool(%v)", t.Const.Bool)
		}
		return
	}
	if t.Const != nil {
		f.P("			%s = s.boolean()", target)
		return
	}
	switch t.Kind {
	case schema.Object:
		if x.pointer() {
			f.P("			%s = new(op.%s)\n			decode%s(s, %s)", target, x.Elem.Name, x.Elem.Name, target)
		} else {
			f.P("			decode%s(s, &%s)", x.Elem.Name, target)
		}
	case schema.Array:
		f.P("			if s.array() {")
		if x.Optional() || x.AbsentWhen != "" {
			f.P("				%s = nil", target)
		}
		f.P("				for s.item() {")
		if t.Elem.Kind == schema.Object {
			f.P("					%s = append(%s, op.%s{})\n					decode%s(s, &%s[len(%s)-1])", target, target, x.Elem.Name, x.Elem.Name, target, target)
		} else {
			f.P("					%s = append(%s, %s)", target, target, jsonRead(t.Elem))
		}
		f.P("				}\n			}")
	case schema.Map:
		f.P("			if s.object() {\n				%s = map[string]%s{}\n				first := true\n				for s.member(&first) {\n					k := s.mapKey(has(%s, s.key))\n					%s[k] = %s\n					s.pop()\n				}\n			}", target, goValue(t.Elem, x.Elem), target, target, jsonRead(t.Elem))
	default:
		if x.pointer() {
			f.P("			%s = ptr(%s)", target, jsonRead(t))
		} else {
			f.P("			%s = %s", target, jsonRead(t))
		}
		if t.Kind == schema.Raw && t.Nullable && !operand(t) {
			f.P("			if string(%s) == \"null\" {\n				%s = nil\n			}", target, target)
		}
	}
}

func jsonRead(t *schema.Type) string {
	switch t.Kind {
	case schema.String:
		return "s.str()"
	case schema.Int:
		if t.Small() {
			lo := int64(-1 << 31)
			if t.Minimum != nil {
				lo = *t.Minimum
			}
			return fmt.Sprintf("s.integer32Text(%d, %d)", lo, *t.Maximum)
		}
		return "s.integer64Text()"
	case schema.Number:
		return "s.floatText()"
	case schema.Bool:
		return "s.boolean()"
	case schema.Raw:
		return "s.rawText()"
	case schema.IntOrString:
		return "s.intOrStringMessage()"
	}
	panic("no JSON mapping for " + t.Kind.String())
}

// append writes the writer of the proto3 JSON mapping, zero values present.
func (g *connectGen) append(f *gocode.File, s *goStruct, fields []pbField) {
	f.P("func append%s(dst []byte, v *op.%s) []byte {", s.Name, s.Name)
	if len(fields) == 0 {
		f.P("	return append(dst, '{', '}')\n}\n")
		return
	}
	f.P("	start := len(dst)")
	for _, x := range fields {
		g.appendField(f, x)
	}
	f.P("	return closeObject(dst, start)\n}\n")
}

func (g *connectGen) appendField(f *gocode.File, x pbField) {
	t := x.Type
	key := "`," + strconv.Quote(string(x.fd.Name())) + ":`"
	if x.Go == "" {
		f.P("	dst = append(dst, `,%q:%s`...)", x.fd.Name(), t.Const)
		return
	}
	from := "v." + x.Go
	if t.Const != nil {
		f.P("	if %s {\n		dst = append(dst, `,%q:true`...)\n	}", from, x.fd.Name())
		return
	}
	switch t.Kind {
	case schema.Array:
		f.P("	dst = append(dst, %s...)\n	{\n		from := len(dst)\n		for i := range %s {\n			dst = append(dst, ',')\n			%s\n		}\n		dst = closeArray(dst, from)\n	}", key, from, jsonWrite(t.Elem, x.Elem, "dst", from+"[i]"))
		return
	case schema.Map:
		f.P("	dst = append(dst, %s...)\n	{\n		from := len(dst)\n		for _, k := range sortedKeys(%s) {\n			dst = append(appendString(append(dst, ','), k), ':')\n			%s\n		}\n		dst = closeObject(dst, from)\n	}", key, from, jsonWrite(t.Elem, x.Elem, "dst", from+"[k]"))
		return
	}
	if x.AbsentWhen != "" {
		f.P("	if !v.%s {", gocode.Exported(x.AbsentWhen))
		defer f.P("	}")
	}
	guard := x.pointer() || t.Kind == schema.Raw && x.fd.HasPresence()
	expr := from
	if x.pointer() && t.Kind != schema.IntOrString && t.Kind != schema.Object {
		expr = "*" + from
	}
	if t.Kind == schema.Object && !x.pointer() || t.Kind == schema.IntOrString && !x.pointer() {
		expr = "&" + from
	}
	write := jsonWrite(t, x.Elem, "append(dst, "+key+"...)", expr)
	if guard {
		f.P("	if %s != nil {\n		%s\n	}", from, write)
	} else {
		f.P("	%s", write)
	}
}

func jsonWrite(t *schema.Type, elem *goStruct, dst, expr string) string {
	switch t.Kind {
	case schema.String:
		return fmt.Sprintf("dst = appendString(%s, %s)", dst, expr)
	case schema.Int:
		if t.Small() {
			return fmt.Sprintf("dst = appendInt(%s, int64(%s))", dst, expr)
		}
		return fmt.Sprintf("dst = appendIntText(%s, %s)", dst, expr)
	case schema.Number:
		return fmt.Sprintf("dst = appendFloat(%s, %s)", dst, expr)
	case schema.Bool:
		return fmt.Sprintf("dst = appendBool(%s, %s)", dst, expr)
	case schema.Raw:
		return fmt.Sprintf("dst = appendRawText(%s, %s)", dst, expr)
	case schema.IntOrString:
		if strings.HasSuffix(expr, "]") {
			expr = "&" + expr
		}
		return fmt.Sprintf("dst = appendIntOrStringMessage(%s, %s)", dst, expr)
	case schema.Object:
		if strings.HasSuffix(expr, "]") {
			expr = "&" + expr
		}
		return fmt.Sprintf("dst = append%s(%s, %s)", elem.Name, dst, expr)
	}
	panic("no JSON mapping for " + t.Kind.String())
}
