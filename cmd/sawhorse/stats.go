package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func newStats(c *common) *cobra.Command {
	var p place
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "stats --data DIR | --server URL",
		Short:   "Print the store's figures",
		Long:    `Stats prints how much the store holds, what it takes on the disk, and what it did since the process that has it open began.`,
		Example: "  sawhorse stats --server http://127.0.0.1:8080\n  sawhorse stats --data ./data --json",
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
				func(t *boot.Target) error {
					s, err := do[*op.WorkbenchGetStatsResult](cmd.Context(), t, op.WorkbenchGetStatsOp)
					if err != nil {
						return err
					}
					if asJSON {
						var out bytes.Buffer
						if err := json.Indent(&out, s.AppendJSON(nil), "", "  "); err != nil {
							return err
						}
						fmt.Fprintln(cmd.OutOrStdout(), out.String())
						return nil
					}
					return writeStats(cmd, s)
				})
		},
	}
	p.flags(cmd, true)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the figures as a JSON object")
	return cmd
}

func writeStats(cmd *cobra.Command, s *op.WorkbenchGetStatsResult) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "workbenches\t%d\n", s.WorkbenchCount)
	fmt.Fprintf(w, "namespaces\t%d\n", s.RootCount)
	fmt.Fprintf(w, "store on disk\t%s\n", mebibytes(s.DiskBytes))
	fmt.Fprintf(w, "bodies on disk\t%s\n", mebibytes(s.BodyBytes))
	space := "enough"
	if s.LowSpace {
		space = "nearly full: writes are refused"
	}
	fmt.Fprintf(w, "disk\t%s\n", space)
	fmt.Fprintf(w, "held revisions\t%d\n", s.HeldRevisions)
	fmt.Fprintf(w, "history window\t%d s\n", s.HistoryWindowSeconds)
	fmt.Fprintf(w, "updates\t%d, %d refused\n", s.UpdateCount, s.UpdatesRefused)
	fmt.Fprintf(w, "reads\t%d\n", s.ViewCount)
	fmt.Fprintf(w, "old versions dropped\t%d\n", s.ReapedVersions)
	fmt.Fprintf(w, "block cache\t%d hits, %d misses\n", s.CacheHits, s.CacheMisses)
	return w.Flush()
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
