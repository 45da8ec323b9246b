package emit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"go.yaml.in/yaml/v3"
)

// FixtureSchema is the second frozen tool schema, of names that the public MCP suite asks for.
const FixtureSchema = "fixture/fixture.schema.json"

// MCP writes gen/mcp: for every profile its tools, with the bytes of their schemas.
func MCP(c *catalogue.Catalogue, out Files) error {
	if err := copyTemplate("mcp", "mcp", out); err != nil {
		return err
	}
	if err := copyTemplate("bindmcp", "bind/mcp", out); err != nil {
		return err
	}
	profiles := map[string][]*catalogue.Operation{}
	var names []string
	for _, o := range c.Operations {
		if o.MCP.Served() {
			if profiles[o.MCP.Profile] == nil {
				names = append(names, o.MCP.Profile)
			}
			profiles[o.MCP.Profile] = append(profiles[o.MCP.Profile], o)
		}
	}
	for _, name := range names {
		f := &gocode.File{Package: "mcp", From: "spec/operations.yaml and the schemas it names"}
		f.Import(Module + "/gen/op")
		f.Import("encoding/json")
		f.P("// %s lists the tools of the %s profile, in the catalogue's order.\nvar %s = []Tool{", gocode.Exported(name), name, gocode.Exported(name))
		for _, o := range profiles[name] {
			input, err := inputSchema(c, o)
			if err != nil {
				return err
			}
			output, err := outputSchema(c, o)
			if err != nil {
				return err
			}
			a := o.Annotations
			f.P("	{")
			f.P("		Name: %q, Title: %q,", o.MCP.Tool, o.Title)
			f.P("		Description: %q,", strings.TrimSpace(o.Description))
			f.P("		InputSchema: json.RawMessage(%s),", goString(input))
			f.P("		OutputSchema: json.RawMessage(%s),", goString(output))
			f.P("		Annotations: Annotations{Title: %q, ReadOnlyHint: %v, DestructiveHint: %v, IdempotentHint: %v, OpenWorldHint: %v},", o.Title, a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld)
			f.P("		Op: op.%sOp,", opName(o))
			f.P("	},")
		}
		f.P("}")
		if err := out.Go("mcp/"+name+".go", f); err != nil {
			return err
		}
	}
	return fixture(c, out)
}

// goString quotes text for Go, raw when that is possible.
func goString(s string) string {
	if strings.ContainsAny(s, "`\r") {
		return fmt.Sprintf("%q", s)
	}
	return "`" + s + "`"
}

// inputSchema gives the frozen bytes of a tool, or makes a schema when the operation is described elsewhere.
func inputSchema(c *catalogue.Catalogue, o *catalogue.Operation) (string, error) {
	file, name, _ := strings.Cut(o.Native, "#")
	d, err := c.Document(file)
	if err != nil {
		return "", err
	}
	if n := catalogue.FindTool(d, name); n != nil {
		return schema.JSON(schema.Get(n, "inputSchema"), nil), nil
	}
	if len(o.Request.Fields) == 0 {
		return `{"type":"object","properties":{},"additionalProperties":false}`, nil
	}
	return "", fmt.Errorf("%s: a tool with arguments must be described in a tool schema", o.ID)
}

var defRef = regexp.MustCompile(`"\$ref":"#/\$defs/([^"]+)"`)

// outputSchema makes a schema of root type object that admits the success object and the error envelope: clients check
// errors against it too.
func outputSchema(c *catalogue.Catalogue, o *catalogue.Operation) (string, error) {
	file, name, ok := strings.Cut(o.Result, "#")
	if !ok {
		return "", fmt.Errorf("%s: a tool needs a result with a definition of its own", o.ID)
	}
	d, err := c.Document(file)
	if err != nil {
		return "", err
	}
	defs := schema.Get(d.Root, "$defs")
	private := func(k string) bool { return strings.HasPrefix(k, "x-") }
	text := map[string]string{}
	need := []string{name, "error"}
	for i := 0; i < len(need); i++ {
		n := schema.Get(defs, need[i])
		if n == nil {
			return "", fmt.Errorf("%s: %s has no definition %s", o.ID, file, need[i])
		}
		text[need[i]] = schema.JSON(n, private)
		for _, m := range defRef.FindAllStringSubmatch(text[need[i]], -1) {
			if !slices.Contains(need, m[1]) {
				need = append(need, m[1])
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","anyOf":[{"$ref":"#/$defs/%s"},{"$ref":"#/$defs/error"}],"$defs":{`, name)
	for i, n := range need {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", n, text[n])
	}
	b.WriteString("}}")
	return b.String(), nil
}

// fixture writes the tools of the second frozen schema, which have no operation behind them.
func fixture(c *catalogue.Catalogue, out Files) error {
	d, err := c.Document(FixtureSchema)
	if err != nil {
		return err
	}
	f := &gocode.File{Package: "mcp", From: "spec/" + FixtureSchema}
	f.Import("encoding/json")
	f.P("// Fixture lists the tools that the public MCP suite asks for; no operation stands behind them.\nvar Fixture = []Tool{")
	tools := schema.Get(d.Root, "tools")
	if tools == nil || tools.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: needs a list under tools", d.Name)
	}
	for _, t := range tools.Content {
		hint := func(k string) bool { return schema.Str(t, "annotations", k) == "true" }
		f.P("	{")
		f.P("		Name: %q, Title: %q,", schema.Str(t, "name"), schema.Str(t, "title"))
		f.P("		Description: %q,", schema.Str(t, "description"))
		f.P("		InputSchema: json.RawMessage(%s),", goString(schema.JSON(schema.Get(t, "inputSchema"), nil)))
		if o := schema.Get(t, "outputSchema"); o != nil {
			f.P("		OutputSchema: json.RawMessage(%s),", goString(schema.JSON(o, nil)))
		}
		f.P("		Annotations: Annotations{Title: %q, ReadOnlyHint: %v, DestructiveHint: %v, IdempotentHint: %v, OpenWorldHint: %v},", schema.Str(t, "title"),
			hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint"))
		f.P("	},")
	}
	f.P("}")
	return out.Go("mcp/fixture.go", f)
}
