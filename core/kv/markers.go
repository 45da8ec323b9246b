package kv

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markerFS makes a name durable before a marker refers to it. When Pebble opens
// it writes a new manifest, then a marker file whose name says which manifest
// counts, and syncs the directory only then. A file system may keep one new name
// and lose another until a sync, so a power cut in between could leave the marker
// without its manifest, and a directory that does not open any more.
type markerFS struct{ vfs.FS }

// markerPrefix begins the name of every marker that Pebble keeps.
const markerPrefix = "marker."

func (m markerFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(m.PathBase(name), markerPrefix) {
		if err := syncDir(m.FS, m.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return m.FS.Create(name, category)
}

// Unwrap lets Pebble find the file system below.
func (m markerFS) Unwrap() vfs.FS { return m.FS }
