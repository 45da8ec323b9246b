package datadir

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestMain lets the test binary play the other process: it acquires the directory, says so and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DATADIR_TEST_HOLD"); dir != "" {
		o, err := Acquire(dir, "serve", now)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		if _, err := o.Listen(); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		if err := o.Publish("http://127.0.0.1:1", "/agents/a/wb", "test"); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("held")
		select {}
	}
	os.Exit(m.Run())
}

// hold starts another process that owns dir, and returns it once it does.
func hold(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DATADIR_TEST_HOLD="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("holder said %q, %v", line, err)
	}
	return cmd
}

// Invariants 1 and 2: a second process is refused by name, and a kill -9 frees the directory at once.
func TestOwnershipDiesWithTheProcess(t *testing.T) {
	dir := t.TempDir()
	other := hold(t, dir)

	_, err := Acquire(dir, "mcp", now)
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("Acquire on an owned directory: %v, want *HeldError", err)
	}
	want := fmt.Sprintf("owned by sawhorse serve (pid %d, http://127.0.0.1:1)", other.Process.Pid)
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not name the holder: want it to contain %q", err, want)
	}
	conn, err := Dial(context.Background(), dir)
	if err != nil {
		t.Fatalf("Dial a live owner: %v", err)
	}
	conn.Close()

	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.Wait()

	// The endpoint file is still there, and stale: dialling says that nobody answers, and does not take over (4).
	if _, err := Read(dir); err != nil {
		t.Fatalf("the dead owner's endpoint file: %v", err)
	}
	if _, err := Dial(context.Background(), dir); !errors.Is(err, ErrNoOwner) {
		t.Fatalf("Dial a dead owner: %v, want ErrNoOwner", err)
	}

	o, err := Acquire(dir, "mcp", now)
	if err != nil {
		t.Fatalf("Acquire after kill -9: %v", err)
	}
	defer o.Close()
	if _, err := Read(dir); !errors.Is(err, ErrNoOwner) {
		t.Errorf("the new owner left the dead one's endpoint in place: %v", err)
	}
}

// Invariant 1 before anything is published: the lock file alone names the holder.
func TestHolderIsNamedBeforeItPublishes(t *testing.T) {
	dir := t.TempDir()
	o, err := Acquire(dir, "serve", now)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	// flock belongs to the open file, so that a second open in the same process is refused as well.
	_, err = Acquire(dir, "workbench", now)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("sawhorse serve (pid %d)", os.Getpid())) {
		t.Fatalf("second Acquire: %v", err)
	}
}

// A link in place of the lock file is refused, and what it leads to keeps its bytes.
func TestALinkedLockIsNotFollowed(t *testing.T) {
	dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := errors.Join(os.WriteFile(precious, []byte("bytes"), 0o600), os.Symlink(precious, filepath.Join(dir, "owner.lock"))); err != nil {
		t.Fatal(err)
	}
	if o, err := Acquire(dir, "serve", now); err == nil {
		o.Close()
		t.Error("the link was followed")
	}
	if got, err := os.ReadFile(precious); err != nil || string(got) != "bytes" {
		t.Errorf("%q, %v", got, err)
	}
}

