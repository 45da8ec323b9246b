package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const toolPrefix = "workbench_"

// toolNames lists the tools without their prefix.
func toolNames() []string {
	names := make([]string, len(mcp.Workbench))
	for i, t := range mcp.Workbench {
		names[i] = strings.TrimPrefix(t.Name, toolPrefix)
	}
	return names
}

// toolNamed finds a tool, with or without the prefix. The error has the reason WB_UNKNOWN_TOOL.
func toolNamed(name string) (*mcp.Tool, error) {
	full := toolPrefix + strings.TrimPrefix(name, toolPrefix)
	for i := range mcp.Workbench {
		if mcp.Workbench[i].Name == full {
			return &mcp.Workbench[i], nil
		}
	}
	return nil, fault.Newf(op.ReasonWBUnknownTool, "There is no Workbench tool of this name; there are %s.", strings.Join(toolNames(), ", ")).With("tool", full)
}

// explain prints what a tool does and takes; without a name, the command's own help.
func explain(cmd *cobra.Command, names []string) error {
	if len(names) == 0 {
		return cmd.Help()
	}
	t, err := toolNamed(names[0])
	if err != nil {
		return usagef("%s", fault.From(err).Message)
	}
	return writeTool(cmd.OutOrStdout(), t)
}

// argument is what a frozen schema says about one member.
type argument struct {
	name        string
	required    bool
	Description string          `json:"description"`
	Type        json.RawMessage `json:"type"` // a word or a list of words
	Enum        []any           `json:"enum"`
	AnyOf       []argument      `json:"anyOf"`
	OneOf       []argument      `json:"oneOf"`
}

// words is the type in words, "" when the schema leaves it open.
func (a argument) words() string {
	var one string
	var all []string
	if json.Unmarshal(a.Type, &one) == nil {
		all = []string{one}
	} else if json.Unmarshal(a.Type, &all) != nil {
		all = nil
	}
	for _, branch := range slices.Concat(a.AnyOf, a.OneOf) {
		if w := branch.words(); w != "" {
			all = append(all, w)
		}
	}
	if len(a.Enum) > 0 {
		all = nil
		for _, v := range a.Enum {
			if v == nil {
				v = "null"
			}
			all = append(all, fmt.Sprint(v))
		}
	}
	return strings.Join(all, " or ")
}

// arguments reads the members of an input schema in the schema's order.
func arguments(schema []byte) ([]argument, error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	d := jsontext.NewDecoder(strings.NewReader(string(s.Properties)))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var out []argument
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		a := argument{name: name.String()}
		a.required = slices.Contains(s.Required, a.name)
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(value, &a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func writeTool(w io.Writer, t *mcp.Tool) error {
	all, err := arguments(t.InputSchema)
	if err != nil {
		return fmt.Errorf("the schema of %s: %w", t.Name, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\nUsage:\n  sawhorse workbench %s JSON --data DIR | --server URL\n\nArguments, as members of JSON:\n",
		t.Name, t.Title, t.Description, strings.TrimPrefix(t.Name, toolPrefix))
	for _, a := range all {
		about := a.words()
		if a.required {
			about = strings.TrimPrefix(about+", required", ", ")
		}
		fmt.Fprintf(&b, "  %s (%s)\n", a.name, about)
		if a.Description != "" {
			fmt.Fprintf(&b, "      %s\n", a.Description)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
