package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
)

func newBackup(c *common) *cobra.Command {
	var p place
	var keep int
	cmd := &cobra.Command{
		Use:   "backup DEST --data DIR",
		Short: "Copy a data directory while it is in use",
		Long: `Backup makes a new directory below DEST that holds the store of one moment: whatever was acknowledged before is in it.
Nobody has to stop; when DIR is open already, the process that has it open does the work. What an earlier backup in DEST holds with
the same bytes is linked, so a further backup takes the room of what is new. Each backup is complete by itself.`,
		Example: "  sawhorse backup /var/backups/sawhorse --data ./data\n  sawhorse backup /var/backups/sawhorse --data ./data --keep 7",
		Args:    exactly(1, "say where the backups are: sawhorse backup DEST --data DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.check(cmd); err != nil {
				return err
			}
			if keep < 0 {
				return usagef("--keep %d: at least 1, or 0 to keep all", keep)
			}
			c.knows(&p, words.Place{Name: "DEST", Path: args[0]})
			if err := p.needStore(); err != nil {
				return err
			}
			bar := newMeter(cmd.ErrOrStderr(), false)
			res, err := boot.Backup(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleBackup, Logger: c.quiet(cmd)}, args[0], keep, bar.progress)
			bar.end()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "%s: %s, %s, of which %s are new\n", res.Name, count(res.Files, "file"), mebibytes(res.Bytes), mebibytes(res.CopiedBytes))
			for _, name := range res.Removed {
				fmt.Fprintln(out, "removed", name)
			}
			return nil
		},
	}
	p.flags(cmd, false)
	cmd.Flags().Lookup("data").Usage = "data directory (default $SAWHORSE_DATA)"
	cmd.Flags().IntVar(&keep, "keep", 0, "how many backups stay in DEST, this one among them; 0 keeps all")
	return cmd
}

func newRestoreBackup(c *common) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "restore-backup BACKUP --data DIR",
		Short: "Make a data directory of a backup",
		Long: `Restore-backup copies a backup, or the newest one below BACKUP, to DIR, which must be missing or empty. Every byte is
compared with the digests that were taken when the backup was made. DIR cannot be opened before it is whole; when the command is cut
off, run it again.`,
		Example: "  sawhorse restore-backup /var/backups/sawhorse --data ./data-again",
		Args:    exactly(1, "say which backup: sawhorse restore-backup BACKUP --data DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return usagef("say where the data is to be: --data DIR")
			}
			c.knows(&place{dir: dir}, words.Place{Name: "BACKUP", Path: args[0]})
			bar := newMeter(cmd.ErrOrStderr(), false)
			m, err := boot.RestoreBackup(cmd.Context(), args[0], dir, bar.progress)
			bar.end()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s holds the state of %s: %s, %s\n", dir, m.At.Format(time.RFC3339), count(len(m.Files), "file"), mebibytes(m.Bytes()))
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "data", "", "data directory to make")
	return cmd
}

// exactly demands a number of arguments, in words.
func exactly(n int, say string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s", say)
		}
		return nil
	}
}

// progress shows a copy on a meter.
func (m *meter) progress(done, total int64, file string) { m.show(done, total, "copied", file) }
