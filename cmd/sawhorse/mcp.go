package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
)

func newMCP(c *common) *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "mcp --data DIR | --server URL",
		Short: "Speak MCP on standard input and output",
		Long: `Mcp serves one agent over newline-delimited JSON-RPC. When nobody has DIR open, it opens it, and other commands work
through it while it lives; otherwise it works through the owner. If that owner dies, calls fail with a retryable error
until there is a new one. It ends with its input.`,
		Example: `  sawhorse mcp --data ./data
  sawhorse mcp --server http://127.0.0.1:8080
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | sawhorse mcp --data ./data`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := p.check(cmd); err != nil {
				return err
			}
			c.knows(&p)
			t, err := boot.Reach(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleMCP, Logger: c.log,
				LifecycleDisabled: lifecycleDisabled()}, p.server)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, t.Close()) }()
			return t.MCP.ServeStdio(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	p.flags(cmd, true)
	return cmd
}

// absolute is the path as another working directory can use it.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
