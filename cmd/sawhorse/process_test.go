package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// serveProcess starts a server in a directory and returns it with its URL.
func serveProcess(t *testing.T, dir string, flags ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", dir}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", &stderr)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	return cmd, strings.TrimSuffix(strings.TrimPrefix(line, "ready "), "\n")
}

// One-shot commands that run at the same time take the directory one after the other; none fails, nothing is lost.
func TestOneShotsAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	const n = 6
	var all sync.WaitGroup
	failed := make(chan string, n)
	for i := range n {
		all.Go(func() {
			out, err := exec.Command(binary, "workbench", "append", fmt.Sprintf(`{"id":"demo","section":"logs","path":"l","text":"%d"}`, i), "--data", dir).CombinedOutput()
			if err != nil {
				failed <- fmt.Sprintf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	close(failed)
	for f := range failed {
		t.Error(f)
	}
	out, err := exec.Command(binary, "workbench", "stat", `{"id":"demo","section":"logs","path":"l"}`, "--data", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("\"size_bytes\": %d\n", n)) {
		t.Errorf("%v: %s", err, out)
	}
}

// SIGTERM in the middle of an upload: the upload is finished, answered and durable, and the status is 0.
func TestSigtermLosesNothing(t *testing.T) {
	dir := t.TempDir()
	cmd, url := serveProcess(t, dir)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	half := strings.Repeat("x", 100<<10)
	if _, err := fmt.Fprintf(conn, "PUT /v1/workbenches/demo/files/outputs/big HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", 2*len(half)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	// The server asks for the body, so the request has begun.
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, half); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Once the port is closed, the drain has begun.
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the port stays open")
		}
	}
	if _, err := io.WriteString(conn, half); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%v, %v", resp, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	out, err := exec.Command(binary, "workbench", "stat", `{"id":"demo","section":"outputs","path":"big"}`, "--data", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("\"size_bytes\": %d\n", 2*len(half))) {
		t.Errorf("%v: %s", err, out)
	}
}

// A drain that takes too long is cut off, and the status is 0 all the same.
func TestDrainTimeout(t *testing.T) {
	cmd, url := serveProcess(t, t.TempDir(), "--drain-timeout", "200ms")
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PUT /v1/workbenches/demo/files/outputs/never HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q, %v", line, err)
	}
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("the drain took %v", took)
	}
}

// Kill -9 under load: whatever was acknowledged is there afterwards.
func TestKillUnderLoad(t *testing.T) {
	dir := t.TempDir()
	cmd, url := serveProcess(t, dir)
	const writers = 8
	acked := make([][]string, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; ; i++ {
				path := fmt.Sprintf("w%d/f%d", w, i)
				req, err := http.NewRequest(http.MethodPut, url+"/v1/workbenches/demo/files/outputs/"+path, strings.NewReader(strings.Repeat(path, 50)))
				if err != nil {
					return
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					return
				}
				acked[w] = append(acked[w], path)
				if w == 0 && i == 40 {
					cmd.Process.Kill()
				}
			}
		})
	}
	all.Wait()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the server ended with %v", err)
	}
	_, url = serveProcess(t, dir)
	for w := range writers {
		for _, path := range acked[w] {
			resp, err := http.Get(url + "/v1/workbenches/demo/files/outputs/" + path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(b) != strings.Repeat(path, 50) {
				t.Errorf("%s: %d %.40q, %v", path, resp.StatusCode, b, err)
			}
		}
	}
}
