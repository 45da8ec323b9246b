package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// format is the version of a backup's layout.
const format = 1

const manifestName = "backup.json"

// maxManifest bounds what is read as one: a line for each of a million files.
const maxManifest = 256 << 20

// Manifest says what a backup holds.
type Manifest struct {
	Format int `json:"format"`
	// Installation is the UUID of the data directory, in hexadecimal.
	Installation string `json:"installation"`
	// At is the moment that it shows.
	At time.Time `json:"at"`
	// Files are in the order of their paths, which are relative to the backup and
	// written with slashes.
	Files []File `json:"files"`
}

// File is one file of a backup.
type File struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	SHA256    string `json:"sha256"`
}

// Bytes returns the length of all files together.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.SizeBytes
	}
	return n
}

// ErrManifest says that a directory holds no backup, or one whose manifest is
// damaged or of a newer program.
var ErrManifest = errors.New("backup: not a backup that this program can read")

func readManifest(fs kv.FS, dir string) (*Manifest, error) {
	f, err := fs.Open(fs.PathJoin(dir, manifestName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return parseManifest(text)
}

func parseManifest(text []byte) (*Manifest, error) {
	var m Manifest
	if len(text) > maxManifest {
		return nil, fmt.Errorf("%w: the manifest is too long", ErrManifest)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if m.Format != format {
		return nil, fmt.Errorf("%w: format %d", ErrManifest, m.Format)
	}
	last := ""
	for _, f := range m.Files {
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrManifest, err)
		}
		if f.Path <= last {
			return nil, fmt.Errorf("%w: files out of order", ErrManifest)
		}
		last = f.Path
	}
	return &m, nil
}

// check refuses what Write never writes, above all a path that leads out of the
// directory.
func (f *File) check() error {
	top, rest, _ := strings.Cut(f.Path, "/")
	if path.Clean(f.Path) != f.Path || rest == "" || top != storeDir && top != bodiesDir || strings.ContainsAny(f.Path, "\\\x00") {
		return fmt.Errorf("file %q", f.Path)
	}
	if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != sha256.Size || f.SizeBytes < 0 {
		return fmt.Errorf("file %q has no length or digest", f.Path)
	}
	return nil
}
