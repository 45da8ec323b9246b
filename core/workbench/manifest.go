package workbench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// runSchema names the form of a run envelope.
const runSchema = "nokv.workbench.run_manifest.v1"

// manifestType is the content type of both manifests.
const manifestType = "application/json"

// Domains of the identities of commits.
const (
	commitDomain     = "nokv.workbench.commit_identity.v1"
	projectionDomain = "nokv.workbench.run_manifest.projection_input.v1"
)

// commitIdentity names a commit by what its caller said: workbench, digest of
// the content, digest of the manifest. The digests enter as texts.
func commitIdentity(id, contentURI, manifestURI string) canon.Digest {
	return canon.NewIdentity(commitDomain).Text(id).Text(contentURI).Text(manifestURI).Sum()
}

// runEnvelope is metadata/run_manifest.json, taken apart.
type runEnvelope struct {
	identity    canon.Digest
	seconds     int64 // when it was committed
	content     canon.Digest
	manifest    []byte // canonical
	manifestSum canon.Digest
	id, path    string
}

// projection is the digest of everything that an envelope is made of but the
// time. Recovery compares it with the one that the first request made (WB-20).
func (e *runEnvelope) projection() canon.Digest {
	return canon.NewIdentity(projectionDomain).Text(e.id).Text(e.path).Text(digestURI(e.content)).Bytes(e.manifest).
		Text(digestURI(e.manifestSum)).Fixed(e.identity[:]).Sum()
}

// append appends the envelope: canonical JSON, members in order.
func (e *runEnvelope) append(dst []byte) []byte {
	dst = append(dst, `{"commit_identity":"`...)
	dst = append(hex.AppendEncode(dst, e.identity[:]), `","committed_at_unix_seconds":`...)
	dst = append(strconv.AppendInt(dst, e.seconds, 10), `,"content_digest_uri":"`...)
	dst = append(append(dst, digestURI(e.content)...), `","manifest":`...)
	dst = append(append(dst, e.manifest...), `,"manifest_digest_uri":"`...)
	dst = append(append(dst, digestURI(e.manifestSum)...), `","schema":"`+runSchema+`","workbench_id":`...)
	dst = append(canon.AppendString(dst, e.id), `,"workbench_path":`...)
	return append(canon.AppendString(dst, e.path), '}')
}

// errEnvelope says that bytes are no run envelope, or one that contradicts
// itself.
var errEnvelope = errors.New("workbench: not a run envelope in canonical form")

// parseRunEnvelope reads an envelope and verifies it: its bytes are the ones that
// append makes, and its digests and identity follow from what it holds.
func parseRunEnvelope(text []byte) (*runEnvelope, error) {
	var parts struct {
		Identity       string          `json:"commit_identity"`
		Seconds        int64           `json:"committed_at_unix_seconds"`
		Content        string          `json:"content_digest_uri"`
		Manifest       json.RawMessage `json:"manifest"`
		ManifestDigest string          `json:"manifest_digest_uri"`
		ID             string          `json:"workbench_id"`
		Path           string          `json:"workbench_path"`
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, fmt.Errorf("%w: %w", errEnvelope, err)
	}
	e := &runEnvelope{seconds: parts.Seconds, manifest: parts.Manifest, id: parts.ID, path: parts.Path}
	var err error
	if e.content, err = canon.ParseDigestURI(parts.Content); err != nil {
		return nil, fmt.Errorf("%w: %w", errEnvelope, err)
	}
	e.manifestSum = canon.Sum(parts.Manifest)
	e.identity = commitIdentity(e.id, parts.Content, digestURI(e.manifestSum))
	if !canon.IsCanonical(parts.Manifest) || !bytes.Equal(e.append(nil), text) {
		return nil, errEnvelope
	}
	return e, nil
}

// commit reads a published commit.
func (t *tenant) commit(r kv.Reader, in keys.Incarnation, id keys.CommitIdentity) (record.Commit, bool, error) {
	value, ok, err := r.Get(keys.AppendCommit(nil, t.root.ID(), in, id))
	if err != nil || !ok {
		return record.Commit{}, false, err
	}
	c, err := record.DecodeCommit(value.Bytes)
	if err != nil {
		return record.Commit{}, false, corrupt(err)
	}
	return c, true, nil
}

