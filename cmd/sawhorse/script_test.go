package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// binary is the program under test, built once for the package.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sawhorse-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "sawhorse")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n%v\n", out, err)
		return 1
	}
	return m.Run()
}

// patience is how long a real process may take for one step.
const patience = 60 * time.Second

// processes are the background programs of one script, by name.
type processes struct{ running map[string]*process }

// process is a program that goes on while the script does.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // standard output
	stderr string      // file
	ended  chan error
}

type processesKey struct{}

// Scripts with real processes: ready line, ownership, takeover after kill -9, draining.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			p := &processes{running: map[string]*process{}}
			e.Values[processesKey{}] = p
			e.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Defer(func() {
				for _, x := range p.running {
					x.cmd.Process.Kill()
					<-x.ended
				}
			})
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"start":  start,
			"ready":  ready,
			"say":    say,
			"hear":   hear,
			"signal": signalProcess,
			"ended":  endedProcess,
			"await":  await,
			"fetch":  fetch,
		},
	})
}

func of(ts *testscript.TestScript) *processes { return ts.Value(processesKey{}).(*processes) }

func (p *processes) get(ts *testscript.TestScript, name string) *process {
	x := p.running[name]
	if x == nil {
		ts.Fatalf("no process %s", name)
	}
	return x
}

// start NAME ARGS... begins sawhorse in the background.
func start(ts *testscript.TestScript, _ bool, args []string) {
	name := args[0]
	cmd := exec.Command(binary, args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	x := &process{cmd: cmd, lines: make(chan string, 1000), ended: make(chan error, 1), stderr: filepath.Join(cmd.Dir, name+".stderr")}
	stderr, err := os.Create(x.stderr)
	ts.Check(err)
	cmd.Stderr = stderr
	x.in, err = cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				x.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				break
			}
		}
		close(x.lines)
		x.ended <- cmd.Wait()
		stderr.Close()
	}()
	of(ts).running[name] = x
}

func (x *process) line(ts *testscript.TestScript) string {
	select {
	case line, ok := <-x.lines:
		if !ok {
			text, _ := os.ReadFile(x.stderr)
			ts.Fatalf("the process has ended: %s", text)
		}
		return line
	case <-time.After(patience):
		text, _ := os.ReadFile(x.stderr)
		ts.Fatalf("the process says nothing: %s", text)
	}
	return ""
}

// ready NAME waits for the ready line and puts the URL into $URL and the process id into $PID.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	x := of(ts).get(ts, args[0])
	line := x.line(ts)
	url, ok := strings.CutPrefix(line, "ready ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") || strings.HasSuffix(url, ":0") {
		ts.Fatalf("the first line is %q", line)
	}
	ts.Setenv("URL", url)
	ts.Setenv("PID", strconv.Itoa(x.cmd.Process.Pid))
}

// say NAME LINE writes a line to a process; say NAME without a line closes its input.
func say(ts *testscript.TestScript, _ bool, args []string) {
	x := of(ts).get(ts, args[0])
	if len(args) == 1 {
		ts.Check(x.in.Close())
		return
	}
	_, err := io.WriteString(x.in, args[1]+"\n")
	ts.Check(err)
}

// hear NAME TEXT... demands that the next line holds every text (none of them with "!").
func hear(ts *testscript.TestScript, neg bool, args []string) {
	line := of(ts).get(ts, args[0]).line(ts)
	for _, want := range args[1:] {
		if strings.Contains(line, want) == neg {
			ts.Fatalf("heard %s, about %s", line, want)
		}
	}
}

// signal NAME SIGNAL
func signalProcess(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[args[1]]
	ts.Check(of(ts).get(ts, args[0]).cmd.Process.Signal(sig))
}

// ended NAME STATUS waits for the end; STATUS is a number, or "killed".
func endedProcess(ts *testscript.TestScript, _ bool, args []string) {
	p := of(ts)
	x := p.get(ts, args[0])
	select {
	case err := <-x.ended:
		delete(p.running, args[0])
		status := "0"
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			status = strconv.Itoa(exit.ExitCode())
			if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				status = "killed"
			}
		}
		if status != args[1] {
			text, _ := os.ReadFile(x.stderr)
			ts.Fatalf("ended with %s: %s", status, text)
		}
	case <-time.After(patience):
		ts.Fatalf("%s does not end", args[0])
	}
}

// await NAME REQUEST TEXT repeats a request until the answer holds the text: a client of a dead owner finds the next.
func await(ts *testscript.TestScript, _ bool, args []string) {
	x := of(ts).get(ts, args[0])
	deadline := time.Now().Add(patience)
	for {
		_, err := io.WriteString(x.in, args[1]+"\n")
		ts.Check(err)
		line := x.line(ts)
		if strings.Contains(line, args[2]) {
			return
		}
		// Until then the only answer is a retryable error.
		if !strings.Contains(line, `"retryable":true`) || time.Now().After(deadline) {
			ts.Fatalf("heard %s", line)
		}
	}
}

// fetch METHOD PATH FILE calls a server by HTTP, with the file as a JSON body unless it is "-", and prints status and
// body to the file fetched.
func fetch(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := []string{"-s", "-i", "-X", args[0], ts.Getenv("URL") + args[1]}
	if args[2] != "-" {
		command = append(command, "-H", "content-type: application/json", "--data-binary", "@"+ts.MkAbs(args[2]))
	}
	out, err := exec.CommandContext(ctx, "curl", command...).Output()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("fetched"), out, 0o600))
}

// The JSON that the command promises on either stream is JSON.
func TestWorkbenchStreams(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) (stdout, stderr string, status int) {
		cmd := exec.Command(binary, append([]string{"workbench"}, args...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	stdout, stderr, status := run("create", `{"id":"demo"}`, "--data", dir)
	var res map[string]any
	if json.Unmarshal([]byte(stdout), &res) != nil || status != 0 || stderr != "" || !strings.Contains(stdout, "\n  \"") {
		t.Errorf("create: %d %q %q", status, stdout, stderr)
	}
	for _, args := range [][]string{
		{"stat", `{"id":"nobody"}`, "--data", dir}, {"stat", `{`, "--data", dir}, {"dance", `{}`, "--data", dir}, {"stat", `{"id":"demo"}`, "--server", "http://127.0.0.1:1"},
		{"create", `{"id":"demo"}`, "--data", dir, "--workbench-root", "/other"},
	} {
		stdout, stderr, status := run(args...)
		var e map[string]any
		if json.Unmarshal([]byte(stderr), &e) != nil || len(e) != 5 || strings.Count(stderr, "\n") != 1 || status != 1 || stdout != "" {
			t.Errorf("%v: %d %q %q", args, status, stdout, stderr)
		}
	}
}
