package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sawhorse-dev/sawhorse/conformance"
	"github.com/sawhorse-dev/sawhorse/conformance/driver"
)

func newConformance(*common) *cobra.Command {
	cmd := &cobra.Command{Use: "conformance", Short: "Judge a running server"}
	cmd.AddCommand(newConformanceRun())
	return cmd
}

func newConformanceRun() *cobra.Command {
	var target, junit string
	var scenarios, protocols, modes []string
	var parallel int
	var verbose bool
	cmd := &cobra.Command{
		Use:   "run --url URL",
		Short: "Replay the scenarios against a running server, over every protocol",
		Long: `Run replays the suite's scenarios against the server at URL and prints a matrix of scenarios and protocols. It works in
workbenches of its own, whose ids begin with a prefix of their own, and leaves them behind. Scenarios that need a fake
clock, a crash or an empty server do not apply, and are counted. The status is 1 when something failed.`,
		Example: `  sawhorse conformance run --url http://127.0.0.1:8080
  sawhorse conformance run --url http://127.0.0.1:8080 --scenario 'workbench/edit*' --protocol http --protocol grpc
  sawhorse conformance run --url http://127.0.0.1:8080 --junit report.xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := url.Parse(target)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usagef("--url %q is not a URL such as http://127.0.0.1:8080", target)
			}
			o := conformance.Options{Scenarios: scenarios, Parallel: parallel}
			for _, p := range protocols {
				if !driver.Known(p) {
					return usagef("--protocol %s is none of %v", p, driver.Protocols())
				}
				o.Protocols = append(o.Protocols, driver.Protocol(p))
			}
			for _, m := range modes {
				o.Modes = append(o.Modes, conformance.Mode(m))
			}
			if verbose {
				o.Progress = func(r conformance.Result) { fmt.Fprintln(cmd.ErrOrStderr(), r.Outcome, r.Key()) }
			}
			base := strings.TrimRight(target, "/")
			report, err := conformance.Run(cmd.Context(), conformance.Target{URL: base, Stdio: stdioClient(base)}, o)
			if werr := report.WriteMatrix(cmd.OutOrStdout()); werr != nil {
				return werr
			}
			if junit != "" {
				if werr := writeFile(junit, report.WriteJUnit); werr != nil {
					return werr
				}
			}
			if err != nil {
				return sentence(err.Error())
			}
			if !report.OK() {
				return sentence("the server does not conform")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&target, "url", "", "base URL of the server")
	cmd.Flags().StringVar(&junit, "junit", "", "write the results to this file, as JUnit XML")
	cmd.Flags().StringSliceVar(&scenarios, "scenario", nil, "play only scenarios whose id matches this pattern (repeatable)")
	cmd.Flags().StringSliceVar(&protocols, "protocol", nil, fmt.Sprintf("play only over this protocol (repeatable): %v", driver.Protocols()))
	cmd.Flags().StringSliceVar(&modes, "mode", nil, "play only in this mode (repeatable): single, mixed")
	cmd.Flags().IntVar(&parallel, "parallel", 4, "how many scenarios are played at a time")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print each result as it comes, to standard error")
	return cmd
}

// stdioClient starts this program as an MCP client of the server, so that the suite covers stdio as well.
func stdioClient(url string) func(context.Context) (io.ReadWriteCloser, error) {
	return func(context.Context) (io.ReadWriteCloser, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		// The conversation outlives the step that begins it.
		child := exec.Command(self, "mcp", "--server", url, "--log-level", "error")
		child.Stderr = os.Stderr
		in, err := child.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := child.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := child.Start(); err != nil {
			return nil, err
		}
		return &childPipe{in, out, child}, nil
	}
}

// childPipe is a conversation with a child process.
type childPipe struct {
	io.WriteCloser
	io.Reader
	child *exec.Cmd
}

// Close ends the child's input and waits for it.
func (c *childPipe) Close() error {
	return errors.Join(c.WriteCloser.Close(), c.child.Wait())
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
