// Package spec carries the description of the wire inside the binary, for programs that check a server against it.
// It is data only.
package spec

import "embed"

// FS holds the specification sources under the paths they have in this directory.
//
//go:embed workbench openapi asyncapi requirements errors.yaml operations.yaml limits.yaml
var FS embed.FS
