package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func TestCommitGoldens(t *testing.T) {
	recordtest.Golden(t, "commit-head", record.CommitHead{Generation: 300, Identity: sum(7)}, record.AppendCommitHead, record.DecodeCommitHead, equal)
	first, replaced := sampleCommits()
	recordtest.Golden(t, "commit", first, record.AppendCommit, record.DecodeCommit, equal)
	recordtest.Golden(t, "commit-replacing", replaced, record.AppendCommit, record.DecodeCommit, equal)
	prepared, staged := sampleOperations()
	recordtest.Golden(t, "commit-operation", prepared, record.AppendCommitOperation, record.DecodeCommitOperation, equal)
	recordtest.Golden(t, "commit-operation-staged", staged, record.AppendCommitOperation, record.DecodeCommitOperation, equal)
}

func sampleCommits() (first, replacing record.Commit) {
	parent := sum(4)
	first = record.Commit{Generation: 1, Content: sum(1), Manifest: sum(2), Path: "/agents/default/wb/wb1", CommittedMillis: 1767323045123,
		Frozen: 300, Hold: 1, Tree: sum(3), Members: 1, ManifestGeneration: 1, Envelope: record.Body{Length: 2, SHA256: sum(5), Tail: []byte("{}"), TailSum: 7}}
	replacing = first
	replacing.Generation, replacing.Parent, replacing.Replace, replacing.CommittedMillis, replacing.Members = 300, &parent, true, -1, 1<<40
	return first, replacing
}

func sampleOperations() (prepared, staged record.CommitOperation) {
	prepared = record.CommitOperation{Workbench: "wb1", Path: "/wb/wb1", Content: sum(1), Manifest: sum(2), Projection: sum(3), AtMillis: 1767323045123,
		Frozen: 300, Hold: 1, Body: record.Body{Length: 2, SHA256: sum(5), Tail: []byte("{}"), TailSum: 7}}
	staged = prepared
	staged.Replace, staged.Staged, staged.ManifestGeneration, staged.Head = true, true, 2, record.CommitHead{Generation: 2, Identity: sum(6)}
	return prepared, staged
}

func FuzzCommitRecords(f *testing.F) {
	f.Add(record.AppendCommitHead(nil, record.CommitHead{Generation: 1, Identity: sum(1)}))
	first, replacing := sampleCommits()
	f.Add(record.AppendCommit(nil, first))
	f.Add(record.AppendCommit(nil, replacing))
	prepared, staged := sampleOperations()
	f.Add(record.AppendCommitOperation(nil, prepared))
	f.Add(record.AppendCommitOperation(nil, staged))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendCommit, record.DecodeCommit)
		recordtest.Decoder(t, input, record.AppendCommitOperation, record.DecodeCommitOperation)
		recordtest.Decoder(t, input, record.AppendCommitHead, record.DecodeCommitHead)
	})
}
