package words_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Every error number there is becomes a coded sentence of ours that names the operand and nothing else.
func TestEveryErrorOfTheSystem(t *testing.T) {
	dir := t.TempDir()
	for no := syscall.Errno(1); no < 134; no++ {
		err := fmt.Errorf("some/inner/file.seg: %w", &fs.PathError{Op: "write", Path: filepath.Join(dir, "inner", "x"), Err: no})
		f := words.OfFile(err, words.Place{Name: "DEST", Path: dir}, words.Place{Name: "DIR", Path: t.TempDir()})
		switch {
		case f == nil || !f.Reason.Known():
			t.Fatalf("%v: %v", no, f)
		case !strings.HasPrefix(f.Message, "DEST ") || strings.Contains(f.Message, "%") || strings.Contains(f.Message, dir) || strings.Contains(f.Message, no.Error()) && no != syscall.EISDIR:
			t.Errorf("%v: %s", no, f.Message)
		case !errors.Is(f, no):
			t.Errorf("%v is lost for the log", no)
		}
		if short := words.Short(err); short == "" || strings.Contains(short, "inner") {
			t.Errorf("%v: %s", no, short)
		}
	}
	if f := words.OfFile(errors.New("anything")); f != nil {
		t.Errorf("%v", f)
	}
}

func TestWhichOperandItIs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := errors.Join(os.MkdirAll("real/data/sub", 0o755), os.Symlink("real", "link")); err != nil {
		t.Fatal(err)
	}
	places := []words.Place{{Name: "DIR", Path: "link/data"}, {Name: "DEST", Path: filepath.Join(dir, "real")}, {Name: "OUT", Path: "new/deep/out"}}
	for path, want := range map[string]string{
		filepath.Join(dir, "real/data/sub/x"): "DIR",
		"link/data/y":                         "DIR",
		"real/backup-1":                       "DEST",
		filepath.Join(dir, "real-not"):        "A file",
		"new":                                 "OUT",
		"/elsewhere/secret":                   "A file",
	} {
		for _, err := range []error{
			&fs.PathError{Op: "open", Path: path, Err: syscall.ENOSPC},
			&os.LinkError{Op: "rename", Old: "/elsewhere", New: path, Err: syscall.ENOSPC},
		} {
			f := words.OfFile(err, places...)
			if f == nil || !strings.HasPrefix(f.Message, want+" ") || f.Reason != op.ReasonResourceExhausted {
				t.Errorf("%v: %v, want it about %s", err, f, want)
			}
		}
	}
	// An error without a path is about the one place that there is.
	if f := words.OfFile(syscall.EIO, places[0]); !strings.HasPrefix(f.Message, "DIR ") {
		t.Error(f)
	}
}
