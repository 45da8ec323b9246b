package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
)

func (g *opGen) descriptors() error {
	f := &gocode.File{Package: "op", From: "spec/operations.yaml"}
	f.P("// The descriptors, one an operation.\nvar (")
	for i, o := range g.cat.Operations {
		f.P("	// %sOp is %s.", opName(o), o.ID)
		f.P("	%sOp = &Descriptor{", opName(o))
		f.P("		ID: %q, Area: Area%s, Name: %q, Title: %q,", o.ID, gocode.Exported(o.Area), o.Verb, o.Title)
		f.P("		Description: %q,", strings.TrimSpace(o.Description))
		f.P("		Effect: %s, Built: %v,", gocode.Exported(o.Effect), o.IsBuilt())
		if o.HTTP.Served() {
			f.P("		HTTPMethod: %q, HTTPPath: %q,", o.HTTP.Method, o.HTTP.Path)
		}
		if o.Connect.Served() {
			f.P("		ConnectProcedure: %q,", "/"+o.Connect.RPC)
		}
		if o.MCP.Served() {
			f.P("		MCPTool: %q,", o.MCP.Tool)
		}
		if o.WS.Served() {
			f.P("		WSCommand: %q,", o.WS.Command)
		}
		a := o.Annotations
		f.P("		ReadOnly: %v, Destructive: %v, Idempotent: %v, OpenWorld: %v,", a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld)
		if len(o.Reasons) > 0 {
			var names []string
			for _, r := range o.Reasons {
				names = append(names, reasonIdent(r))
			}
			f.P("		Reasons: []Reason{%s},", strings.Join(names, ", "))
		}
		if !o.Stream() {
			n := opName(o)
			f.P("		Decode: decode%sRequest, DecodeResult: decode%sResult,", n, n)
			f.P("		New: func() Request { return new(%sRequest) },", n)
			f.P("		Invoke: invoke%s,", n)
		}
		f.P("		Index: %d,\n	}", i)
	}
	f.P(")\n")
	f.P("// Descriptors lists every operation in the catalogue's order.\nvar Descriptors = []*Descriptor{")
	for _, o := range g.cat.Operations {
		f.P("	%sOp,", opName(o))
	}
	f.P("}\n")
	lookup := func(fn, doc string, key func(o *catalogue.Operation) string) {
		f.P("// %s %s\nfunc %s(name string) *Descriptor {\n	switch name {", fn, doc, fn)
		for _, o := range g.cat.Operations {
			if k := key(o); k != "" {
				f.P("	case %q:\n		return %sOp", k, opName(o))
			}
		}
		f.P("	}\n	return nil\n}\n")
	}
	lookup("ByID", "finds an operation by its id; nil when there is none.", func(o *catalogue.Operation) string { return o.ID })
	lookup("ByTool", "finds an operation by its MCP tool name; nil when there is none.", func(o *catalogue.Operation) string {
		if o.MCP.Served() {
			return o.MCP.Tool
		}
		return ""
	})
	lookup("ByCommand", "finds an operation by its WebSocket command; nil when there is none.", func(o *catalogue.Operation) string {
		if o.WS.Served() {
			return o.WS.Command
		}
		return ""
	})
	return g.out.Go("op/descriptors.go", f)
}

func (g *opGen) areas() error {
	f := &gocode.File{Package: "op", From: "spec/operations.yaml",
		Doc: "Package op is the neutral heart of the gateway: for every operation a request and a result as plain Go structs, one strict decoder and validator that every JSON-carrying protocol uses, one canonical encoder, and a descriptor that says where the operation stands on each protocol. It knows no protocol and uses no reflection."}
	f.Import("context")
	for _, area := range catalogue.Areas {
		name := gocode.Exported(area)
		f.P("// %s is what the %s area must do. A method returns when its effect is durable, and its error carries a reason.", name, area)
		f.P("type %s interface {", name)
		for _, o := range g.cat.Operations {
			if o.Area != area || o.Stream() {
				continue
			}
			f.Comment(fmt.Sprintf("%s serves %s. %s", gocode.Exported(o.Verb), o.ID, strings.TrimSpace(o.Description)))
			f.P("	%s(ctx context.Context, req *%sRequest) (*%sResult, error)", gocode.Exported(o.Verb), opName(o), opName(o))
		}
		f.P("}\n")
	}
	return g.out.Go("op/op.go", f)
}

func reasonIdent(reason string) string {
	rest := reason
	prefix := ""
	for _, p := range [][2]string{{"WB_", "WB"}, {"JOB_", "Job"}, {"OP_", "Op"}, {"ST_", "St"}} {
		if r, ok := strings.CutPrefix(reason, p[0]); ok {
			prefix, rest = p[1], r
			break
		}
	}
	return "Reason" + prefix + gocode.Exported(rest)
}

func (g *opGen) reasons() error {
	f := &gocode.File{Package: "op", From: "spec/errors.yaml"}
	f.P("// The registered reasons.\nconst (")
	for _, r := range g.cat.Reasons {
		f.Comment(r.Text)
		f.P("	%s Reason = %q", reasonIdent(r.Name), r.Name)
	}
	f.P(")\n\nvar faces = map[Reason]Face{")
	for _, r := range g.cat.Reasons {
		var codes []string
		for _, a := range catalogue.Areas {
			codes = append(codes, strconv.Quote(r.Code[a]))
		}
		f.P("	%s: {HTTPStatus: %d, Connect: %q, Retryable: %v, Text: %q,", reasonIdent(r.Name), r.HTTP, r.Connect, r.Retryable, r.Text)
		f.P("		Code: [areaCount]string{%s},", strings.Join(codes, ", "))
		if len(r.Members) > 0 {
			f.P("		Details: []DetailMember{")
			for _, m := range r.Members {
				if m.Optional {
					f.P("			{Name: %q, Kind: %q, Optional: true},", m.Name, m.Kind)
				} else {
					f.P("			{Name: %q, Kind: %q},", m.Name, m.Kind)
				}
			}
			f.P("		},")
		}
		f.P("	},")
	}
	f.P("}\n\n// Reasons lists the registered reasons in the registry's order.\nvar Reasons = []Reason{")
	for _, r := range g.cat.Reasons {
		f.P("	%s,", reasonIdent(r.Name))
	}
	f.P("}")
	return g.out.Go("op/reasons.go", f)
}

func (g *opGen) limits() error {
	f := &gocode.File{Package: "op", From: "spec/limits.yaml"}
	f.P("// The numbers of the contracts.\nconst (")
	for _, l := range g.cat.Limits {
		f.Comment(fmt.Sprintf("Limit%s, in %s: %s (%s).", gocode.Exported(l.Name), l.Unit, orElse(l.What, l.Name), l.Source))
		f.P("	Limit%s int64 = %d", gocode.Exported(l.Name), l.Value)
	}
	f.P(")")
	return g.out.Go("op/limits.go", f)
}
