package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func TestSnapshotGoldens(t *testing.T) {
	name, reason, farewell := "nightly", "before the migration", ""
	recordtest.Golden(t, "snapshot", record.Snapshot{State: record.SnapshotActive, Revision: 1<<53 - 1, Hold: 3, ContentRevision: 300,
		CommitGeneration: 1, CommitIdentity: sum(1), MintedMillis: 1767323045123, DeadlineMillis: 1767927845123, Annotation: record.Annotation{Metadata: []byte{}}},
		record.AppendSnapshot, record.DecodeSnapshot, equal)
	recordtest.Golden(t, "snapshot-retired", record.Snapshot{State: record.SnapshotRetired, Name: &name, Revision: 8, Hold: 2, ContentRevision: 7,
		CommitGeneration: 300, CommitIdentity: sum(2), MintedMillis: -1, DeadlineMillis: 86399999,
		Annotation: record.Annotation{Reason: &reason, Metadata: []byte(`{"n":9007199254740993}`)}, Retirement: &farewell},
		record.AppendSnapshot, record.DecodeSnapshot, equal)
	recordtest.Golden(t, "snapshot-alias", record.SnapshotAlias{ID: 300}, record.AppendSnapshotAlias, record.DecodeSnapshotAlias, equal)
	recordtest.Golden(t, "snapshot-serial", record.SnapshotSerial{Last: 1 << 40}, record.AppendSnapshotSerial, record.DecodeSnapshotSerial, equal)
}

func FuzzSnapshotRecords(f *testing.F) {
	name := "n"
	f.Add(record.AppendSnapshot(nil, record.Snapshot{State: record.SnapshotReaped, Name: &name, Retirement: &name, Annotation: record.Annotation{Reason: &name, Metadata: []byte(`{}`)}}))
	f.Add(record.AppendSnapshotAlias(nil, record.SnapshotAlias{ID: 7}))
	f.Add(record.AppendSnapshotSerial(nil, record.SnapshotSerial{Last: 7}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendSnapshot, record.DecodeSnapshot)
		recordtest.Decoder(t, input, record.AppendSnapshotAlias, record.DecodeSnapshotAlias)
		recordtest.Decoder(t, input, record.AppendSnapshotSerial, record.DecodeSnapshotSerial)
	})
}
