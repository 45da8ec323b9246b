// Code copied by gwgen from tools/gwgen/internal/emit/runtime/mcp/tool.go. DO NOT EDIT.

// Package mcp holds the tools of every MCP profile: what a client is told of them, byte for byte.
package mcp

import (
	"encoding/json"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Tool is one row of tools/list.
type Tool struct {
	Name, Title, Description string
	// InputSchema holds the frozen bytes, white space removed, members in their own order.
	InputSchema json.RawMessage
	// OutputSchema has the root type object and admits the success object and the error envelope. nil when the tool
	// has no structured answer.
	OutputSchema json.RawMessage
	Annotations  Annotations
	// Op is the operation behind the tool; nil in the fixture profile.
	Op *op.Descriptor
}

// Annotations are the hints of a tool; all are always said.
type Annotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	DestructiveHint bool   `json:"destructiveHint"`
	IdempotentHint  bool   `json:"idempotentHint"`
	OpenWorldHint   bool   `json:"openWorldHint"`
}
