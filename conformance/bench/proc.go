package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// bench is one run: its settings and the processes that it started.
type bench struct {
	config
	stores  string
	running []*server
	serial  int
}

// server is a process under test: the product or a peer.
type server struct {
	cmd  *exec.Cmd
	addr string // HOST:PORT
	dir  string // its store
}

// start runs a program that prints "ready http://HOST:PORT" and waits for that line. The word DATA among args stands for a fresh folder
// of its own.
func (b *bench) start(ctx context.Context, bin string, args ...string) (*server, error) {
	b.serial++
	s := &server{dir: filepath.Join(b.stores, fmt.Sprintf("%s-%d", filepath.Base(bin), b.serial))}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	for i := range args {
		if args[i] == "DATA" {
			args[i] = s.dir
		}
	}
	s.cmd = exec.CommandContext(ctx, bin, args...)
	var stderr bytes.Buffer
	s.cmd.Stderr = &tail{&stderr}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "ready http://"); ok {
			s.addr = addr
			b.running = append(b.running, s)
			go func() {
				for lines.Scan() {
				}
			}()
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s ended before it was ready: %w\n%s", bin, errors.Join(lines.Err(), s.cmd.Wait()), stderr.String())
}

// tail keeps the first 64 KiB of what is written to it: enough to tell why a server did not start, and no burden when it logs each call.
type tail struct{ *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if room := 64<<10 - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// peer starts one of the bare peers.
func (b *bench) peer(ctx context.Context, name string, args ...string) (*server, error) {
	return b.start(ctx, filepath.Join(b.work, "bin", name), args...)
}

// product starts the server under measurement on a fresh data directory.
func (b *bench) product(ctx context.Context) (*server, error) {
	return b.start(ctx, b.bin, "serve", "--listen", "127.0.0.1:0", "--data", "DATA")
}

// stopAll ends what start began and removes the stores.
func (b *bench) stopAll() {
	for _, s := range b.running {
		s.cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { s.cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			s.cmd.Process.Kill()
			<-done
		}
		os.RemoveAll(s.dir)
	}
	b.running = nil
}

// sample is one side of one round.
type sample struct {
	load.Result
	cpu    float64 // seconds of CPU that the server used, per request
	others float64 // cores that neither the server nor the generator used
}

// drive runs p against s in a process of its own and reads the server's CPU before and after. The counted time and the CPU cover the
// warm-up too, so that CPU per request is over all requests of the run.
func (b *bench) drive(ctx context.Context, s *server, p load.Plan) (sample, error) {
	p.Addr = s.addr
	self, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	plan, err := json.Marshal(p)
	if err != nil {
		return sample{}, err
	}
	cmd := exec.CommandContext(ctx, self, "load")
	cmd.Stdin = bytes.NewReader(plan)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	before, busy, start := cpuOf(s.cmd.Process.Pid), busyCPU(), time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	took := time.Since(start).Seconds()
	used := cpuOf(s.cmd.Process.Pid) - before
	mine := cmd.ProcessState.UserTime().Seconds() + cmd.ProcessState.SystemTime().Seconds()
	out := sample{others: max(0, (busyCPU()-busy-used-mine)/took)}
	if err := json.Unmarshal(stdout.Bytes(), &out.Result); err != nil {
		return sample{}, err
	}
	share := p.Duration.Seconds() / (p.Duration + p.Warmup).Seconds()
	out.cpu = used * share / float64(out.Count)
	return out, nil
}

// ticks per second of the figures in /proc; Linux has fixed it at 100 for user space.
const ticks = 100

// cpuOf is the CPU time of a process in seconds, 0 when it cannot be read.
func cpuOf(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / ticks
}

// busyCPU is the CPU time that the whole machine spent on anything but waiting, in seconds.
func busyCPU() float64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var sum float64
	for i, s := range strings.Fields(strings.SplitN(string(b), "\n", 2)[0])[1:] {
		v, _ := strconv.ParseFloat(s, 64)
		if i != 3 && i != 4 && i < 8 { // idle, iowait; guest time is in user time already
			sum += v
		}
	}
	return sum / ticks
}

// peakMiB is the most memory that the process ever held, in MiB.
func peakMiB(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no VmHWM in the process's status")
}

func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
