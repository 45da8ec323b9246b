package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// HTTP writes gen/bind/http: which operation stands at which route, through the interfaces of oapi-codegen, so that an
// operation of the OpenAPI document that has no row does not compile.
func HTTP(c *catalogue.Catalogue, out Files) error {
	if err := copyTemplate("http", "bind/http", out); err != nil {
		return err
	}
	// The reader of parameters goes along only when an operation has any.
	reader := out["bind/http/params.go"]
	delete(out, "bind/http/params.go")
	types, err := collect(c)
	if err != nil {
		return err
	}
	f := &gocode.File{Package: "bindhttp", From: "spec/operations.yaml and spec/openapi"}
	f.Import("net/http")
	f.Import(Module + "/gen/op")
	f.P("// Routes lists the operations that HTTP carries, in the catalogue's order.\nvar Routes = []Route{")
	areas := map[string][]*catalogue.Operation{}
	for _, o := range c.Operations {
		if !o.HTTP.Served() {
			continue
		}
		f.P("	{%q, op.%sOp},", o.HTTP.Method+" "+o.HTTP.Path, opName(o))
		areas[o.Area] = append(areas[o.Area], o)
	}
	f.P("}\n\nfunc mount(r *router, serve Serve) {")
	for _, area := range catalogue.Areas {
		if len(areas[area]) > 0 {
			f.Import(Module + "/gen/http/" + area)
			f.P("	%s.HandlerWithOptions(%sRoutes{serve: serve}, %s.StdHTTPServerOptions{BaseRouter: r})", area, area, area)
		}
	}
	f.P("}\n")
	for _, area := range catalogue.Areas {
		if len(areas[area]) == 0 {
			continue
		}
		f.P("// %sRoutes is the %s document's interface. Streams are routed apart and never reach it.", area, area)
		f.P("type %sRoutes struct {\n	%s.ServerInterface\n	serve Serve\n}\n", area, area)
		for _, o := range areas[area] {
			if o.Stream() {
				continue
			}
			op, d, err := c.HTTPOperation(o)
			if err != nil {
				return err
			}
			params, err := op.Parameters(d)
			if err != nil {
				return err
			}
			var args []string
			hasQuery := false
			for _, p := range params {
				if p.In == "path" {
					args = append(args, "_ "+httpType(p.Type))
				} else {
					hasQuery = true
				}
			}
			method := gocode.Exported(o.HTTP.OperationID)
			if hasQuery {
				args = append(args, "_ "+area+"."+method+"Params")
			}
			sig := ""
			for _, a := range args {
				sig += ", " + a
			}
			f.P("func (s %sRoutes) %s(w http.ResponseWriter, r *http.Request%s) { s.serve(w, r, op.%sOp) }\n", area, method, sig, opName(o))
		}
	}
	any, err := paramReaders(f, c, types)
	if err != nil {
		return err
	}
	if any {
		out["bind/http/params.go"] = reader
	}
	return out.Go("bind/http/routes.go", f)
}

func httpType(t *schema.Type) string {
	switch t.Kind {
	case schema.Int:
		if t.Format == "int64" {
			return "int64"
		}
		return "int"
	case schema.Bool:
		return "bool"
	}
	return "string"
}

// paramReaders writes the readers of operations whose arguments are parameters.
func paramReaders(f *gocode.File, c *catalogue.Catalogue, types *goTypes) (any bool, err error) {
	f.P("// Params reads the arguments of the operations that take them from path and query. The others read a JSON body, or\n// have no arguments.")
	f.P("var Params = map[*op.Descriptor]func(r *http.Request) (op.Request, *op.Invalid){")
	for _, o := range c.Operations {
		if o.Stream() || !o.HTTP.Served() {
			continue
		}
		oper, d, err := c.HTTPOperation(o)
		if err != nil {
			return any, err
		}
		params, err := oper.Parameters(d)
		if err != nil {
			return any, err
		}
		if len(params) == 0 {
			continue
		}
		if schema.Get(oper.Node, "requestBody") != nil {
			return any, fmt.Errorf("%s: parameters beside a JSON body have no lowering", o.ID)
		}
		any = true
		s := types.Request[o]
		var inPath, inQuery []string
		for _, p := range params {
			if p.In == "path" {
				inPath = append(inPath, strconv.Quote(p.Name))
			} else {
				inQuery = append(inQuery, strconv.Quote(p.Name))
			}
		}
		f.P("	op.%sOp: func(r *http.Request) (op.Request, *op.Invalid) {", opName(o))
		f.P("		p := readParameters(r, []string{%s}, []string{%s})", strings.Join(inPath, ", "), strings.Join(inQuery, ", "))
		f.P("		v := &op.%s{}", s.Name)
		for _, p := range params {
			m := s.field(p.Name)
			reader := ""
			switch {
			case m.Type.Kind == schema.String:
				reader = "str"
			case m.Type.Small():
				reader = "integer32"
			case m.Type.Kind == schema.Int:
				reader = "integer"
			case m.Type.Kind == schema.Bool:
				reader = "boolean"
			default:
				return any, fmt.Errorf("%s: a parameter of type %s has no lowering", o.ID, m.Type.Kind)
			}
			if m.pointer() {
				f.P("		v.%s = p.%s(%q)", m.Go, reader, p.Name)
			} else {
				f.P("		v.%s = need(p, %q, p.%s(%q))", m.Go, p.Name, reader, p.Name)
			}
		}
		f.P("		if p.inv != nil {\n			return nil, p.inv\n		}\n		if inv := v.Validate(); inv != nil {\n			return nil, inv\n		}\n		return v, nil\n	},")
	}
	f.P("}")
	return any, nil
}
