package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fullDisk runs commands of a shell with $SMALL, a disk of 6 MiB, and sawhorse as $S. It needs a kernel that lets this user
// mount one in a namespace of its own.
func fullDisk(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs none "+dir).Run() != nil {
		t.Skip("this machine lets nobody mount a small disk")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-rm", "sh", "-c", `mkdir small && mount -t tmpfs -o size=6m none small && `+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "S="+binary, "SMALL="+filepath.Join(dir, "small"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// A full disk is said in public words, with the operand and what to do, and the status is 1.
func TestAFullDiskIsSaidInWords(t *testing.T) {
	out := fullDisk(t, `
		mkdir src; for i in 1 2 3; do head -c 3000000 /dev/urandom > src/$i; done
		$S collect src w outputs --data data >/dev/null || exit 1
		try() { "$@" 2>&1; echo "status $?"; rm -rf $SMALL/* $SMALL/.p*; }
		try $S backup $SMALL --data data
		$S serve --data data --listen 127.0.0.1:0 >ready 2>/dev/null & p=$!
		until grep -q ready ready; do :; done
		try $S backup $SMALL --data data
		kill $p; wait $p
		$S backup bk --data data >/dev/null || exit 1
		try $S restore-backup bk --data $SMALL/again
		try $S materialize w $SMALL/m --data data
		try $S collect src w outputs --data $SMALL/d`)
	want := []string{
		"sawhorse: ResourceExhausted: DEST is on a disk that is full: make room there, and run it again.", "status 1",
		"sawhorse: ResourceExhausted: DEST is on a disk that is full: make room there, and run it again.", "status 1",
		"sawhorse: ResourceExhausted: The data directory (--data) is on a disk that is full: make room there, and run it again.", "status 1",
		"problem outputs/", ": the disk is full", "sawhorse: not everything", "status 1",
		"sawhorse: ResourceExhausted: The disk is nearly full", "status 1",
	}
	rest := out
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("%q is missing in\n%s", w, out)
		}
		rest = after
	}
	for _, inner := range []string{"/small", ".seg", "no space left", "pebble", "kv:"} {
		if strings.Contains(out, inner) {
			t.Errorf("%q is told in\n%s", inner, out)
		}
	}
}

// What a command promises to print and cannot is a failure.
func TestStandardOutputThatTakesNothing(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
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
