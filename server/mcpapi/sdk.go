package mcpapi

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// unknownTool is a tool of the SDK's server that clients never see: calls of tools that do not exist are sent to it,
// since the SDK itself would answer them with a protocol error. Its name cannot be a tool's.
const unknownTool = "unknown-tool/"

// newServer makes an SDK server that shows and runs the profile.
func (rt *Runtime) newServer(protocol call.Protocol) *sdk.Server {
	p := &rt.profile
	options := &sdk.ServerOptions{
		Instructions: p.Instructions,
		Logger:       slog.New(slog.DiscardHandler),
		// No list changes, no logging: what a stateless table of tools can promise.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		PageSize:     len(p.Tools) + 1,
		SetCacheable: func(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
			switch req.(type) {
			case *sdk.ListToolsRequest, *sdk.ServerRequest[*sdk.DiscoverParams]:
				c.TTLMs = listTTLMillis
			}
		},
	}
	if p.Options != nil {
		p.Options(options)
	}
	s := sdk.NewServer(rt.impl, options)
	for i := range p.Tools {
		t := &p.Tools[i]
		s.AddTool(sdkTool(t), rt.handler(t, protocol))
	}
	if p.Configure != nil {
		p.Configure(s)
	}
	if p.Pipeline != nil {
		s.AddTool(&sdk.Tool{Name: unknownTool, InputSchema: json.RawMessage(`{"type":"object"}`)}, rt.unknown())
	}
	s.AddReceivingMiddleware(rt.middleware)
	return s
}

func sdkTool(t *mcp.Tool) *sdk.Tool {
	out := &sdk.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema,
		Annotations: &sdk.ToolAnnotations{
			Title: t.Annotations.Title, ReadOnlyHint: t.Annotations.ReadOnlyHint, DestructiveHint: &t.Annotations.DestructiveHint,
			IdempotentHint: t.Annotations.IdempotentHint, OpenWorldHint: &t.Annotations.OpenWorldHint,
		},
	}
	if t.OutputSchema != nil {
		out.OutputSchema = t.OutputSchema
	}
	return out
}

func (rt *Runtime) handler(t *mcp.Tool, protocol call.Protocol) sdk.ToolHandler {
	if t.Op == nil {
		return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return rt.profile.Call(ctx, t, req.Params.Arguments, req)
		}
	}
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		caller := rt.profile.Pipeline.Via(protocol, call.RequestID(ctx))
		return toolResult(rt.run(ctx, caller, t, nil, req.Params.Arguments, nil)), nil
	}
}

func toolResult(a answer) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: string(a.json)}},
		StructuredContent: json.RawMessage(a.json),
		IsError:           a.isError,
	}
}

// methods are the requests that MCP has for servers, over all revisions. A subscription is not among them: it is never
// answered, and so is not waited for.
var methods = map[string]bool{
	"initialize": true, "ping": true, methodDiscover: true, methodCall: true, methodList: true, "completion/complete": true,
	"logging/setLevel": true, "prompts/get": true, "prompts/list": true, "resources/list": true, "resources/read": true,
	"resources/subscribe": true, "resources/templates/list": true, "resources/unsubscribe": true,
}

// declared are those of them that a server of tools alone has.
var declared = map[string]bool{"initialize": true, "ping": true, methodDiscover: true, methodCall: true, methodList: true}

const (
	methodListen   = "subscriptions/listen"
	methodDiscover = "server/discover"
	noMethod       = "there is no such method here"
)

// serves reports whether a request's method is one of this profile's.
func (rt *Runtime) serves(method string) bool {
	if rt.profile.Pipeline == nil {
		return methods[method] || method == methodListen
	}
	return declared[method] || method == methodListen
}

// hasBefore20260728 reports whether a request's method is one of this profile's in the older revisions. A discovery that
// names the newest one in its _meta has forgotten a header, which the SDK tells it.
func (rt *Runtime) hasBefore20260728(m *message) bool {
	if string(m.method) == methodDiscover {
		meta, _ := judgeMeta(m.params.meta)
		return meta.version != ""
	}
	return rt.serves(string(m.method))
}

// noName says what a tools/call lacks, onePage what a tools/list has too much.
const (
	noName  = "$.params.name: must be a string that is not empty"
	onePage = "$.params.cursor: there is one page, which needs no cursor"
)

type askedForKey struct{}

// unknown answers for the tools that do not exist.
func (rt *Runtime) unknown() sdk.ToolHandler {
	return func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		name, _ := ctx.Value(askedForKey{}).(string)
		return toolResult(rt.run(ctx, call.Caller{}, nil, []byte(name), nil, nil)), nil
	}
}

// middleware puts tools/list into the profile's order and gives unknown tools a tool result.
func (rt *Runtime) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if rt.profile.Pipeline != nil && methods[method] && !declared[method] {
			return nil, &jsonrpc.Error{Code: codeMethodNotFound, Message: noMethod}
		}
		switch r := req.(type) {
		case *sdk.CallToolRequest:
			ctx = under(ctx, parentIn(r.Params.Meta, anyText))
			if r.Params.Name == "" {
				return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: noName}
			}
			if rt.profile.Pipeline != nil && rt.tools.Tool(r.Params.Name) == nil {
				ctx = context.WithValue(ctx, askedForKey{}, r.Params.Name)
				r.Params.Name = unknownTool
			}
		case *sdk.ListToolsRequest:
			if rt.profile.Pipeline != nil && r.Params != nil && r.Params.Cursor != "" {
				return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: onePage}
			}
			res, err := next(ctx, method, req)
			if list, ok := res.(*sdk.ListToolsResult); ok && err == nil {
				rt.order(list)
			}
			return res, err
		}
		return next(ctx, method, req)
	}
}

// order sorts a list as the profile has it; tools that were added while running keep their place behind.
func (rt *Runtime) order(list *sdk.ListToolsResult) {
	byName := make(map[string]*sdk.Tool, len(list.Tools))
	for _, t := range list.Tools {
		byName[t.Name] = t
	}
	ordered := make([]*sdk.Tool, 0, len(list.Tools))
	for i := range rt.profile.Tools {
		if t := byName[rt.profile.Tools[i].Name]; t != nil {
			ordered = append(ordered, t)
		}
	}
	for _, t := range list.Tools {
		if t.Name != unknownTool && rt.tools.Tool(t.Name) == nil {
			ordered = append(ordered, t)
		}
	}
	list.Tools = ordered
}
