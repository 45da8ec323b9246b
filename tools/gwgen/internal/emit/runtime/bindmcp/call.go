//go:build gwgen_template

// Package bindmcp joins the tools of gen/mcp to the operations.
package bindmcp

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Caller does a call: what stands between every protocol and the meaning.
type Caller interface {
	Call(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error)
}

// Profile is a tool list with its index. It never changes.
type Profile struct {
	tools  []mcp.Tool
	byName map[string]*mcp.Tool
}

// NewProfile indexes a profile of gen/mcp. It panics when two tools share a name: registration fails closed.
func NewProfile(tools []mcp.Tool) *Profile {
	p := &Profile{tools: tools, byName: make(map[string]*mcp.Tool, len(tools))}
	for i := range tools {
		if p.byName[tools[i].Name] != nil {
			panic("two tools are called " + tools[i].Name)
		}
		p.byName[tools[i].Name] = &tools[i]
	}
	return p
}

// Tools lists the profile in the catalogue's order.
func (p *Profile) Tools() []mcp.Tool { return p.tools }

// Tool finds a tool by its exact name; nil when the profile has none.
func (p *Profile) Tool(name string) *mcp.Tool { return p.byName[name] }

// Call decodes and validates the arguments of a tool and does the call. No arguments at all are an empty object. The
// error is an *op.Invalid when the arguments were refused.
func Call(ctx context.Context, c Caller, d *op.Descriptor, arguments []byte) (op.Result, error) {
	if len(arguments) == 0 {
		arguments = emptyObject
	}
	req, inv := d.Decode(arguments)
	if inv != nil {
		return nil, inv
	}
	return c.Call(ctx, d, req)
}

var emptyObject = []byte("{}")
