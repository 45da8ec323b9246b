//go:build gwgen_template

// Package ws holds the frames of the WebSocket that are not calls, as JSON; gen/bind/ws has the calls. MessagePack frames
// hold the same values and are translated before and after.
package ws

import "github.com/sawhorse-dev/sawhorse/gen/op"

// The scanner in this package is the one of gen/op; these are its types.
type (
	// Invalid is op.Invalid.
	Invalid = op.Invalid
	// RawJSON is op.RawJSON.
	RawJSON = op.RawJSON
	// IntOrString is op.IntOrString.
	IntOrString = op.IntOrString
)
