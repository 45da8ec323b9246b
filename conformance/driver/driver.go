package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// Protocol names a way to reach the server.
type Protocol string

// The protocols, in the order of a report.
const (
	HTTP         Protocol = "http"
	ConnectJSON  Protocol = "connect-json"
	ConnectProto Protocol = "connect-proto"
	GRPC         Protocol = "grpc"
	GRPCWeb      Protocol = "grpc-web"
	MCP          Protocol = "mcp-http"      // streamable HTTP, revision 2026-07-28: nothing but the call
	MCP2025      Protocol = "mcp-http-2025" // streamable HTTP, revision 2025-11-25: initialize first
	MCPStdio     Protocol = "mcp-stdio"
	WSText       Protocol = "ws-text"
	WSMsgpack    Protocol = "ws-msgpack"
)

// Protocols lists all protocols in the order of a report.
func Protocols() []Protocol {
	return []Protocol{HTTP, ConnectJSON, ConnectProto, GRPC, GRPCWeb, MCP, MCP2025, MCPStdio, WSText, WSMsgpack}
}

// Known reports whether name is a protocol.
func Known(name string) bool { return slices.Contains(Protocols(), Protocol(name)) }

// Carries reports whether the contract offers an operation on a protocol.
func (p Protocol) Carries(op *contract.Operation) bool {
	if op.Streams() {
		return false
	}
	switch p {
	case HTTP:
		return op.Path != ""
	case ConnectJSON, ConnectProto, GRPC, GRPCWeb:
		return op.RPC != ""
	case MCP, MCP2025, MCPStdio:
		return op.Tool != "" && op.Profile == "workbench"
	case WSText, WSMsgpack:
		return op.Command != ""
	}
	return false
}

// Endpoint is where a server can be reached.
type Endpoint struct {
	// URL is the server's base, such as http://127.0.0.1:8080, without a slash at the end.
	URL string
	// Dial opens a connection to the server; nil dials the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Stdio starts a conversation over newline-delimited JSON; nil when there is none.
	Stdio func(ctx context.Context) (io.ReadWriteCloser, error)
	// Contract is what the server is judged by.
	Contract *contract.Contract
}

// Driver carries operations over one protocol (D5).
type Driver interface {
	// Call sends op with a value as arguments. Errors: ErrInexpressible, or a failure below the protocol.
	Call(ctx context.Context, op *contract.Operation, args any) (*Answer, error)
	// Send sends op with bytes in the place of its arguments, whatever they are. Errors as Call; a protocol whose
	// arguments are not JSON text gives ErrInexpressible.
	Send(ctx context.Context, op *contract.Operation, raw []byte) (*Answer, error)
	// Trace is the last conversation, for a report.
	Trace() string
	// Close ends the connection.
	Close() error
}

// ErrInexpressible says that a protocol's encoding cannot say a value (D4).
var ErrInexpressible = errors.New("this protocol cannot say it")

// ErrUnreachable says that the endpoint does not offer the protocol.
var ErrUnreachable = errors.New("the target does not offer this protocol")

// Answer is what a call was answered with (D2).
type Answer struct {
	// Result is the result of a call that succeeded, nil otherwise.
	Result any
	// Refusal is the public face of a call that did not.
	Refusal *Refusal
	// Fault is set instead when the protocol itself refused the message, before any operation was found in it.
	Fault *Fault
	// Breaches lists what the protocol's own specification does not allow in the raw answer (D3).
	Breaches []string
}

func (a *Answer) breach(format string, args ...any) {
	a.Breaches = append(a.Breaches, fmt.Sprintf(format, args...))
}

// Refusal is an error of the contract.
type Refusal struct {
	Code    string
	Message string
	// Retryable and Details are nil where the area's error on this protocol has no room for them.
	Retryable *bool
	Details   map[string]any
	// Reason is the registry's name, where the protocol carries it.
	Reason string
	// Status and Connect are the protocol's own word for the failure, when it has one.
	Status  int
	Connect string
}

// Fault is an error of a protocol: a JSON-RPC error, or a frame that answers no command.
type Fault struct {
	Code    int
	Message string
}

// Canonical gives the part of an answer that must be the same on every protocol.
func (a *Answer) Canonical() any {
	switch {
	case a.Fault != nil:
		return map[string]any{"fault": a.Fault.Message}
	case a.Refusal != nil:
		face := map[string]any{"code": a.Refusal.Code, "message": a.Refusal.Message}
		if a.Refusal.Retryable != nil {
			face["retryable"] = *a.Refusal.Retryable
		}
		if a.Refusal.Details != nil {
			face["details"] = a.Refusal.Details
		}
		return map[string]any{"error": face}
	}
	return map[string]any{"ok": a.Result}
}

// Open connects over one protocol. Errors: ErrUnreachable, or a failure to connect.
func Open(ctx context.Context, p Protocol, e Endpoint) (Driver, error) {
	switch p {
	case HTTP:
		return newHTTP(e), nil
	case ConnectJSON, ConnectProto, GRPC, GRPCWeb:
		return newConnect(p, e), nil
	case MCP, MCP2025:
		return newMCP(ctx, p, e)
	case MCPStdio:
		return newStdio(ctx, e)
	case WSText, WSMsgpack:
		return newWS(ctx, p, e)
	}
	return nil, fmt.Errorf("no protocol %q", p)
}

// result checks and settles a result.
func (a *Answer) result(op *contract.Operation, v any) {
	a.Result = v
	if err := op.CheckResult(v); err != nil {
		a.breach("the result of %s does not fit its schema: %v", op.ID, err)
	}
}

// ReadRefusal reads an error in the form that an area gives it in JSON, and lists what is wrong with that form.
func ReadRefusal(c *contract.Contract, area string, v any) (*Refusal, []string) {
	a := &Answer{}
	a.refusal(c, area, v)
	return a.Refusal, a.Breaches
}

// refusal reads an error in the form that an area gives it in JSON.
func (a *Answer) refusal(c *contract.Contract, area string, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		a.breach("an error that is no object: %s", value.Shorten(v))
		a.Refusal = &Refusal{}
		return
	}
	r := &Refusal{}
	a.Refusal = r
	text := func(m map[string]any, name string) string {
		s, ok := m[name].(string)
		if !ok {
			a.breach("error member %q is no text: %s", name, value.Shorten(v))
		}
		return s
	}
	boolean := func(m map[string]any, name string) *bool {
		b, ok := m[name].(bool)
		if !ok {
			a.breach("error member %q is no boolean: %s", name, value.Shorten(v))
		}
		return &b
	}
	switch area {
	case "workbench":
		if err := c.CheckEnvelope(v); err != nil {
			a.breach("the error does not fit its schema: %v", err)
		}
		r.Code, r.Message, r.Retryable = text(object, "code"), text(object, "message"), boolean(object, "retryable")
		r.Details, _ = object["details"].(map[string]any)
		if len(r.Message) > 4096 {
			a.breach("the message has %d bytes, at most 4096 are allowed", len(r.Message))
		}
	case "jobs":
		r.Code, r.Message, r.Retryable = text(object, "code"), text(object, "message"), boolean(object, "retryable")
	default:
		inner, ok := object["error"].(map[string]any)
		if !ok {
			a.breach("no error in %s", value.Shorten(v))
		}
		r.Code, r.Message = text(inner, "code"), text(inner, "message")
	}
}