// Invariants 2 and 3: what is published is whole, private and gone after Close.
func TestEndpointIsPrivateAndWithdrawn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	o, err := Acquire(dir, "serve", now)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("new data directory: mode %v, %v; want 0700", st.Mode(), err)
	}
	if _, err := o.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := o.Publish("http://127.0.0.1:8080", "/agents/default/wb", "v1"); err != nil {
		t.Fatal(err)
	}
	e, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Endpoint{PID: os.Getpid(), Role: "serve", Socket: filepath.Join(dir, "owner.sock"), URL: "http://127.0.0.1:8080",
		WorkbenchRoot: "/agents/default/wb", Version: "v1", StartedAt: now}
	if e != want {
		t.Errorf("endpoint %+v, want %+v", e, want)
	}
	for _, p := range []string{filepath.Join(dir, "endpoint"), e.Socket} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", filepath.Base(p), st.Mode().Perm())
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{filepath.Join(dir, "endpoint"), e.Socket} {
		if _, err := os.Stat(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there after Close: %v", filepath.Base(p), err)
		}
	}
	again, err := Acquire(dir, "serve", now)
	if err != nil {
		t.Fatalf("Acquire after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// Invariant 3 where DIR's own path is too long for a socket address.
func TestLongDirectoryGetsASocketElsewhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-name-", 12))
	o, err := Acquire(dir, "mcp", now)
	if err != nil {
		t.Fatal(err)
	}
	l, err := o.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Publish("", "/agents/default/wb", "v1"); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			c.Close()
		}
		accepted <- err
	}()
	conn, err := Dial(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	e, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Dir(e.Socket)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("socket directory: %v, %v; want 0700", st, err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(e.Socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's directory outlives the owner: %v", err)
	}
}

// A damaged endpoint file is an error with a reason, never a panic and never an address to dial.
func TestDamagedEndpointIsRefused(t *testing.T) {
	for _, content := range []string{"", "{", "null", `{"socket":"relative.sock"}`, strings.Repeat("x", maxEndpointBytes+10)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "endpoint"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(context.Background(), dir); err == nil {
			t.Errorf("Dial with an endpoint file of %.20q succeeded", content)
		}
	}
}

// A deleted, garbled or replaced endpoint file is written again, until the owner withdraws.
func TestTheEndpointIsKept(t *testing.T) {
	dir := t.TempDir()
	o, err := Acquire(dir, "serve", now)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Listen(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, endpointName)
	if renewed, err := o.Renew(); renewed || err != nil {
		t.Errorf("before Publish: %v %v", renewed, err)
	}
	if err := o.Publish("http://127.0.0.1:1", "/agents/a/wb", "test"); err != nil {
		t.Fatal(err)
	}
	want, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if renewed, err := o.Renew(); renewed || err != nil {
		t.Errorf("as published: %v %v", renewed, err)
	}
	for name, spoil := range map[string]func() error{
		"deleted":  func() error { return os.Remove(path) },
		"garbled":  func() error { return os.WriteFile(path, []byte("{"), 0o600) },
		"readable": func() error { return os.Chmod(path, 0o644) },
		"a link":   func() error { return errors.Join(os.Remove(path), os.Symlink("/dev/null", path)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if renewed, err := o.Renew(); !renewed || err != nil {
			t.Errorf("%s: %v %v", name, renewed, err)
		}
		if got, err := Read(dir); err != nil || got != want {
			t.Errorf("%s: read %+v, %v", name, got, err)
		}
	}
	if err := o.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if renewed, err := o.Renew(); renewed || err != nil {
		t.Errorf("after Withdraw: %v %v", renewed, err)
	}
	if _, err := Read(dir); !errors.Is(err, ErrNoOwner) {
		t.Errorf("after Withdraw: %v", err)
	}
}

// Invariant 3, on the side of who dials: what others could have put there is not spoken to.
func TestStrangersAreNotSpokenTo(t *testing.T) {
	dir := t.TempDir()
	o, err := Acquire(dir, "serve", now)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	l, err := o.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Publish("", "/agents/a/wb", "test"); err != nil {
		t.Fatal(err)
	}
	spoken := make(chan struct{}, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			spoken <- struct{}{}
			c.Close()
		}
	}()
	endpoint, socket := filepath.Join(dir, endpointName), filepath.Join(dir, socketName)
	aside := filepath.Join(dir, "aside")
	cases := map[string]struct{ spoil, mend func() error }{
		"an endpoint file for all to write": {func() error { return os.Chmod(endpoint, 0o622) }, func() error { return os.Chmod(endpoint, 0o600) }},
		"a linked endpoint file": {func() error { return errors.Join(os.Rename(endpoint, aside), os.Symlink(aside, endpoint)) },
			func() error { return os.Rename(aside, endpoint) }},
		"a socket for all to use": {func() error { return os.Chmod(socket, 0o666) }, func() error { return os.Chmod(socket, 0o600) }},
		"a linked socket": {func() error { return errors.Join(os.Rename(socket, aside), os.Symlink(aside, socket)) },
			func() error { return os.Rename(aside, socket) }},
		"a file in place of the socket": {func() error { return errors.Join(os.Rename(socket, aside), os.WriteFile(socket, nil, 0o600)) },
			func() error { return os.Rename(aside, socket) }},
	}
	if os.Geteuid() == 0 { // only the administrator can give files away
		cases["a stranger's endpoint file"] = struct{ spoil, mend func() error }{func() error { return os.Chown(endpoint, 12345, -1) }, func() error { return os.Chown(endpoint, 0, -1) }}
		cases["a stranger's socket"] = struct{ spoil, mend func() error }{func() error { return os.Chown(socket, 12345, -1) }, func() error { return os.Chown(socket, 0, -1) }}
	}
	for name, c := range cases {
		if err := c.spoil(); err != nil {
			t.Fatal(name, err)
		}
		if conn, err := Dial(context.Background(), dir); err == nil {
			conn.Close()
			t.Errorf("%s: spoken to", name)
		} else if errors.Is(err, ErrNoOwner) {
			t.Errorf("%s: taken for no owner: %v", name, err)
		}
		if err := c.mend(); err != nil {
			t.Fatal(name, err)
		}
		if len(spoken) > 0 {
			t.Errorf("%s: the socket was connected to", name)
		}
		conn, err := Dial(context.Background(), dir)
		if err != nil {
			t.Fatalf("%s, mended: %v", name, err)
		}
		conn.Close()
		<-spoken
	}
	if err := ofOurs(dir, uint32(os.Geteuid())+1); err == nil {
		t.Error("another user is one of ours")
	}
}
