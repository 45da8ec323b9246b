//go:build fulldisk

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
// mount one in a namespace of its own; elsewhere it fails. `make full-disk` builds it in.
func fullDisk(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
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
