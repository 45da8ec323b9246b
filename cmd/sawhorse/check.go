package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// storeDir is what every data directory has, from its first opening on.
const storeDir = "kv"

// askEvery is how often a check that runs elsewhere is asked how far it is.
const askEvery = 100 * time.Millisecond

var (
	errNotClean     = sentence("the store is not clean")
	errCheckStopped = sentence("the check was stopped: the process that ran it is ending")
)

func newCheck(c *common) *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "check --data DIR | --server URL",
		Short: "Verify a data directory",
		Long: `Check verifies every invariant of the store: checksums of all bodies, indexes against rows, references against files.
It prints what it looked at, and ends with status 1 when something is wrong or DIR holds no store. Nothing is repaired.

When DIR is open already, the process that has it open does the work, and goes on serving meanwhile.`,
		Example: "  sawhorse check --data ./data\n  sawhorse check --server http://127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.check(cmd); err != nil {
				return err
			}
			c.knows(&p)
			if err := p.needStore(); err != nil {
				return err
			}
			return withTarget(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleCheck, Logger: c.quiet(cmd)}, p.server,
				func(t *boot.Target) error { return runCheck(cmd, t) })
		},
	}
	p.flags(cmd, true)
	cmd.Flags().Lookup("data").Usage = "data directory (default $SAWHORSE_DATA)"
	cmd.Flags().Lookup("workbench-root").Usage = "root of the paths in answers, which must be the stored one"
	return cmd
}

// needStore refuses a directory without a store: opening would make one, and find nothing wrong with it.
func (p *place) needStore() error {
	if p.server != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(p.dir, storeDir)); errors.Is(err, fs.ErrNotExist) {
		return fault.New(op.ReasonWBNotFound, "The data directory (--data) holds no store; nothing was made or looked at.")
	} else if err != nil {
		return err
	}
	return nil
}

// withTarget runs fn on the place where the data is.
func withTarget(ctx context.Context, c boot.Config, server string, fn func(*boot.Target) error) (err error) {
	t, err := boot.Reach(ctx, c, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return fn(t)
}

// do carries out an operation that takes nothing.
func do[R op.Result](ctx context.Context, t *boot.Target, d *op.Descriptor) (result R, err error) {
	res, err := t.Pipeline.Via(call.Local, "").CallJSON(ctx, d, []byte("{}"))
	if err != nil {
		return result, err
	}
	return res.(R), nil
}

func runCheck(cmd *cobra.Command, t *boot.Target) error {
	begun, err := do[*op.WorkbenchStartCheckResult](cmd.Context(), t, op.WorkbenchStartCheckOp)
	if err != nil {
		return err
	}
	check := begun.Check
	for check.State == "running" {
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(askEvery):
		}
		now, err := do[*op.WorkbenchGetCheckResult](cmd.Context(), t, op.WorkbenchGetCheckOp)
		if err != nil {
			return err
		}
		if now.Check.CheckID != check.CheckID {
			return errCheckStopped
		}
		check = now.Check
	}
	if check.State != "done" {
		return errCheckStopped
	}
	out := cmd.OutOrStdout()
	for _, name := range check.Checks {
		fmt.Fprintln(out, "checked", name)
	}
	for _, p := range check.Problems {
		fmt.Fprintf(out, "problem %s: %s: %s\n", p.Check, p.Invariant, p.Text)
	}
	fmt.Fprintf(out, "%d rows, %d problems\n", check.RowCount, check.ProblemCount)
	if check.ProblemCount > 0 {
		return errNotClean
	}
	return nil
}
