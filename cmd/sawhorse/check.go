package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
)

// storeDir is what every data directory has, from its first opening on.
const storeDir = "kv"

func newCheck(c *common) *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "check --data DIR",
		Short: "Verify a data directory",
		Long: `Check opens DIR and verifies every invariant of the store: checksums of all bodies, indexes against rows, references
against files. It prints what it looked at, and ends with status 1 when something is wrong or DIR holds no store. Nothing is repaired.
Nobody else may have DIR open.`,
		Example: "  sawhorse check --data ./data",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := p.check(cmd); err != nil {
				return err
			}
			// Opening makes a directory; checking one that is not there would find nothing wrong with it.
			if _, err := os.Stat(filepath.Join(p.dir, storeDir)); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s holds no store; nothing was checked", p.dir)
			} else if err != nil {
				return fmt.Errorf("%s: %w", p.dir, err)
			}
			n, err := boot.Own(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleCheck, Logger: c.log})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, n.Close()) }()
			report, err := n.Check(cmd.Context())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, name := range report.Checks {
				fmt.Fprintln(out, "checked", name)
			}
			for _, problem := range report.Problems {
				fmt.Fprintln(out, "problem", problem)
			}
			fmt.Fprintf(out, "%d rows, %d problems\n", report.Rows, len(report.Problems))
			if len(report.Problems) > 0 {
				return errNotClean
			}
			return nil
		},
	}
	p.flags(cmd, false)
	cmd.Flags().Lookup("data").Usage = "data directory (default $SAWHORSE_DATA)"
	cmd.Flags().Lookup("workbench-root").Usage = "root of the paths in answers, which must be the stored one"
	return cmd
}
