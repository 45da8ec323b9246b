package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func TestWorkbenchGoldens(t *testing.T) {
	producer, manifest := "agent-7", ""
	recordtest.Golden(t, "workbench", record.Workbench{Incarnation: [16]byte{1, 2, 15: 0xfe}, CreatedMillis: 1767323045123},
		record.AppendWorkbench, record.DecodeWorkbench, equal)
	recordtest.Golden(t, "workbench-head", record.WorkbenchHead{ContentRevision: 1<<53 + 1}, record.AppendWorkbenchHead, record.DecodeWorkbenchHead, equal)
	recordtest.Golden(t, "file", record.File{Generation: 1, ModifiedMillis: 1767323045123, ContentType: "text/plain; charset=utf-8",
		Body: record.Body{Length: 5, SHA256: sum(2), Tail: []byte("hello"), TailSum: 0x9a71bb4c}}, record.AppendFile, record.DecodeFile, equal)
	recordtest.Golden(t, "file-described", record.File{Generation: 300, ModifiedMillis: -1, ContentType: "a/b", Producer: &producer, ManifestID: &manifest,
		Body: record.Body{Length: 70, SHA256: sum(3), Spans: []record.BodySpan{{List: record.BodyList{Revision: 8}, End: 70}},
			Hash: record.HashState{Chain: sum(4), Rest: []byte("123456")}, Tail: []byte{}}}, record.AppendFile, record.DecodeFile, equal)
}

func FuzzWorkbenchRecords(f *testing.F) {
	f.Add(record.AppendWorkbench(nil, record.Workbench{}))
	f.Add(record.AppendWorkbenchHead(nil, record.WorkbenchHead{ContentRevision: 7}))
	f.Add(record.AppendFile(nil, record.File{Generation: 2, ContentType: "t", Body: record.Body{Length: 1, Tail: []byte("x")}}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendWorkbench, record.DecodeWorkbench)
		recordtest.Decoder(t, input, record.AppendWorkbenchHead, record.DecodeWorkbenchHead)
		recordtest.Decoder(t, input, record.AppendFile, record.DecodeFile)
		if f, err := record.DecodeFile(input); err == nil {
			if n, err := record.FileLength(input); err != nil || n != f.Body.Length {
				t.Errorf("length %d, %v; the record says %d", n, err, f.Body.Length)
			}
		}
	})
}
