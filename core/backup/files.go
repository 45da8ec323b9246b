package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/cockroachdb/errors/oserror"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

const copyBuffer = 256 << 10

// diskCategory is what the file system's statistics call these writes.
const diskCategory = "backup"

// errShort says that a file has fewer bytes than it should.
var errShort = errors.New("backup: a file is shorter than it should be")

// source is a file to copy.
type source struct {
	at   string // where it is
	path string // what it is called in a backup
	size int64  // how much of it is copied; a file that grows is copied so far
}

// walk lists the regular files below a directory, which need not be there.
func walk(fs kv.FS, dir, as string) (files []source, err error) {
	entries, err := fs.List(dir)
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range entries {
		at := fs.PathJoin(dir, name)
		info, err := fs.Stat(at)
		if oserror.IsNotExist(err) {
			continue // an upload that was given up
		}
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, source{at, as + "/" + name, info.Size()})
			continue
		}
		below, err := walk(fs, at, as+"/"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}

// digest returns the SHA-256 of a file's first n bytes, in hexadecimal.
func digest(ctx context.Context, fs kv.FS, name string, n int64, buf []byte) (string, error) {
	f, err := fs.Open(name)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = errors.Join(pour(ctx, h, f, n, buf), f.Close())
	return sum(h), err
}

// copyFile writes a file's first n bytes to a new one, synced, and returns their
// SHA-256 in hexadecimal.
func copyFile(ctx context.Context, fs kv.FS, from, to string, n int64, buf []byte) (string, error) {
	in, err := fs.Open(from)
	if err != nil {
		return "", err
	}
	out, err := fs.Create(to, diskCategory)
	if err != nil {
		return "", errors.Join(err, in.Close())
	}
	h := sha256.New()
	err = pour(ctx, io.MultiWriter(h, out), in, n, buf)
	if err == nil {
		err = out.Sync()
	}
	return sum(h), errors.Join(err, out.Close(), in.Close())
}

func pour(ctx context.Context, to io.Writer, from io.Reader, n int64, buf []byte) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buf[:min(n, int64(len(buf)))]
		if _, err := io.ReadFull(from, part); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errShort
			}
			return err
		}
		if _, err := to.Write(part); err != nil {
			return err
		}
		n -= int64(len(part))
	}
	return nil
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

func writeFile(fs kv.FS, name string, data []byte) error {
	f, err := fs.Create(name, diskCategory)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDirs makes a directory and those above it, durably.
func makeDirs(fs kv.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	} else if !oserror.IsNotExist(err) {
		return err
	}
	up := fs.PathDir(dir)
	if up != dir {
		if err := makeDirs(fs, up); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fs, up)
}

func syncDir(fs kv.FS, dir string) error {
	f, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeAll removes a directory, which need not be there.
func removeAll(fs kv.FS, dir string) error {
	if err := fs.RemoveAll(dir); err != nil && !oserror.IsNotExist(err) {
		return err
	}
	return nil
}

// join puts a path with slashes below a directory.
func join(fs kv.FS, dir, path string) string {
	return fs.PathJoin(append([]string{dir}, strings.Split(path, "/")...)...)
}

func cutDir(path, dir string) (rest string, ok bool) {
	return strings.CutPrefix(path, dir+"/")
}

// inside reports whether path is a directory or lies below it, by name.
func inside(fs kv.FS, dir, path string) bool {
	for p := path; ; {
		if p == dir {
			return true
		}
		up := fs.PathDir(p)
		if up == p {
			return false
		}
		p = up
	}
}
