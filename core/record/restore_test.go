package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func sampleRestore() record.Restore {
	return record.Restore{Identity: sum(1), Initialization: sum(2), Kind: record.RestoreSnapshot, Snapshot: 300, Base: sum(3), Frozen: 1 << 40,
		Source: "src", SourcePath: "/agents/default/wb/src", SourceIncarnation: [16]byte{1, 15: 2}, Destination: "src-gen", DestinationPath: "/agents/default/wb/src-gen",
		DestinationIncarnation: [16]byte{3, 15: 4}, AtMillis: 1767323045123, Manifest: sum(4), ManifestLength: 430, ManifestType: "application/json"}
}

func TestRestoreGoldens(t *testing.T) {
	o := record.RestoreOperation{Restore: sampleRestore(), State: record.RestoreCopying, Body: record.Body{Length: 5, SHA256: sum(5), Tail: []byte("hello"), TailSum: 0x9a71bb4c}}
	recordtest.Golden(t, "restore-operation", o, record.AppendRestoreOperation, record.DecodeRestoreOperation, equal)
	o.Kind, o.Snapshot, o.State, o.Again, o.After, o.Tree, o.Members, o.Copied = record.RestoreCommit, 0, record.RestoreAborting, true, "outputs/a-b", sum(6), 301, 299
	recordtest.Golden(t, "restore-operation-aborting", o, record.AppendRestoreOperation, record.DecodeRestoreOperation, equal)
	p := record.RestoreProvenance{Restore: sampleRestore(), Commit: sum(7), Members: 300}
	recordtest.Golden(t, "restore-provenance", p, record.AppendRestoreProvenance, record.DecodeRestoreProvenance, equal)
}

func FuzzRestoreRecords(f *testing.F) {
	f.Add(record.AppendRestoreOperation(nil, record.RestoreOperation{Restore: sampleRestore(), State: record.RestoreCopied, After: "a/b"}))
	f.Add(record.AppendRestoreProvenance(nil, record.RestoreProvenance{Restore: sampleRestore(), Members: 1}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendRestoreOperation, record.DecodeRestoreOperation)
		recordtest.Decoder(t, input, record.AppendRestoreProvenance, record.DecodeRestoreProvenance)
	})
}
