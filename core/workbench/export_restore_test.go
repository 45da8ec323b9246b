package workbench

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// RestoreVector is what the identities of a restore are made of.
type RestoreVector struct {
	Root              [16]byte
	Source            string
	SourceIncarnation [16]byte
	Snapshot          uint64
	Commit            *[32]byte
	Destination       string
}

// IDs computes the destination's incarnation and the operation id.
func (v RestoreVector) IDs() (incarnation, operation string) {
	o := record.Restore{Kind: record.RestoreSnapshot, Source: v.Source, SourceIncarnation: v.SourceIncarnation, Snapshot: v.Snapshot, Destination: v.Destination}
	if v.Commit != nil {
		o.Kind, o.Base = record.RestoreCommit, *v.Commit
	}
	identify(v.Root, &o)
	id := operationID(&o)
	return hex.EncodeToString(o.DestinationIncarnation[:]), hex.EncodeToString(id[:])
}

// Fixed16 is the beginning of a digest in a domain, in hex.
func Fixed16(domain string, root [16]byte, pieces ...[]byte) string {
	id := fixed16(domain, root, pieces...)
	return hex.EncodeToString(id[:])
}

// RestoreManifestOf is the restore manifest of a restore.
func RestoreManifestOf(o record.Restore) string { return string(appendRestoreManifest(nil, &o)) }

// Restores counts the restores that are under way.
func (w *Workbench) Restores(ctx context.Context) (n int, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return 0, err
	}
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		return t.eachRestore(v, func(*record.RestoreOperation) { n++ })
	})
	return n, err
}

// StagedRows counts the rows of files that belong to no workbench.
func (w *Workbench) StagedRows(ctx context.Context) (n int, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return 0, err
	}
	named := map[keys.Incarnation]bool{}
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		for _, space := range []byte{keys.SpaceWorkbenchMarker, keys.SpacePathRecord, keys.SpaceIndexDigest, keys.SpaceIndexSize} {
			lower, upper := keys.SpaceBounds(space, t.root.ID())
			it := v.Scan(lower, upper, kv.ScanOptions{})
			for it.Next() {
				var in keys.Incarnation
				switch space {
				case keys.SpaceWorkbenchMarker:
					m, err := record.DecodeWorkbench(it.Value().Bytes)
					if err != nil {
						return err
					}
					named[m.Incarnation] = true
					continue
				case keys.SpacePathRecord:
					_, in, _, err = keys.CutPathRecord(it.Key())
				default:
					_, _, in, _, err = keys.CutIndexed(it.Key())
				}
				if err != nil {
					return err
				}
				if !named[in] {
					n++
				}
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// ChangeRestore changes the only restore that is under way, as no tool can.
func (w *Workbench) ChangeRestore(ctx context.Context, change func(o *record.RestoreOperation)) error {
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	return w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		var o record.RestoreOperation
		var key []byte
		if err := t.eachRestore(tx, func(there *record.RestoreOperation) {
			o = *there
			o.Body = o.Body.Clone()
			id := operationID(&o.Restore)
			key = keys.AppendRestoreOperation(nil, t.root.ID(), id)
		}); err != nil {
			return err
		}
		change(&o)
		tx.Put(key, record.AppendRestoreOperation(nil, o))
		return nil
	})
}

// Stop ends what runs in the background, as a process that is killed does.
func (w *Workbench) Stop() { w.care.stop() }

// TreeOf is every file of a workbench at a revision, 0 for now: all that its record
// says, and the body's digest and first list.
func (w *Workbench) TreeOf(ctx context.Context, id string, rev int64) (map[string]string, error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var in keys.Incarnation
	err = w.store.View(ctx, t.root, func(v *kv.View) (err error) {
		in, _, err = t.see(v, id)
		if rev == 0 {
			rev = int64(v.Revision())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	err = w.eachFile(ctx, t, in, kv.Revision(rev), func(path string, f *record.File) error {
		files[path] = fmt.Sprint(f.Generation, " ", f.ContentType, f.ModifiedMillis, f.Producer, f.ManifestID, f.Body.Length, hex.EncodeToString(f.Body.SHA256[:]), f.Body.Spans, len(f.Body.Tail))
		return nil
	})
	return files, err
}

// BeginRestore prepares a restore and leaves it there.
func (w *Workbench) BeginRestore(ctx context.Context, req *op.WorkbenchRestoreRequest) error {
	q, err := w.newRestore(req)
	if err != nil {
		return err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	p, err := w.planRestore(ctx, t, q)
	if err != nil {
		return err
	}
	_, _, err = w.prepareRestore(ctx, t, q, p)
	return err
}
