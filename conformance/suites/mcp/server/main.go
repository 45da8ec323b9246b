// Command server serves the fixture profile on the product's MCP runtime, for the public MCP suite. It prints "ready http://HOST:PORT" and
// serves until SIGTERM.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/server"
	"github.com/sawhorse-dev/sawhorse/server/fixture"
	"github.com/sawhorse-dev/sawhorse/server/mcpapi"
)

func main() {
	fastPath := flag.Bool("fast-path", true, "let the runtime's fast path answer what it can")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, *fastPath); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// plain are the tools that answer from their arguments alone, without the client's session; all others talk back while they run.
var plain = map[string]bool{
	"test_simple_text": true, "test_image_content": true, "test_audio_content": true, "test_embedded_resource": true,
	"test_multiple_content_types": true, "test_error_handling": true, "json_schema_2020_12_tool": true,
}

func run(ctx context.Context, fastPath bool) error {
	inputs := map[string]json.RawMessage{}
	for i := range mcp.Fixture {
		inputs[mcp.Fixture[i].Name] = mcp.Fixture[i].InputSchema
	}
	service, err := fixture.New(inputs)
	if err != nil {
		return err
	}
	runtime, err := mcpapi.New(mcpapi.Profile{
		Name: "sawhorse-fixture", Title: "Fixture", Version: "1",
		Tools: mcp.Fixture,
		Call: func(ctx context.Context, tool *mcp.Tool, arguments json.RawMessage, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if req == nil { // the fast path has no session
				req = &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: tool.Name, Arguments: arguments}}
			}
			return service.Call(ctx, req)
		},
		NeedsSession:    func(tool *mcp.Tool) bool { return !plain[tool.Name] },
		Configure:       service.Configure,
		Options:         service.Options,
		DisableFastPath: !fastPath,
		Stateful:        true,
	}, mcpapi.Options{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp/fixture", server.GuardMCP(runtime))
	srv := &http.Server{Handler: mux}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	fmt.Printf("ready http://%s\n", l.Addr())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
