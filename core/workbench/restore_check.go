package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// runRestores verifies what is stored of restores (WB-30 to WB-35). of is the
// identity of the root.
func (k *checker) runRestores(ctx context.Context, of rootID) {
	destinations, consumers := map[string]bool{}, map[string]bool{}
	k.scan(ctx, keys.SpaceRestoreOperation, func(key []byte, value kv.Value) {
		_, id, err := keys.CutRestoreOperation(key)
		if err != nil {
			k.problem("WB-31", key, "%v", err)
			return
		}
		o, err := record.DecodeRestoreOperation(value.Bytes)
		if err != nil {
			k.problem("WB-31", key, "%v", err)
			return
		}
		k.visitRestore(of, key, id, &o.Restore)
		if o.Body.SHA256 != o.Manifest || o.Body.Length != o.ManifestLength {
			k.problem("WB-35", key, "its manifest is not the one that it was begun with")
		}
		if destinations[o.Destination] {
			k.problem("WB-31", key, "another restore is building %q too", o.Destination)
		}
		destinations[o.Destination] = true
		if _, ok := k.ids[o.DestinationIncarnation]; ok {
			k.problem("WB-31", key, "%q is there already", o.Destination)
		}
		if o.Kind == record.RestoreSnapshot && o.State != record.RestoreAborting {
			consumers[string(keys.AppendSnapshotConsumer(nil, k.root, o.SourceIncarnation, o.Snapshot, id))] = true
		}
		k.staged[o.DestinationIncarnation] = true
	})
	k.scan(ctx, keys.SpaceSnapshotConsumer, func(key []byte, _ kv.Value) {
		if !consumers[string(key)] {
			k.problem("WB-33", key, "no restore that is under way consumes it")
		}
		delete(consumers, string(key))
	})
	for key := range consumers {
		k.problem("WB-33", []byte(key), "the restore that is under way does not consume its snapshot")
	}
	for in := range k.unnamed {
		if !k.staged[in] {
			k.problem("WB-32", keys.AppendPathRecords(nil, k.root, in), "files of no workbench, and of no restore that is under way")
		}
	}
	k.scan(ctx, keys.SpaceRestoreProvenance, func(key []byte, value kv.Value) { k.visitProvenance(of, key, value) })
}

func (k *checker) visitRestore(of rootID, key []byte, id [keys.OperationIDLen]byte, o *record.Restore) {
	if !intact(of, o) || operationID(o) != id {
		k.problem("WB-35", key, "its identity or its initialization does not follow from what it says")
	}
	if k.ids[o.SourceIncarnation] != o.Source {
		k.problem("WB-31", key, "it restores %q from the incarnation of %q", o.Source, k.ids[o.SourceIncarnation])
	}
}

func (k *checker) visitProvenance(of rootID, key []byte, value kv.Value) {
	_, in, err := keys.CutRestoreProvenance(key)
	if err != nil {
		k.problem("WB-34", key, "%v", err)
		return
	}
	p, err := record.DecodeRestoreProvenance(value.Bytes)
	if err != nil {
		k.problem("WB-34", key, "%v", err)
		return
	}
	k.visitRestore(of, key, operationID(&p.Restore), &p.Restore)
	if p.DestinationIncarnation != in || k.ids[in] != p.Destination {
		k.problem("WB-34", key, "it is of %q, and the marker says %q", p.Destination, k.ids[in])
	}
	if _, ok, err := k.v.Get(keys.AppendCommit(nil, k.root, in, p.Commit)); err != nil || !ok {
		k.problem("WB-34", key, "the commit that it made is not there (%v)", err)
	}
	stored, ok, err := k.v.Get(keys.AppendPathRecord(nil, k.root, in, jail.RestoreManifest))
	if err != nil {
		k.problem("WB-0", key, "%v", err)
		return
	}
	var f record.File
	if ok {
		f, err = record.DecodeFile(stored.Bytes)
	}
	if !ok || err != nil || f.Generation != 1 || f.Body.SHA256 != p.Manifest || f.Body.Length != p.ManifestLength || f.ContentType != p.ManifestType {
		k.problem("WB-34", key, "the restore manifest is not the one that the restore was begun with")
	}
}

// restoredCommit reports whether a commit is the one that a restore made in a
// workbench: the only first one that has a parent, which is the source's.
func (k *checker) restoredCommit(in keys.Incarnation, id keys.CommitIdentity) bool {
	value, ok, err := k.v.Get(keys.AppendRestoreProvenance(nil, k.root, in))
	if err != nil || !ok {
		return false
	}
	p, err := record.DecodeRestoreProvenance(value.Bytes)
	return err == nil && p.Commit == id
}
