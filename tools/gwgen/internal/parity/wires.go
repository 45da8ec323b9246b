package parity

import (
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/problem"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"go.yaml.in/yaml/v3"
)

// http holds the OpenAPI documents against the catalogue.
func (k *checker) http() {
	named := map[string]bool{} // document and operationId
	var routes []route
	for _, o := range k.cat.Operations {
		if !o.HTTP.Served() || o.Area == "" {
			continue
		}
		h, d, err := k.cat.HTTPOperation(o)
		if err != nil {
			k.problems.Add(problem.NamesNothing, "operations.yaml#"+o.ID, "http: %v", err)
			continue
		}
		named[d.Name+"#"+h.ID] = true
		source := d.Name + "#" + h.ID
		if h.Method != o.HTTP.Method {
			k.problems.Add(problem.Differs, source, "(%s) the method is %s, in the catalogue %s", o.ID, h.Method, o.HTTP.Method)
		}
		if want := k.pathOf(h, d); want != o.HTTP.Path {
			k.problems.Add(problem.Differs, source, "(%s) the path is %s, in the catalogue %s", o.ID, want, o.HTTP.Path)
		}
		k.statuses(o, h, source)
		routes = append(routes, route{o, strings.Split(strings.Trim(o.HTTP.Path, "/"), "/")})
		if o.Stream() || o.Request == nil || o.Response == nil || strings.HasPrefix(o.Native, d.Name+"#") {
			continue
		}
		req, err := h.Request(d)
		if err != nil {
			k.problems.Add(problem.Syntax, source, "(%s) %v", o.ID, err)
		} else {
			k.same(o, "http", source+" request", "$", o.Request, req)
		}
		res, err := h.Response(d)
		if err != nil {
			k.problems.Add(problem.Syntax, source, "(%s) %v", o.ID, err)
		} else {
			k.same(o, "http", source+" result", "$", o.Response, res)
		}
	}
	for _, area := range catalogue.Areas {
		d, err := k.cat.Document("openapi/" + area + ".yaml")
		if err != nil {
			continue // an area without a document carries nothing on HTTP; a row that names one was refused above
		}
		for _, h := range catalogue.HTTPOperations(d) {
			if !named[d.Name+"#"+h.ID] {
				k.problems.Add(problem.Uncatalogued, d.Name+"#"+h.ID, "%s %s has no row in operations.yaml", h.Method, h.Path)
			}
		}
	}
	k.overlaps(routes)
	k.envelopes()
}

// statuses demands that the document describes the answer of every refusal that an operation lists.
func (k *checker) statuses(o *catalogue.Operation, h *catalogue.HTTPOperation, source string) {
	responses := schema.Get(h.Node, "responses")
	for _, name := range o.Reasons {
		for _, r := range k.cat.Reasons {
			if r.Name == name && schema.Get(responses, strconv.Itoa(r.HTTP)) == nil {
				k.problems.Add(problem.Differs, source, "(%s) describes no answer %d, which %s gives", o.ID, r.HTTP, name)
			}
		}
	}
}

// envelopes compares an area's error envelope where both its results and its OpenAPI document describe one.
func (k *checker) envelopes() {
	for _, area := range catalogue.Areas {
		results, api := k.cat.Documents[area+"/results.schema.json"], k.cat.Documents["openapi/"+area+".yaml"]
		if results == nil || api == nil {
			continue
		}
		name := strings.ToUpper(area[:1]) + area[1:] + "Error"
		native, other := schema.Get(results.Root, "$defs", "error"), schema.Get(api.Root, "components", "schemas", name)
		if native == nil || other == nil {
			k.problems.Add(problem.NamesNothing, api.Name+"#"+name, "the error envelope is not described both here and in %s", results.Name)
			continue
		}
		want, err := results.Type(native)
		if err != nil {
			k.problems.Add(problem.Syntax, results.Name+"#error", "%v", err)
			continue
		}
		have, err := api.Type(other)
		if err != nil {
			k.problems.Add(problem.Syntax, api.Name+"#"+name, "%v", err)
			continue
		}
		k.same(&catalogue.Operation{ID: area + " errors"}, "http", api.Name+"#"+name, "$", want, have)
	}
}

// pathOf is the document's path with its multi-segment parameter marked.
func (k *checker) pathOf(h *catalogue.HTTPOperation, d *schema.Document) string {
	path := h.Path
	for _, name := range h.MultiSegment(d) {
		path = strings.Replace(path, "{"+name+"}", "{"+name+"...}", 1)
	}
	return path
}

type route struct {
	o    *catalogue.Operation
	segs []string
}

