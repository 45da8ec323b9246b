package seal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// fileMode is for the owner alone; othersMask are the bits that must be clear.
const (
	fileMode   fs.FileMode = 0o600
	othersMask fs.FileMode = 0o077
)

// keyLine is the one line of a key file, before the key in hexadecimal.
const keyLine = "sawhorse-seal-key-v1:"

// KeyFile is where a key is kept.
type KeyFile struct {
	fs   kv.FS // nil: the operating system's, with permissions
	path string
}

// NewKeyFile returns the key file at path. A nil fs means the operating
// system's; another one, for tests, has no permissions to check.
func NewKeyFile(fs kv.FS, path string) KeyFile { return KeyFile{fs: fs, path: path} }

// errNoKey says that there is no key file yet.
var errNoKey = errors.New("seal: no key file")

// load reads the key.
//
// Errors: errNoKey; else what makes the file unusable, without its content.
func (f KeyFile) load() ([]byte, error) {
	text, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, fmt.Errorf("seal: key file: %w", err)
	}
	digits, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), keyLine)
	if !ok {
		return nil, errors.New("seal: key file: not a key file of a known version")
	}
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) != KeySize {
		// The decoder's own message would show a part of the key.
		return nil, errors.New("seal: key file: the key is damaged")
	}
	return key, nil
}

func (f KeyFile) read() ([]byte, error) {
	if f.fs == nil {
		info, err := os.Stat(f.path)
		if err != nil {
			return nil, err
		}
		if info.Mode()&othersMask != 0 {
			return nil, fmt.Errorf("others can read it (mode %#o, want %#o)", info.Mode().Perm(), fileMode)
		}
		return os.ReadFile(f.path)
	}
	file, err := f.fs.Open(f.path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	return text, errors.Join(err, file.Close())
}

// store writes a key that is durable when it returns. The file appears under
// its name complete or not at all.
func (f KeyFile) store(key []byte) error {
	text := []byte(keyLine + hex.EncodeToString(key) + "\n")
	if err := f.write(text); err != nil {
		return fmt.Errorf("seal: key file: %w", err)
	}
	return nil
}

func (f KeyFile) write(text []byte) error {
	unfinished := f.path + ".new"
	if f.fs == nil {
		return f.writePrivate(unfinished, text)
	}
	file, err := f.fs.Create(unfinished, "seal")
	if err != nil {
		return err
	}
	if err := finish(file, text); err != nil {
		return err
	}
	if err := f.fs.Rename(unfinished, f.path); err != nil {
		return err
	}
	dir, err := f.fs.OpenDir(f.fs.PathDir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// writePrivate writes to the operating system's file system: the file is never
// there with wider permissions, not even empty.
func (f KeyFile) writePrivate(unfinished string, text []byte) error {
	// A leftover of an interrupted start may have other permissions.
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if err := finish(file, text); err != nil {
		return err
	}
	if err := os.Rename(unfinished, f.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// finish writes text, makes it durable and closes the file.
func finish(file interface {
	io.WriteCloser
	Sync() error
}, text []byte) error {
	_, err := file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
