package record_test

import (
	"bytes"
	"math"
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
	recordtest.Golden(t, "file-v2-indexed", indexed, record.AppendFile, record.DecodeFile, equal)
}

var indexed = record.File{Generation: 2, ContentType: "t", Body: record.Body{Length: 1, SHA256: sum(5), Tail: []byte("x"), TailSum: 7}, Index: []record.IndexValue{
	{Field: "a.none", Value: record.Scalar{}}, {Field: "b", Value: record.Boolean(true)}, {Field: "c", Value: record.Signed(-3)},
	{Field: "d", Value: record.Unsigned(math.MaxUint64)}, {Field: "e", Value: record.Float(-0.5)}, {Field: "f", Value: record.Timestamp(1767323045123)},
	{Field: "g", Value: record.Bytes("\x00\xff")}, {Field: "h", Value: record.String("Ω")}}}

// Scalars sort as their ordered bytes do.
func TestOrderedScalars(t *testing.T) {
	want := []record.Scalar{{}, record.Boolean(false), record.Boolean(true), record.Signed(math.MinInt64), record.Signed(-1), record.Signed(0), record.Signed(256),
		record.Unsigned(0), record.Unsigned(255), record.Unsigned(math.MaxUint64), record.Float(-math.MaxFloat64), record.Float(-1), record.Float(-1e-300),
		record.Float(0), record.Float(5e-324), record.Float(1.5), record.Float(math.MaxFloat64), record.Timestamp(-1), record.Timestamp(0),
		record.Bytes(""), record.Bytes("\x00"), record.Bytes("\xff"), record.String(""), record.String("a"), record.String("a\x00"), record.String("b")}
	for i := 1; i < len(want); i++ {
		if a, b := want[i-1].AppendOrdered(nil), want[i].AppendOrdered(nil); bytes.Compare(a, b) >= 0 {
			t.Errorf("%+v is not below %+v: %x, %x", want[i-1], want[i], a, b)
		}
	}
	if record.Float(math.Copysign(0, -1)) != record.Float(0) {
		t.Error("the two zeros are two values")
	}
}

func FuzzWorkbenchRecords(f *testing.F) {
	f.Add(record.AppendWorkbench(nil, record.Workbench{}))
	f.Add(record.AppendWorkbenchHead(nil, record.WorkbenchHead{ContentRevision: 7}))
	f.Add(record.AppendFile(nil, record.File{Generation: 2, ContentType: "t", Body: record.Body{Length: 1, Tail: []byte("x")}}))
	f.Add(record.AppendFile(nil, indexed))
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
