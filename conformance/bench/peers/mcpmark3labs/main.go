// Command mcpmark3labs is one echo tool on mark3labs/mcp-go, stateless: the fastest MCP library in Go that others wrote, and the mark to reach.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/peers"
)

func main() {
	s := server.NewMCPServer("echo", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("echo",
		mcp.WithDescription("Returns its message."),
		mcp.WithString("message", mcp.Required()),
	), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m, err := r.RequireString("message")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(m), nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	if err := peers.Serve(mux); err != nil {
		log.Fatal(err)
	}
}
