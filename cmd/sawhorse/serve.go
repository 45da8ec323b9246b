package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server"
)

func newServe(c *common) *cobra.Command {
	var p place
	var listen string
	var nonlocal, examples bool
	var hosts []string
	var maxBody int64
	var drain, grace time.Duration
	cmd := &cobra.Command{
		Use:   "serve --data DIR",
		Short: "Serve a data directory on all protocols",
		Long: `Serve opens DIR and answers on one port: HTTP/JSON, Connect, gRPC, gRPC-Web (with or without TLS in front), MCP at
/mcp/workbench, WebSocket at /ws, metrics at /metrics. It prints "ready http://HOST:PORT" when it serves.

Nobody is asked for a password. Therefore it listens on this machine only, and refuses requests that a page of another
site has made or that name another host. SIGTERM and SIGINT drain: what was begun is answered, then it ends with status 0.`,
		Example: `  sawhorse serve --data ./data
  sawhorse serve --data ./data --listen 127.0.0.1:0 --log-level debug
  sawhorse serve --data ./data --workbench-root /agents/ada/wb --examples`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := p.check(cmd); err != nil {
				return err
			}
			if err := boot.CheckListen(listen, nonlocal); err != nil {
				return usagef("%v", err)
			}
			c.knows(&p)
			if grace == 0 {
				grace = -1 // none, where zero would mean the default
			}
			boot.TuneMemory()
			ctx := cmd.Context()
			n, err := boot.Own(ctx, boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleServe, Logger: c.log,
				AllowedHosts: append(hosts, listenHost(listen)...), MaxBodyBytes: maxBody, SnapshotGrace: grace, DrainTimeout: drain, LifecycleDisabled: lifecycleDisabled()})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, n.Close()) }()
			l, err := boot.Listen(listen)
			if err != nil {
				return sentence(err.Error())
			}
			url := "http://" + l.Addr().String()
			if err := n.Publish(url); err != nil {
				l.Close()
				return err
			}
			build := boot.ReadBuild()
			c.log.LogAttrs(ctx, slog.LevelInfo, "serving", slog.String("url", url), slog.String("workbench_root", n.WorkbenchRoot()),
				slog.String("version", build.Version), slog.String("revision", build.Revision))
			// The listener has been taking connections since Listen; they are answered from here on.
			fmt.Fprintln(cmd.OutOrStdout(), "ready "+url)
			if examples {
				writeExamples(cmd.ErrOrStderr(), url, p.dir)
			}
			defer context.AfterFunc(ctx, func() {
				c.log.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Duration("at_most", drain))
			})()
			err = n.Serve(ctx, l)
			c.log.LogAttrs(ctx, slog.LevelInfo, "stopped")
			return err
		},
	}
	p.flags(cmd, false)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	cmd.Flags().BoolVar(&nonlocal, "allow-nonlocal-bind", false, "listen on an address that other machines can reach")
	cmd.Flags().StringSliceVar(&hosts, "allow-host", nil, "host name, beside those of this machine, that requests may come for (repeatable)")
	cmd.Flags().Int64Var(&maxBody, "max-body-bytes", op.LimitDefaultMaxBodyBytes, "largest body of the raw file routes")
	cmd.Flags().DurationVar(&grace, "snapshot-grace", time.Duration(op.LimitSnapshotGraceSeconds)*time.Second, "how long after its lease a snapshot can still be renewed")
	cmd.Flags().DurationVar(&drain, "drain-timeout", server.DefaultDrainTimeout, "how long requests in progress may take after SIGTERM")
	cmd.Flags().BoolVar(&examples, "examples", false, "print URLs and first calls to standard error")
	return cmd
}

// listenHost is the host of an address that requests may name because it is listened on.
func listenHost(address string) []string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return nil
	}
	return []string{host}
}

// writeExamples prints calls that can be pasted as they are.
func writeExamples(w io.Writer, url, dir string) {
	self, err := os.Executable()
	if err != nil {
		self = "sawhorse"
	}
	addr := url[len("http://"):]
	fmt.Fprintf(w, `
HTTP and JSON   %[1]s/v1/workbench/{create,put_file,append,edit,list,stat,read,grep,search,commit,snapshot,restore,...}
raw files       %[1]s/v1/workbenches/ID/files/SECTION/PATH
Connect, gRPC   %[1]s/sawhorse.workbench.v1.WorkbenchService/{Create,PutFile,...}
MCP             %[1]s/mcp/workbench
WebSocket       ws://%[2]s/ws
metrics         %[1]s/metrics

Store a file, and read it back:

  curl -s %[1]s/v1/workbench/put_file -H 'content-type: application/json' \
    -d '{"id":"first","section":"outputs","path":"hello.txt","text":"Hello from a sawhorse\n"}'
  curl -s %[1]s/v1/workbench/read -H 'content-type: application/json' \
    -d '{"id":"first","section":"outputs","path":"hello.txt"}'
  curl -s %[1]s/v1/workbenches/first/files/outputs/hello.txt

The same over gRPC, the schema by reflection:

  buf curl --protocol grpc --http2-prior-knowledge \
    -d '{"id":"first","section":"outputs","path":"hello.txt"}' \
    %[1]s/sawhorse.workbench.v1.WorkbenchService/Read

MCP clients take one of these two:

  {"mcpServers": {"sawhorse": {"type": "http", "url": "%[1]s/mcp/workbench"}}}
  {"mcpServers": {"sawhorse": {"command": %[3]q, "args": ["mcp", "--data", %[4]q]}}}

`, url, addr, self, absolute(dir))
}
