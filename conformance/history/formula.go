package history

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	runManifest     = "metadata/run_manifest.json"
	restoreManifest = "metadata/restore_manifest.json"
	textType        = "text/plain; charset=utf-8"
	jsonType        = "application/json"
)

func uri(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// identityOf names a commit by workbench, content and manifest.
func identityOf(id, contentURI, manifestURI string) string {
	b := []byte("nokv.workbench.commit_identity.v1\x00")
	for _, piece := range []string{id, contentURI, manifestURI} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(piece))), piece...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// envelopeOf is the run manifest of a commit.
func (w Work) envelopeOf(id, identity, contentURI, manifest string) string {
	return fmt.Sprintf(`{"commit_identity":"%s","committed_at_unix_seconds":%d,"content_digest_uri":"%s","manifest":%s,"manifest_digest_uri":"%s",`+
		`"schema":"nokv.workbench.run_manifest.v1","workbench_id":"%s","workbench_path":"%s/%s"}`,
		identity, w.Seconds, contentURI, manifest, uri(manifest), id, w.Root, id)
}

// restoreManifestOf is the restore manifest of a destination.
func (w Work) restoreManifestOf(c Call, operation string) string {
	return fmt.Sprintf(`{"destination_path":"%s/%s","destination_workbench_id":"%s","operation_id":"%s","restored_from":{"path":"%s/%s",`+
		`"source":{"commit_id":"%s","kind":"commit"},"workbench_id":"%s"},"schema":"nokv.workbench.restore_manifest.v2",`+
		`"source_path":"%s/%s","source_workbench_id":"%s"}`,
		w.Root, c.Destination, c.Destination, operation, w.Root, c.ID, c.Commit, c.ID, w.Root, c.ID, c.ID)
}

// treeOf digests files in path order.
func treeOf(files map[string]file) string {
	var sum [sha256.Size]byte
	for i, path := range sorted(files) {
		f := files[path]
		member := binary.BigEndian.AppendUint64([]byte{2}, uint64(f.generation))
		digest, err := hex.DecodeString(strings.TrimPrefix(f.digest, "sha256:"))
		if err != nil {
			panic(err)
		}
		member = binary.BigEndian.AppendUint64(append(member, digest...), uint64(f.size))
		member = append(piece32(member, f.contentType), 0, 0)
		row := sha256.Sum256(piece32(piece32([]byte("nokv.commit.member-row.v2\x00"), path), string(member)))
		next := append([]byte("nokv.commit.members.v1\x00"), sum[:]...)
		next = append(binary.BigEndian.AppendUint64(next, uint64(i)), row[:]...)
		sum = sha256.Sum256(next)
	}
	return "sha256:" + hex.EncodeToString(sum[:])
}

func piece32(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(s))), s...)
}

// sorted gives paths in component order: a separator sorts before every other byte.
func sorted(files map[string]file) []string {
	return slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
}
