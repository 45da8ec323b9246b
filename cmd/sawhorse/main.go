// Command sawhorse serves a data directory on every protocol, and works on one from a shell.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once, as it would without us.
	context.AfterFunc(ctx, stop)
	root := newRoot()
	if err := root.ExecuteContext(ctx); err != nil {
		var said *saidError
		if !errors.As(err, &said) {
			fmt.Fprintln(os.Stderr, "sawhorse: "+err.Error())
		}
		return 1
	}
	return 0
}

// saidError has been printed already, in the form that the command promises.
type saidError struct{ err error }

func (e *saidError) Error() string { return e.err.Error() }
func (e *saidError) Unwrap() error { return e.err }

// common holds the flags that all commands share.
type common struct {
	logLevel, logFormat string
	log                 *slog.Logger
}

func newRoot() *cobra.Command {
	c := &common{}
	root := &cobra.Command{
		Use:   "sawhorse",
		Short: "A workbench for agents, on HTTP, Connect, gRPC, MCP and WebSocket",
		Long: `Sawhorse keeps agents' files in versioned workbenches and serves them on every protocol at once:
HTTP/JSON, Connect, gRPC and gRPC-Web, MCP over HTTP and stdio, and WebSocket.

One process owns a data directory. The first command that opens it becomes the owner; all others
work through the owner, whether that is "serve" or an "mcp" that an agent has started.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			log, err := boot.NewLogger(c.logLevel, c.logFormat)
			c.log = log
			return err
		},
	}
	root.PersistentFlags().StringVar(&c.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error; debug logs every call")
	root.PersistentFlags().StringVar(&c.logFormat, "log-format", "text", "form of the log on standard error: text or json")
	root.AddCommand(newServe(c), newMCP(c), newWorkbench(c), newCheck(c), newConformance(c), newVersion())
	return root
}

// place holds the flags that say where the data is.
type place struct {
	dir, server, root string
}

func (p *place) flags(cmd *cobra.Command, remote bool) {
	cmd.Flags().StringVar(&p.dir, "data", os.Getenv("SAWHORSE_DATA"), "data directory, made when missing (default $SAWHORSE_DATA)")
	cmd.Flags().StringVar(&p.root, "workbench-root", "", "root of the paths in answers, stored when DIR is made (default /agents/default/wb)")
	if remote {
		cmd.Flags().StringVar(&p.server, "server", "", "URL of a running server, in place of --data")
	}
}

// check demands exactly one place.
func (p *place) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed("data")
	switch {
	case p.server != "" && given:
		return errors.New("--data and --server exclude each other")
	case p.server != "" && p.root != "":
		return errors.New("--workbench-root belongs to a data directory; the server has its own")
	case p.server == "" && p.dir == "":
		return errors.New("say where the data is: --data DIR" + orServer(cmd))
	}
	return nil
}

func orServer(cmd *cobra.Command) string {
	if cmd.Flags().Lookup("server") != nil {
		return " or --server URL"
	}
	return ""
}

// lifecycleDisabled is the contract's own switch.
func lifecycleDisabled() bool { return os.Getenv("NODETOOL_DISABLE_SDK_LIFECYCLE_V1") == "1" }
