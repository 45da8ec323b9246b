package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is how long one block may run.
const patience = 10 * time.Minute

// execute runs the block in the root of the repository and reports what is not as the page says. Whatever the block leaves running is ended
// with it.
func (b block) execute(ctx context.Context, root, name string) []finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch b.language {
	case "sh", "bash":
		if out, err := shell(ctx, root, strings.Join(b.lines, "\n")); err != nil {
			return []finding{{name, b.line, fmt.Sprintf("the block fails: %v\n%s", err, last(out))}}
		}
		return nil
	case "console":
		return b.session(ctx, root, name)
	}
	return []finding{{name, b.line, fmt.Sprintf("a block of %q cannot be run; sh, bash and console can", b.language)}}
}

// step is one command of a session and what the page says that it prints.
type step struct {
	line    int
	command string
	want    []string
}

// mark stands on a line of its own before each command's output. It holds bytes that no page holds.
const mark = "\x01step\x01"

// session runs the commands of a console block in one shell and compares what each prints.
func (b block) session(ctx context.Context, root, name string) []finding {
	var steps []step
	for i, line := range b.lines {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{line: b.line + 1 + i, command: command})
		} else if more, ok := strings.CutPrefix(line, "> "); ok && len(steps) > 0 && len(steps[len(steps)-1].want) == 0 {
			steps[len(steps)-1].command += "\n" + more
		} else if len(steps) > 0 {
			steps[len(steps)-1].want = append(steps[len(steps)-1].want, line)
		} else {
			return []finding{{name, b.line + 1 + i, "output before the first command"}}
		}
	}
	if len(steps) == 0 {
		return []finding{{name, b.line, "a session without a command"}}
	}
	var script strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&script, "printf '\\n%s\\n'\n%s\n", mark, s.command)
	}
	out, err := shell(ctx, root, script.String())
	parts := strings.Split(string(out), "\n"+mark+"\n")[1:]
	var findings []finding
	for i, s := range steps {
		if i >= len(parts) {
			break
		}
		got := strings.Split(strings.TrimRight(parts[i], "\n"), "\n")
		if len(got) == 1 && got[0] == "" {
			got = nil
		}
		if !prints(got, s.want) {
			findings = append(findings, finding{name, s.line, fmt.Sprintf("%q prints\n%s\nand the page says\n%s", s.command, strings.Join(got, "\n"), strings.Join(s.want, "\n"))})
		}
	}
	if err != nil {
		findings = append(findings, finding{name, b.line, fmt.Sprintf("the session fails: %v\n%s", err, last(out))})
	}
	return findings
}

// prints reports whether the lines got are the lines that a page wants, where "..." stands for any lines or any text.
func prints(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "..." {
		for i := 0; i <= len(got); i++ {
			if prints(got[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && matchesLine(got[0], want[0]) && prints(got[1:], want[1:])
}

func matchesLine(got, want string) bool {
	parts := strings.Split(want, "...")
	if len(parts) == 1 {
		return got == want
	}
	if !strings.HasPrefix(got, parts[0]) {
		return false
	}
	got = got[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(got, part)
		if i < 0 {
			return false
		}
		got = got[i+len(part):]
	}
	return strings.HasSuffix(got, parts[len(parts)-1])
}

// shell runs a script in root, standard error among the output, and ends the whole process group afterwards.
func shell(ctx context.Context, root, script string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail")
	cmd.Dir = root
	cmd.Stdin = strings.NewReader(script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	group := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = group
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	group()
	return out.Bytes(), err
}

// last is the end of an output, enough to see what went wrong.
func last(out []byte) []byte { return out[max(0, len(out)-2000):] }
