package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is one real process of the binary under demonstration, on one data
// directory. It can be killed and started again; the workers see a new URL.
type server struct {
	binary, data string
	log          io.Writer

	mu      sync.Mutex
	started chan struct{} // closed while a process serves
	process *exec.Cmd
	exited  chan error
	url     string
	kills   int
}

func newServer(binary, data string, log io.Writer) *server {
	return &server{binary: binary, data: data, log: log, started: make(chan struct{})}
}

// start runs the binary and returns when it has said that it is ready.
func (s *server) start() error {
	cmd := exec.Command(s.binary, "serve", "--listen", "127.0.0.1:0", "--data", s.data)
	cmd.Stderr = s.log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	ready := make(chan string, 1)
	exited := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- url
			}
		}
		exited <- cmd.Wait()
	}()
	select {
	case url := <-ready:
		s.mu.Lock()
		s.process, s.exited, s.url = cmd, exited, url
		close(s.started)
		s.mu.Unlock()
		return nil
	case err := <-exited:
		return fmt.Errorf("the server ended before it was ready: %v", err)
	case <-time.After(60 * time.Second):
		cmd.Process.Kill()
		return errors.New("the server was not ready within 60 s")
	}
}

// address waits until a process serves and gives its URL.
func (s *server) address() string {
	for {
		s.mu.Lock()
		started := s.started
		s.mu.Unlock()
		<-started
		s.mu.Lock()
		same, url := started == s.started, s.url
		s.mu.Unlock()
		if same { // otherwise it was killed between the two looks
			return url
		}
	}
}

// killAndRestart sends SIGKILL while calls are under way, and starts a new
// process on the same data directory.
func (s *server) killAndRestart() (time.Duration, error) {
	s.mu.Lock()
	process, exited := s.process, s.exited
	s.started = make(chan struct{})
	s.kills++
	s.mu.Unlock()
	began := time.Now()
	if err := process.Process.Signal(syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("kill the server: %w", err)
	}
	<-exited
	if err := s.start(); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// stop drains the server and reports an exit status other than zero.
func (s *server) stop() error {
	s.mu.Lock()
	process, exited := s.process, s.exited
	s.mu.Unlock()
	if process == nil {
		return nil
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := <-exited; err != nil {
		return fmt.Errorf("the server did not end cleanly: %w", err)
	}
	return nil
}
