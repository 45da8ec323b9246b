package localfiles

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sawhorse-dev/sawhorse/cmd/words"
)

// partsDir is where downloads are while they are not whole, in the directory.
const partsDir = ".sawhorse-parts"

// maxName is the longest name that the file systems of this machine take, in bytes.
const maxName = 255

// tree is the directory (invariant 1).
type tree struct{ root *os.Root }

// makeTop makes the directory itself. What is not a directory there, a link among it, is an error.
func makeTop(dir string) error {
	if _, err := os.Lstat(filepath.Clean(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err // openTop looks at what it is
	}
	return os.MkdirAll(dir, 0o755)
}

// openTop opens the directory itself, which is no link (invariant 1): somebody who can put one in its place would choose
// where files are written and read. What is above it is found as the system finds it.
func openTop(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	named, lerr := os.Lstat(filepath.Clean(dir))
	if lerr == nil && !named.IsDir() {
		lerr = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
		if named.Mode()&fs.ModeSymlink != 0 {
			lerr = &fs.PathError{Op: "open", Path: dir, Err: syscall.ELOOP}
		}
	}
	if root == nil {
		return nil, cmp.Or(lerr, err)
	}
	if err = lerr; err == nil {
		var opened fs.FileInfo
		if opened, err = root.Stat("."); err == nil && !os.SameFile(opened, named) {
			// A link was there when it was opened, or something else came in its place.
			err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ELOOP}
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// errRefused says why a local path is left alone.
type errRefused struct{ text string }

func (e *errRefused) Error() string { return e.text }

func refused(format string, args ...any) error { return &errRefused{fmt.Sprintf(format, args...)} }

// makeDir makes a directory and those above it. Nothing on the way may be anything but a directory.
func (t tree) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	if err := t.makeDir(path.Dir(dir)); err != nil {
		return err
	}
	if err := t.root.Mkdir(dir, 0o755); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := t.root.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return refused("%s is %s, and not a directory", dir, kind(info))
	}
	return nil
}

// regular looks at a file without following links. There need not be one.
func (t tree) regular(name string) (size int64, ok bool, err error) {
	info, err := t.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case !info.Mode().IsRegular():
		return 0, false, refused("%s is %s, and not a regular file", name, kind(info))
	}
	return info.Size(), true, nil
}

func kind(info fs.FileInfo) string {
	switch m := info.Mode(); {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsRegular():
		return "a regular file"
	default:
		return "a special file"
	}
}

// open opens a regular file. os.Root follows a link that stays inside, so the name is looked at before and after.
func (t tree) open(name string, flag int) (*os.File, error) {
	if _, _, err := t.regular(name); err != nil {
		return nil, err
	}
	// A fifo that comes in its place does not make this wait.
	f, err := t.root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refused("%s is %s, and not a regular file", name, kind(info))
	}
	if err == nil {
		named, lerr := t.root.Lstat(name)
		switch {
		case lerr != nil:
			err = lerr
		case !os.SameFile(info, named):
			err = refused("%s is %s, and not a regular file", name, kind(named))
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// digest returns the digest URI of a file.
func (t tree) digest(ctx context.Context, name string) (string, error) {
	f, err := t.open(name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, &stoppable{ctx, f})
	return uri(h.Sum(nil)), errors.Join(err, f.Close())
}

func uri(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// stoppable reads until a context ends.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// nameable refuses a path that this machine cannot have.
func nameable(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return refused("the name %.40q… has %d bytes, and files here have at most %d", part, len(part), maxName)
		}
	}
	if first, _, _ := strings.Cut(name, "/"); first == partsDir {
		return refused("the name %s is used for downloads that are not whole", partsDir)
	}
	return nil
}

// local is what is said of an error of this machine, beside the name of the file.
func local(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes") {
		return "a symbolic link in the way leads out of the directory"
	}
	return words.Short(err)
}

// of names the directory as it was given in an error of what is below it: os.Root knows paths below itself alone.
func (t tree) of(dir string, err error) error {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return err
	}
	return &fs.PathError{Op: "below", Path: dir, Err: no}
}
