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
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

func newWorkbench(c *common) *cobra.Command {
	var p place
	names := toolNames()
	cmd := &cobra.Command{
		Use:   "workbench TOOL JSON --data DIR | --server URL",
		Short: "Call one Workbench tool",
		Long: `Workbench calls one tool with the arguments given as a JSON object, or read from standard input when JSON is "-". The
result is printed to standard output, indented; an error of the call goes to standard error as one line of JSON, and the status is 1.

"sawhorse workbench help TOOL" tells what a tool does and which arguments it takes.
Tools, with or without the prefix "workbench_":
  ` + strings.Join(names, ", "),
		Example: `  sawhorse workbench help put_file
  sawhorse workbench create '{"id":"demo"}' --data ./data
  sawhorse workbench put_file '{"id":"demo","section":"outputs","path":"a.txt","text":"hello"}' --data ./data
  sawhorse workbench workbench_read '{"id":"demo","section":"outputs","path":"a.txt"}' --server http://127.0.0.1:8080
  jq -n '{id:"demo"}' | sawhorse workbench list - --data ./data`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("say TOOL and JSON, such as: sawhorse workbench create '{\"id\":\"demo\"}' --data ./data")
			}
			return nil
		},
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "help" {
				return explain(cmd, args[1:])
			}
			tool, err := toolNamed(args[0])
			if err != nil {
				return complain(cmd, err)
			}
			if err := p.check(cmd); err != nil {
				return err
			}
			arguments := []byte("{}")
			if len(args) == 2 {
				arguments = []byte(args[1])
				if args[1] == "-" {
					if arguments, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), op.LimitMaxCallBodyBytes+1)); err != nil {
						return fault.New(op.ReasonInvalidArguments, "Standard input cannot be read.").Because(err)
					}
				}
			}
			result, err := callTool(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleCall, Logger: c.quiet(cmd),
				LifecycleDisabled: lifecycleDisabled()}, p.server, tool.Op, arguments)
			if err != nil {
				if cause := errors.Unwrap(err); cause != nil {
					c.log.LogAttrs(cmd.Context(), slog.LevelDebug, "failed", slog.String("cause", cause.Error()))
				}
				return complain(cmd, err)
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
	general := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if named := cmd.Flags().Args(); len(named) > 0 && explain(cmd, named[:1]) == nil {
			return
		}
		general(cmd, args)
	})
	return cmd
}

// complain prints an error in the form that the command promises.
func complain(cmd *cobra.Command, err error) error {
	line := call.AppendError(nil, op.AreaWorkbench, call.PublicIn(op.AreaWorkbench, err), time.Now())
	fmt.Fprintln(cmd.ErrOrStderr(), string(line))
	return &saidError{err}
}

// callTool carries out one call. Every error carries a reason, or public words of a server.
func callTool(ctx context.Context, c boot.Config, server string, d *op.Descriptor, arguments []byte) (result []byte, err error) {
	t, err := boot.Reach(ctx, c, server)
	if err != nil {
		return nil, boot.Explain(err, boot.DataPlace(c.Dir))
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