// overlaps refuses two routes of one method that can match the same request, unless they are the same shape with
// literal segments that tell them apart.
func (k *checker) overlaps(routes []route) {
	for i, a := range routes {
		for _, b := range routes[i+1:] {
			if a.o.HTTP.Method == b.o.HTTP.Method && overlap(a.segs, b.segs) {
				k.problems.Add(problem.Overlap, "operations.yaml#"+b.o.ID, "%s %s overlaps %s of %s", b.o.HTTP.Method, b.o.HTTP.Path, a.o.HTTP.Path, a.o.ID)
			}
		}
	}
}

func overlap(a, b []string) bool {
	for i := 0; ; i++ {
		switch {
		case i == len(a) && i == len(b):
			return true
		case i < len(a) && strings.HasSuffix(a[i], "...}"), i < len(b) && strings.HasSuffix(b[i], "...}"):
			return true
		case i == len(a) || i == len(b):
			return false
		case a[i] != b[i] && !strings.HasPrefix(a[i], "{") && !strings.HasPrefix(b[i], "{"):
			return false
		}
	}
}

// mcp holds the tool schemas against the catalogue.
func (k *checker) mcp() {
	named := map[string]bool{}
	files := map[string]bool{}
	for _, o := range k.cat.Operations {
		if file, tool, _ := strings.Cut(o.Native, "#"); strings.HasSuffix(file, "tools.schema.json") {
			files[file] = true
			named[file+"#"+tool] = true
			if o.MCP.Served() && o.MCP.Tool != tool {
				k.problems.Add(problem.Differs, "operations.yaml#"+o.ID, "the tool is called %s, its schema %s", o.MCP.Tool, tool)
			}
		}
	}
	for file := range files {
		d, err := k.cat.Document(file)
		if err != nil {
			continue // refused when the row was read
		}
		if tools := schema.Get(d.Root, "tools"); tools != nil && tools.Kind == yaml.SequenceNode {
			seen := map[string]bool{}
			for _, t := range tools.Content {
				name := schema.Str(t, "name")
				if seen[name] {
					k.problems.Add(problem.Duplicate, file+"#"+name, "the tool is described twice")
				}
				seen[name] = true
				if !named[file+"#"+name] {
					k.problems.Add(problem.Uncatalogued, file+"#"+name, "the tool has no row in operations.yaml")
				}
			}
		}
	}
	tools := map[string]string{}
	for _, o := range k.cat.Operations {
		if o.MCP.Served() {
			key := o.MCP.Profile + "/" + o.MCP.Tool
			if other := tools[key]; other != "" {
				k.problems.Add(problem.Duplicate, "operations.yaml#"+o.ID, "the tool %s is %s already", o.MCP.Tool, other)
			}
			tools[key] = o.ID
		}
	}
}

// ws holds the AsyncAPI document against the catalogue.
func (k *checker) ws() {
	rows := map[string]*catalogue.Operation{}
	for _, o := range k.cat.Operations {
		if o.WS.Served() {
			rows[o.ID] = o
		}
	}
	seen := map[string]bool{}
	for _, cmd := range k.async.Commands {
		source := catalogue.AsyncFile + "#" + cmd.Name
		o := rows[cmd.ID]
		if o == nil {
			k.problems.Add(problem.Uncatalogued, source, "the command of %s has no row in operations.yaml that carries it", cmd.ID)
			continue
		}
		seen[cmd.ID] = true
		if have := cmd.Command.Constant("command"); have != o.WS.Command {
			k.problems.Add(problem.Differs, source, "(%s) the command is %q, in the catalogue %q", o.ID, have, o.WS.Command)
		}
		if have := cmd.Answer.Constant("command"); have != o.WS.Command {
			k.problems.Add(problem.Differs, source, "(%s) the answer's command is %q, in the catalogue %q", o.ID, have, o.WS.Command)
		}
		k.part(o, source, cmd.Command, "data", o.Request)
		k.part(o, source, cmd.Answer, "result", o.Response)
	}
	for id, o := range rows {
		if !seen[id] {
			k.problems.Add(problem.NamesNothing, "operations.yaml#"+id, "ws: %s describes no command %s", catalogue.AsyncFile, o.WS.Command)
		}
	}
}

// part compares the member of a frame that holds an operation's request or result.
func (k *checker) part(o *catalogue.Operation, source string, m *catalogue.Message, member string, want *schema.Type) {
	f := m.Type.Field(member)
	if f == nil || !f.Required {
		k.problems.Add(problem.Differs, source+" "+m.Key, "(%s) needs the required member %s", o.ID, member)
		return
	}
	if want != nil {
		k.same(o, "ws", source+" "+m.Key+"."+member, "$", want, f.Type)
	}
}