// accept refuses a run manifest that the typed head does not stand on: its
// descriptor must be the one that the commit published (WB-17). f is the file at
// path full, as r shows it.
func (t *tenant) accept(r kv.Reader, in keys.Incarnation, full string, f *record.File) error {
	if full != jail.RunManifest {
		return nil
	}
	head, ok, err := t.commitHead(r, in)
	if err != nil {
		return err
	}
	if !ok {
		return corrupt(errors.New("workbench: a run manifest without a commit (WB-17)"))
	}
	d, err := t.descriptor(r, in, head.Identity)
	if err != nil {
		return err
	}
	return d.accept(f)
}

// manifestDescriptor is what a commit says of the run manifest that it wrote. The
// zero value is that of no manifest.
type manifestDescriptor struct {
	sum        [sha256.Size]byte
	length     int64
	generation uint64
}

// descriptor reads what a commit says of its run manifest. Commits are kept for
// ever (WB-16), so any later state says the same.
func (t *tenant) descriptor(r kv.Reader, in keys.Incarnation, id keys.CommitIdentity) (d manifestDescriptor, err error) {
	c, ok, err := t.commit(r, in, id)
	if err == nil && !ok {
		err = corrupt(errors.New("workbench: a commit head that names no commit (WB-17)"))
	}
	return manifestDescriptor{c.Envelope.SHA256, c.Envelope.Length, c.ManifestGeneration}, err
}

func (d *manifestDescriptor) accept(f *record.File) error {
	if d.sum != f.Body.SHA256 || d.length != f.Body.Length || d.generation != f.Generation || f.ContentType != manifestType {
		return corrupt(errors.New("workbench: the run manifest is not that of the commit head (WB-17)"))
	}
	return nil
}

// prove accepts a run manifest of an old state of which the head can no longer be
// read: it is the one of the commit that its bytes name. f is the file as that
// state shows it, body its bytes.
func (w *Workbench) prove(ctx context.Context, t *tenant, in keys.Incarnation, f *record.File, body *blob.Body) error {
	text, err := body.ReadAll(ctx)
	if err != nil {
		return bodyFault(err)
	}
	e, err := parseRunEnvelope(text)
	if err != nil {
		return corrupt(err)
	}
	return w.store.View(ctx, t.root, func(v *kv.View) error {
		d, err := t.descriptor(v, in, e.identity)
		if err != nil {
			return err
		}
		return d.accept(f)
	})
}

// treeHash is the digest of a workbench's files in path order: two trees have
// equal digests exactly when they have the same paths with the same
// generations, bodies and descriptions. It hashes one row after the other, so a
// tree of any size takes no memory.
type treeHash struct {
	sum     [sha256.Size]byte
	members uint64
	buf     []byte
}

// Domains of the tree digest.
const (
	treeDomain = "nokv.commit.members.v1\x00"
	rowDomain  = "nokv.commit.member-row.v2\x00"
)

// add takes the next file in path order.
func (h *treeHash) add(path string, f *record.File) {
	b := append(h.buf[:0], rowDomain...)
	b = appendLP32(b, path)
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = append(b, 2)
	b = binary.BigEndian.AppendUint64(b, f.Generation)
	b = append(b, f.Body.SHA256[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(f.Body.Length))
	b = appendLP32(b, f.ContentType)
	for _, opt := range []*string{f.Producer, f.ManifestID} {
		if opt == nil {
			b = append(b, 0)
		} else {
			b = appendLP32(append(b, 1), *opt)
		}
	}
	for i := range f.Index {
		s := f.Index[i].Value.AppendOrdered(nil)
		b = appendLP32(appendLP32(b, f.Index[i].Field), string(s))
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	row := sha256.Sum256(b)
	h.buf = b
	var next [len(treeDomain) + 2*sha256.Size + 8]byte
	n := copy(next[:], treeDomain)
	n += copy(next[n:], h.sum[:])
	binary.BigEndian.PutUint64(next[n:], h.members)
	copy(next[n+8:], row[:])
	h.sum = sha256.Sum256(next[:])
	h.members++
}

func appendLP32(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(s))), s...)
}
