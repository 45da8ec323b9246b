package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What a command promises to print and cannot is a failure.
func TestStandardOutputThatTakesNothing(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	if out, err := exec.Command(binary, "workbench", "create", `{"id":"w"}`, "--data", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"stats", "--data", dir}, {"check", "--data", dir}, {"backup", t.TempDir(), "--data", dir}, {"version"},
		{"workbench", "list", `{"id":"w"}`, "--data", dir}} {
		cmd := exec.Command(binary, args...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = full, &said
		if err := cmd.Run(); err == nil || said.String() != "sawhorse: ResourceExhausted: Standard output is on a disk that is full: make room there, and run it again.\n" {
			t.Errorf("%v: %v, %q", args, err, said.String())
		}
	}
}
