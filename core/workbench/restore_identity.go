package workbench

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Schemas of the restore manifest: the first names a snapshot, the second a
// source of either kind and is written for commits.
const (
	restoreSchemaSnapshot = "nokv.workbench.restore_manifest.v1"
	restoreSchemaCommit   = "nokv.workbench.restore_manifest.v2"
)

// Domains of the identities of restores.
const (
	snapshotDestinationDomain = "nokv.cli.restore-destination-incarnation.v2"
	commitDestinationDomain   = "nokv.restore.commit-destination-incarnation.v1"
	restoreOperationDomain    = "nokv.restore.operation.v2"
	restoreBeginDomain        = "nokv.restore.initialization.v4"
	restoredContentDomain     = "nokv.workbench.restored_content_digest.v1"
	rootDomain                = "sawhorse.root_identity.v1"
)

// rootID is the 16-byte identity of a root as identities of restores hash it.
type rootID [16]byte

// rootIdentity derives a root's identity from what never changes: the UUID of the
// installation and the number that the root has in it.
func rootIdentity(installation [16]byte, root uint32) (id rootID) {
	sum := canon.NewIdentity(rootDomain).Fixed(installation[:]).Fixed(binary.BigEndian.AppendUint32(nil, root)).Sum()
	copy(id[:], sum[:])
	return id
}

// fixed16 is the beginning of a digest over a root and some pieces.
func fixed16(domain string, root rootID, pieces ...[]byte) (id [16]byte) {
	h := canon.NewIdentity(domain).Fixed(root[:])
	for _, p := range pieces {
		h = h.Bytes(p)
	}
	sum := h.Sum()
	copy(id[:], sum[:])
	return id
}

// selection is what of a workbench is restored: its bytes are a snapshot's id or a
// commit's identity.
func selection(o *record.Restore) []byte {
	if o.Kind == record.RestoreCommit {
		return o.Base[:]
	}
	return binary.BigEndian.AppendUint64(nil, o.Snapshot)
}

// restoreDestination names the life of the workbench that a restore makes. It
// follows from what is restored and where to, so that a repeat means the same
// one, and anything else of that id another.
func restoreDestination(root rootID, o *record.Restore) keys.Incarnation {
	domain := snapshotDestinationDomain
	if o.Kind == record.RestoreCommit {
		domain = commitDestinationDomain
	}
	return fixed16(domain, root, []byte(o.Source), o.SourceIncarnation[:], selection(o), []byte(o.Destination))
}

// restoreIdentity names a restore. Its first 16 bytes are the operation id.
func restoreIdentity(root rootID, o *record.Restore) canon.Digest {
	b := append([]byte(restoreOperationDomain), 0)
	b = appendLP32(append(b, root[:]...), o.Source)
	b = append(b, o.SourceIncarnation[:]...)
	b = append(append(b, byte(o.Kind)), selection(o)...)
	b = appendLP32(b, o.Destination)
	return sha256.Sum256(append(b, o.DestinationIncarnation[:]...))
}

// operationID is the short name of a restore.
func operationID(o *record.Restore) [keys.OperationIDLen]byte {
	return [keys.OperationIDLen]byte(o.Identity[:keys.OperationIDLen])
}

// restoreInitialization is the digest of all that a restore was begun with. The
// manifest is in it, which holds the operation id; so it is not in the identity.
func restoreInitialization(root rootID, o *record.Restore, manifest []byte) canon.Digest {
	var numbers [24]byte
	binary.BigEndian.PutUint64(numbers[:], o.Frozen)
	binary.BigEndian.PutUint64(numbers[8:], uint64(o.AtMillis))
	binary.BigEndian.PutUint64(numbers[16:], uint64(o.ManifestLength))
	return canon.NewIdentity(restoreBeginDomain).Fixed(root[:]).Fixed(o.Identity[:]).Fixed(o.Base[:]).Fixed(numbers[:]).
		Text(o.SourcePath).Text(o.DestinationPath).Text(o.ManifestType).Bytes(manifest).Sum()
}

// restoredContent is the content digest of a restored workbench whose files are
// those of no commit.
func restoredContent(tree [sha256.Size]byte) canon.Digest {
	return canon.Sum(append(append([]byte(restoredContentDomain), 0), tree[:]...))
}

// appendRestoreManifest appends metadata/restore_manifest.json: canonical JSON,
// members in order.
func appendRestoreManifest(dst []byte, o *record.Restore) []byte {
	operation := operationID(o)
	dst = append(dst, `{"destination_path":`...)
	dst = append(canon.AppendString(dst, o.DestinationPath), `,"destination_workbench_id":`...)
	dst = append(canon.AppendString(dst, o.Destination), `,"operation_id":"`...)
	dst = append(hex.AppendEncode(dst, operation[:]), `","restored_from":{"path":`...)
	dst = canon.AppendString(dst, o.SourcePath)
	if o.Kind == record.RestoreCommit {
		dst = append(hex.AppendEncode(append(dst, `,"source":{"commit_id":"`...), o.Base[:]), `","kind":"commit"}`...)
	} else {
		dst = strconv.AppendUint(append(dst, `,"snapshot_id":`...), o.Snapshot, 10)
	}
	dst = append(canon.AppendString(append(dst, `,"workbench_id":`...), o.Source), `},"schema":"`...)
	if o.Kind == record.RestoreCommit {
		dst = append(dst, restoreSchemaCommit+`"`...)
	} else {
		dst = append(dst, restoreSchemaSnapshot+`","snapshot_id":`...)
		dst = strconv.AppendUint(dst, o.Snapshot, 10)
	}
	dst = append(canon.AppendString(append(dst, `,"source_path":`...), o.SourcePath), `,"source_workbench_id":`...)
	return append(canon.AppendString(dst, o.Source), '}')
}

// identify fills in what follows from a restore's source, destination and
// instant: incarnation, identity, manifest, initialization. It returns the
// manifest.
func identify(root rootID, o *record.Restore) []byte {
	o.DestinationIncarnation = restoreDestination(root, o)
	o.Identity = restoreIdentity(root, o)
	text := appendRestoreManifest(nil, o)
	o.Manifest, o.ManifestLength, o.ManifestType = canon.Sum(text), int64(len(text)), manifestType
	o.Initialization = restoreInitialization(root, o, text)
	return text
}

// intact reports whether a stored restore is what it was when it was begun.
func intact(root rootID, o *record.Restore) bool {
	again := *o
	identify(root, &again)
	return again == *o
}
