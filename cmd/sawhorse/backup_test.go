package main

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kill -9 of whoever makes a backup, at some moment of it: what is there afterwards is restored whole or refused, the data
// directory opens again, and the next backup clears the remains away.
func TestKillDuringABackup(t *testing.T) {
	dir, src := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		data := make([]byte, 2<<20)
		if _, err := rand.Read(data); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command(binary, args...).CombinedOutput()
		return string(out), err
	}
	if out, err := run("collect", src, "wb1", "outputs", "--data", dir, "--quiet"); err != nil {
		t.Fatal(out)
	}
	// whole demands that a backup in dest, restored, has every file.
	whole := func(dest string) {
		t.Helper()
		again, copied := filepath.Join(t.TempDir(), "data"), t.TempDir()
		for _, args := range [][]string{{"restore-backup", dest, "--data", again}, {"check", "--data", again},
			{"materialize", "wb1", copied, "--section", "outputs", "--data", again}} {
			if out, err := run(args...); err != nil {
				t.Fatalf("%v: %s", args, out)
			}
		}
		if out, err := exec.Command("diff", "-r", src, copied).CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
	}
	for _, serving := range []bool{false, true} {
		for _, until := range []int{0, 2} { // how many files are there when the kill comes
			dest := filepath.Join(t.TempDir(), "backups")
			var victim *exec.Cmd
			if serving {
				victim, _ = serveProcess(t, dir)
			}
			maker := exec.Command(binary, "backup", dest, "--data", dir)
			if err := maker.Start(); err != nil {
				t.Fatal(err)
			}
			if victim == nil {
				victim = maker
			}
			made := make(chan error, 1)
			go func() { made <- maker.Wait() }()
			ended := false
			for deadline := time.Now().Add(patience); !ended && time.Now().Before(deadline); {
				if found, _ := filepath.Glob(filepath.Join(dest, ".partial-*", "bodies", "*", "*")); len(found) >= until {
					break
				}
				select {
				case err := <-made:
					made <- err
					ended = true
				default:
				}
			}
			if err := victim.Process.Signal(syscall.SIGKILL); err != nil && !ended {
				t.Fatal(err)
			}
			<-made
			if victim != maker {
				victim.Wait()
			}
			if finished, _ := filepath.Glob(filepath.Join(dest, "backup-*")); len(finished) > 0 {
				whole(dest)
			} else if out, err := run("restore-backup", dest, "--data", filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(out, "sawhorse: ") {
				t.Errorf("what is left of a backup is taken: %s", out)
			}
			if out, err := run("backup", dest, "--data", dir); err != nil {
				t.Fatalf("afterwards: %s", out)
			}
			whole(dest)
			if left, _ := filepath.Glob(filepath.Join(dest, ".partial-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			if _, err := os.Stat(filepath.Join(dir, "backup.work")); err == nil {
				t.Error("the work directory is left")
			}
		}
	}
}
