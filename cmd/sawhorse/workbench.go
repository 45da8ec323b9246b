package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

const toolPrefix = "workbench_"

func newWorkbench(c *common) *cobra.Command {
	var p place
	var names []string
	for _, t := range mcp.Workbench {
		names = append(names, strings.TrimPrefix(t.Name, toolPrefix))
	}
	cmd := &cobra.Command{
		Use:   "workbench TOOL JSON --data DIR | --server URL",
		Short: "Call one Workbench tool",
		Long: `Workbench calls one tool with the arguments given as a JSON object, or read from standard input when JSON is "-". The
result is printed to standard output, indented; an error goes to standard error as one line of JSON, and the status is 1.

Tools, with or without the prefix "workbench_":
  ` + strings.Join(names, ", "),
		Example: `  sawhorse workbench create '{"id":"demo"}' --data ./data
  sawhorse workbench put_file '{"id":"demo","section":"outputs","path":"a.txt","text":"hello"}' --data ./data
  sawhorse workbench workbench_read '{"id":"demo","section":"outputs","path":"a.txt"}' --server http://127.0.0.1:8080
  jq -n '{id:"demo"}' | sawhorse workbench list - --data ./data`,
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.check(cmd); err != nil {
				return err
			}
			arguments := []byte("{}")
			if len(args) == 2 {
				arguments = []byte(args[1])
				if args[1] == "-" {
					var err error
					if arguments, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), op.LimitMaxCallBodyBytes+1)); err != nil {
						return fmt.Errorf("standard input: %w", err)
					}
				}
			}
			// A call that opens the store itself logs only what is wrong.
			quiet := slog.New(atLeast{c.log.Handler(), slog.LevelWarn})
			if c.logLevel == "debug" {
				quiet = c.log
			}
			result, err := callTool(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleCall, Logger: quiet,
				LifecycleDisabled: lifecycleDisabled()}, p.server, args[0], arguments)
			if err != nil {
				line := call.AppendError(nil, op.AreaWorkbench, call.PublicIn(op.AreaWorkbench, err), time.Now())
				fmt.Fprintln(cmd.ErrOrStderr(), string(line))
				return &saidError{err}
			}
			var out bytes.Buffer
			if err := json.Indent(&out, result, "", "  "); err != nil {
				return fmt.Errorf("result: %w", err)
			}
			out.WriteByte('\n')
			_, err = out.WriteTo(cmd.OutOrStdout())
			return err
		},
	}
	p.flags(cmd, true)
	return cmd
}

// callTool carries out one call. Every error carries a reason, or public words of a server.
func callTool(ctx context.Context, c boot.Config, server, tool string, arguments []byte) (result []byte, err error) {
	if !strings.HasPrefix(tool, toolPrefix) {
		tool = toolPrefix + tool
	}
	d := op.ByTool(tool)
	if d == nil {
		return nil, fault.New(op.ReasonWBUnknownTool, "").With("tool", tool)
	}
	t, err := boot.Reach(ctx, c, server)
	if err != nil {
		// Why a directory cannot be opened is for whoever typed the command, on the machine that has it.
		return nil, fault.New(op.ReasonUnavailable, err.Error()).Because(err)
	}
	defer func() {
		if cerr := t.Close(); cerr != nil && err == nil {
			err = fault.New(op.ReasonInternal, "").Because(cerr)
		}
	}()
	res, err := t.Pipeline.Via(call.Local, "").CallJSON(ctx, d, arguments)
	if err != nil {
		return nil, err
	}
	return res.AppendJSON(nil), nil
}

// atLeast hides what is below a level.
type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

var errNotClean = errors.New("the store is not clean")
