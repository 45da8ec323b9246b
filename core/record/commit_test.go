package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func TestCommitGoldens(t *testing.T) {
	recordtest.Golden(t, "commit-head", record.CommitHead{Generation: 300, Identity: sum(7)}, record.AppendCommitHead, record.DecodeCommitHead, equal)
}

func FuzzCommitRecords(f *testing.F) {
	f.Add(record.AppendCommitHead(nil, record.CommitHead{Generation: 1, Identity: sum(1)}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendCommitHead, record.DecodeCommitHead)
	})
}
