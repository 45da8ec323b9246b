//go:build gwgen_template

// Package bindws joins the WebSocket's commands to the operations.
package bindws

import (
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/gen/ws"
)

// Frame is what a client may send: a *Call, an *Unknown, or a frame of gen/ws.
type Frame any

// Call is a command that stands for an operation.
type Call struct {
	Op *op.Descriptor
	// RequestID is "" when the frame has none, or one that is no string.
	RequestID string
	// Request holds the arguments, unless they were refused.
	Request op.Request
	// Refused says what is wrong with the frame or its arguments.
	Refused *op.Invalid
}

// Unknown is an object that is no known command or frame.
type Unknown struct {
	// Command is the word that was asked for, "" when there is none.
	Command string
}

// Decode reads a frame. It refuses what is not one JSON object; every object gives a Frame, or says why a known frame
// that is no call is malformed.
func Decode(b []byte) (Frame, *op.Invalid) {
	env, inv := ws.ReadEnvelope(b)
	if inv != nil {
		return nil, inv
	}
	if d := commandOf(env.Command); d != nil {
		c := &Call{Op: d, RequestID: env.RequestID, Refused: env.Refused}
		if c.Refused != nil {
			return c, nil
		}
		if env.Data == nil {
			c.Refused = &op.Invalid{Member: "$.data", Rule: "missing", Text: "$.data: is required"}
			return c, nil
		}
		if c.Request, inv = d.Decode(env.Data); inv != nil {
			c.Request = nil
			c.Refused = &op.Invalid{Member: "$.data" + inv.Member[1:], Rule: inv.Rule, Text: "$.data" + inv.Text[1:]}
		}
		return c, nil
	}
	if f, inv, ok := plainOf(env.Command, env.Type, b); ok {
		if inv != nil {
			return nil, inv
		}
		return f, nil
	}
	return &Unknown{Command: string(env.Command)}, nil
}

// AppendResult writes the answer of a call that succeeded.
func AppendResult(dst []byte, d *op.Descriptor, requestID string, r op.Result) []byte {
	return ws.AppendResult(dst, d.WSCommand, requestID, r)
}
