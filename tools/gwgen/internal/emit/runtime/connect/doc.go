//go:build gwgen_template

// Package bindconnect joins the neutral form of the operations to Connect, gRPC and gRPC-Web.
//
// A call never passes through a protobuf message when it comes as JSON: the JSON codec reads the proto3 mapping straight
// into the neutral form and writes it straight out, without reflection, and as strictly as every other protocol. Binary
// calls go through the messages of gen/pb.
package bindconnect

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
