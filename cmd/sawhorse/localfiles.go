package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/cmd/boot"
	"github.com/sawhorse-dev/sawhorse/cmd/localfiles"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

const errNotAll = sentence("not everything could be done; run it again when the problems are solved, and only what is left is done")

func newMaterialize(c *common) *cobra.Command {
	var p place
	var f localFlags
	var section string
	var remove bool
	cmd := &cobra.Command{
		Use:   "materialize ID DIR --data DIR | --server URL",
		Short: "Copy a workbench to a directory",
		Long: `Materialize makes the files of a workbench files of DIR: SECTION/PATH, or PATH with --section. Only what differs is fetched,
every byte is compared with the workbench's digests, and what was cut off goes on when the command is run again. Files that DIR has
beside stay, unless --delete. Links in DIR are never followed, and nothing outside of it is touched; DIR itself must not be a link.`,
		Example: "  sawhorse materialize run-7 ./run-7 --data ./data\n  sawhorse materialize run-7 ./out --section outputs --server http://127.0.0.1:8080",
		Args:    exactly(2, "say which workbench and where to: sawhorse materialize ID DIR --data DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, c, &p, args[1], "fetched", func(ctx context.Context, wb localfiles.Workbench, o localfiles.Options) (localfiles.Report, error) {
				o.Delete = remove
				return localfiles.Materialize(ctx, wb, args[0], section, args[1], o)
			})
		},
	}
	p.flags(cmd, true)
	f.flags(cmd)
	cmd.Flags().StringVar(&section, "section", "", "copy this section alone")
	cmd.Flags().BoolVar(&remove, "delete", false, "remove regular files from DIR that the workbench does not have")
	return cmd
}

func newCollect(c *common) *cobra.Command {
	var p place
	var f localFlags
	var prefix string
	cmd := &cobra.Command{
		Use:   "collect DIR ID SECTION --data DIR | --server URL",
		Short: "Copy a directory to a section of a workbench",
		Long: `Collect makes the files below DIR files of a section. Only what differs is sent; a file is replaced in the generation that it
was compared with and in no other, so that nobody's newer one is lost. Links and special files are refused by name, and DIR itself must
not be a link. What the section has beside stays.`,
		Example: "  sawhorse collect ./out run-7 outputs --data ./data\n  sawhorse collect ./src run-7 input --prefix src --server http://127.0.0.1:8080",
		Args:    exactly(3, "say from where, which workbench and which section: sawhorse collect DIR ID SECTION --data DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, c, &p, args[0], "sent", func(ctx context.Context, wb localfiles.Workbench, o localfiles.Options) (localfiles.Report, error) {
				return localfiles.Collect(ctx, wb, args[0], args[1], args[2], prefix, o)
			})
		},
	}
	p.flags(cmd, true)
	f.flags(cmd)
	cmd.Flags().StringVar(&prefix, "prefix", "", "directory in the section that the files go to")
	return cmd
}

// localFlags are those of both directions.
type localFlags struct {
	asJSON, quiet bool
	parallel      int
}

func (f *localFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the report as a JSON object")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "do not show how far it is")
	cmd.Flags().IntVar(&f.parallel, "parallel", 8, "how many files move at a time")
}

func (f *localFlags) run(cmd *cobra.Command, c *common, p *place, dir, verb string,
	do func(context.Context, localfiles.Workbench, localfiles.Options) (localfiles.Report, error)) error {
	if err := p.check(cmd); err != nil {
		return err
	}
	if f.parallel < 1 || f.parallel > 64 {
		return usagef("--parallel %d: from 1 to 64", f.parallel)
	}
	c.knows(p, words.Place{Name: "DIR", Path: dir})
	return withTarget(cmd.Context(), boot.Config{Dir: p.dir, WorkbenchRoot: p.root, Role: boot.RoleFiles, Logger: c.quiet(cmd)}, p.server, func(t *boot.Target) error {
		bar := newMeter(cmd.ErrOrStderr(), f.quiet)
		o := localfiles.Options{Parallel: f.parallel, Progress: func(at localfiles.Progress) {
			bar.show(at.Bytes, at.TotalBytes, fmt.Sprintf("%d of %d files", at.Files, at.TotalFiles), at.Path)
		}}
		report, err := do(cmd.Context(), files(t), o)
		bar.end()
		if err != nil {
			if cmd.Context().Err() != nil {
				return sentence("interrupted; run it again, and it goes on where it ended")
			}
			return err
		}
		return f.tell(cmd, report, verb)
	})
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// files carries the calls of localfiles to a target.
func files(t *boot.Target) localfiles.Workbench {
	return localfiles.Workbench{Files: t.Files, List: func(ctx context.Context, req *op.WorkbenchListRequest) (*op.WorkbenchListResult, error) {
		res, err := t.Pipeline.Via(call.Local, "").Call(ctx, op.WorkbenchListOp, req)
		if err != nil {
			return nil, err
		}
		return res.(*op.WorkbenchListResult), nil
	}}
}

func (f *localFlags) tell(cmd *cobra.Command, r localfiles.Report, verb string) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(out, string(text))
	} else {
		fmt.Fprintf(out, "%s, %s: %d %s (%s), %d already equal\n", count(r.Files, "file"), mebibytes(r.Bytes), r.Moved, verb, mebibytes(r.MovedBytes), r.Files-r.Moved)
		for _, name := range r.Removed {
			fmt.Fprintf(out, "removed %s\n", name)
		}
		for _, name := range r.Skipped {
			fmt.Fprintf(out, "skipped %s: the workbench writes it itself\n", name)
		}
		for _, p := range r.Problems {
			fmt.Fprintf(out, "problem %s: %s\n", p.Path, p.Text)
		}
	}
	if len(r.Problems) > 0 {
		return errNotAll
	}
	return nil
}
