package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// ServerName is how the product introduces itself to MCP clients.
const ServerName = "sawhorse"

// listTTLMillis is how long a client may keep the list of tools: it changes with the build and not before.
const listTTLMillis = 5 * 60 * 1000

// Profile is a table of tools and how to run them.
type Profile struct {
	// Name, Title, Version and Instructions introduce the server.
	Name, Title, Version, Instructions string
	// Tools is the table, in the order of tools/list. A tool with an operation runs through Pipeline.
	Tools []mcp.Tool
	// Pipeline runs the tools that have an operation. A profile with a pipeline answers the call of an unknown tool
	// with a tool result, as its contract asks.
	Pipeline *call.Pipeline
	// Call runs the tools that have none. req is nil on the short path.
	Call func(ctx context.Context, tool *mcp.Tool, args json.RawMessage, req *sdk.CallToolRequest) (*sdk.CallToolResult, error)
	// NeedsSession says which tools of Call talk to the client while they run, or look at the request: they never take
	// the short path. nil means none.
	NeedsSession func(tool *mcp.Tool) bool
	// Configure adds what is not a tool, such as prompts and resources, to each of the profile's servers.
	Configure func(*sdk.Server)
	// Options changes the SDK's options.
	Options func(*sdk.ServerOptions)
	// Stateful puts a handler with sessions beside the stateless one, for initialize of the older revisions and for
	// requests with a session id. Answers are event streams then, since tools may speak before they answer.
	Stateful bool
	// DisableFastPath sends everything to the SDK.
	DisableFastPath bool
}

// Options configure a Runtime.
type Options struct {
	// Budget bounds the memory of request bodies; nil means one of its own.
	Budget *body.Budget
	// MaxMessageBytes bounds one message; 0 means op.LimitMaxCallBodyBytes.
	MaxMessageBytes int64
	// Logger gets what the runtime reports. nil means none.
	Logger *slog.Logger
	// Draining ends when the server stops; streams without an end of their own end then. nil means never.
	Draining context.Context
}

// Workbench is the profile of the Workbench contract: exactly its 18 tools.
func Workbench(p *call.Pipeline, version string) Profile {
	return Profile{
		Name: ServerName, Title: "Sawhorse", Version: version, Tools: mcp.Workbench, Pipeline: p,
		Instructions: "Tools for keeping files in versioned workbenches. Start with workbench_create, or store a file right away with " +
			"workbench_put_file; workbench_list and workbench_read show what is there. Every file has a generation, which changes when its content does.",
	}
}

// workbenchTools is how many tools the Workbench contract has.
const workbenchTools = 18

// check refuses a profile that would show clients less, or other, than its contract says (invariant 2).
func (p *Profile) check() error {
	if p.Name == "" || p.Version == "" {
		return errors.New("mcpapi: a profile needs a name and a version")
	}
	seen := map[string]bool{}
	for i := range p.Tools {
		t := &p.Tools[i]
		switch {
		case t.Name == "" || seen[t.Name]:
			return fmt.Errorf("mcpapi: tool %q is unnamed or listed twice", t.Name)
		case !json.Valid(t.InputSchema):
			return fmt.Errorf("mcpapi: tool %q has no input schema", t.Name)
		case t.Op != nil && p.Pipeline == nil, t.Op == nil && p.Call == nil:
			return fmt.Errorf("mcpapi: nothing runs tool %q", t.Name)
		case t.Op != nil && (t.Op.MCPTool != t.Name || t.Op.Decode == nil):
			return fmt.Errorf("mcpapi: tool %q and operation %s do not belong together", t.Name, t.Op.ID)
		}
		seen[t.Name] = true
	}
	if p.Pipeline == nil {
		return nil
	}
	listed := 0
	for _, d := range op.Descriptors {
		if d.MCPTool == "" || d.Area != op.AreaWorkbench {
			continue
		}
		listed++
		if !seen[d.MCPTool] {
			return fmt.Errorf("mcpapi: tool %q of the contract is missing", d.MCPTool)
		}
	}
	if listed != workbenchTools || len(p.Tools) != workbenchTools {
		return fmt.Errorf("mcpapi: %d tools in the profile, %d in the catalogue, %d in the contract", len(p.Tools), listed, workbenchTools)
	}
	return nil
}

// answer is the outcome of a tool that has an operation: its structured content, compact.
type answer struct {
	json    []byte
	isError bool
}

// run carries out a tool that has an operation, or says that there is no such tool. dst is reused for the answer.
func (rt *Runtime) run(ctx context.Context, caller call.Caller, tool *mcp.Tool, name, args, dst []byte) answer {
	if tool == nil {
		err := fault.New(op.ReasonWBUnknownTool, "").With("tool", string(name))
		return answer{call.AppendError(dst, op.AreaWorkbench, call.PublicIn(op.AreaWorkbench, err), rt.now()), true}
	}
	if len(args) == 0 || string(args) == "null" {
		args = emptyObject
	}
	res, err := caller.CallJSON(ctx, tool.Op, args)
	if err != nil {
		return answer{call.AppendError(dst, tool.Op.Area, call.PublicOf(tool.Op, err), rt.now()), true}
	}
	return answer{res.AppendJSON(dst), false}
}

var emptyObject = []byte("{}")
