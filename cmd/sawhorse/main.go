// Command sawhorse serves a data directory on every protocol, and works on one from a shell.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once, as it would without us.
	context.AfterFunc(ctx, stop)
	c := &common{}
	root, out := newRoot(c), &output{w: os.Stdout}
	root.SetOut(out)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	if err != nil {
		var usage *usageError
		var said *saidError
		called := c.log == nil || errors.As(err, &usage) // what fails before a command begins is the way it was called
		switch own := (sentence)(""); {
		case errors.As(err, &said):
		case called || errors.As(err, &own):
			fmt.Fprintln(os.Stderr, "sawhorse: "+err.Error())
		default:
			fmt.Fprintln(os.Stderr, "sawhorse: "+c.explain(err))
		}
		if called {
			fmt.Fprintf(os.Stderr, "Run %q for usage.\n", cmd.CommandPath()+" --help")
		}
		return 1
	}
	return 0
}

// output remembers that something could not be written: what a command promises to print has to get there.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// explain is what is said of an error that is not in our words yet: the public word of its reason, and a sentence. The error
// itself goes to the log of those who ask for it.
func (c *common) explain(err error) string {
	f := boot.Explain(err, append(c.places, words.Place{Name: "Standard output", Path: "/dev/stdout"})...)
	c.log.LogAttrs(context.Background(), slog.LevelDebug, "failed", slog.String("cause", err.Error()))
	p := call.PublicIn(op.AreaWorkbench, f)
	if p.Reason == op.ReasonInternal {
		p.Message = "Something went wrong that has no words yet; run it again with --log-level debug for the cause."
	}
	return p.Code + ": " + p.Message
}

// sentence is an error in our own words, which are said as they are.
type sentence string

func (s sentence) Error() string { return string(s) }

// saidError has been printed already, in the form that the command promises.
type saidError struct{ err error }

func (e *saidError) Error() string { return e.err.Error() }
func (e *saidError) Unwrap() error { return e.err }

// usageError is a mistake in the way a command was called.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// common holds the flags that all commands share.
type common struct {
	logLevel, logFormat string
	log                 *slog.Logger
	places              []words.Place // what the command was told of
}

// knows says which operands an error may be about.
func (c *common) knows(p *place, others ...words.Place) {
	if p.dir != "" && p.server == "" {
		others = append(others, boot.DataPlace(p.dir))
	}
	c.places = others
}

// quiet is the log of a command that answers one caller: it says what is wrong, and more only when a level was asked for.
func (c *common) quiet(cmd *cobra.Command) *slog.Logger {
	if cmd.Flags().Changed("log-level") {
		return c.log
	}
	return slog.New(atLeast{c.log.Handler(), slog.LevelWarn})
}

// atLeast hides what is below a level.
type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level}
}

func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}

func newRoot(c *common) *cobra.Command {
	root := &cobra.Command{
		Use:   "sawhorse",
		Short: "A workbench for agents, on HTTP, Connect, gRPC, MCP and WebSocket",
		Long: `Sawhorse keeps agents' files in versioned workbenches and serves them on every protocol at once:
HTTP/JSON, Connect, gRPC and gRPC-Web, MCP over HTTP and stdio, and WebSocket.

One process owns a data directory. The first command that opens it becomes the owner; all others
work through the owner, whether that is "serve" or an "mcp" that an agent has started.`,
		Version:       versionLine(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			log, err := boot.NewLogger(c.logLevel, c.logFormat)
			c.log = log
			return err
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().StringVar(&c.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error; debug logs every call")
	root.PersistentFlags().StringVar(&c.logFormat, "log-format", "text", "form of the log on standard error: text or json")
	root.AddCommand(newServe(c), newMCP(c), newWorkbench(c), newMaterialize(c), newCollect(c), newCheck(c), newStats(c), newBackup(c), newRestoreBackup(c), newConformance(c), newVersion())
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
		return usagef("--data and --server exclude each other")
	case p.server != "" && p.root != "":
		return usagef("--workbench-root belongs to a data directory; the server has its own")
	case p.server == "" && p.dir == "":
		return usagef("say where the data is: --data DIR%s", orServer(cmd))
	}
	if p.server != "" {
		if u, err := url.Parse(p.server); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return usagef("--server %s is not a URL such as http://127.0.0.1:8080", p.server)
		}
	}
	if p.root != "" {
		if _, err := jail.ParseRoot(p.root); err != nil {
			return usagef("--workbench-root %s: workbench root: %v", p.root, err)
		}
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
