package record_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

// body is Body as a record of its own, which it is nowhere at rest.
type body struct{ record.Body }

func appendBody(dst []byte, b body) []byte { return record.AppendBody(append(dst, 1), b.Body) }

func decodeBody(value []byte) (body, error) {
	_, r := record.NewReader(value, 1)
	b := record.ReadBody(&r)
	return body{b}, r.Done()
}

func equal[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

func sum(first byte) (s [32]byte) {
	for i := range s {
		s[i] = first + byte(i)
	}
	return s
}

func TestBodyGoldens(t *testing.T) {
	recordtest.Golden(t, "body-empty", body{record.Body{SHA256: sum(1), Tail: []byte{}}}, appendBody, decodeBody, equal)
	recordtest.Golden(t, "body-inline", body{record.Body{Length: 5, SHA256: sum(2), Tail: []byte("hello"), TailSum: 0x9a71bb4c}},
		appendBody, decodeBody, equal)
	recordtest.Golden(t, "body-spans", body{record.Body{
		Length: 5003, SHA256: sum(3),
		Spans: []record.BodySpan{
			{List: record.BodyList{Revision: 7, Number: 0}, End: 4096},
			{List: record.BodyList{Revision: 300, Number: 2}, End: 5000},
		},
		Hash: record.HashState{Chain: sum(4), Rest: []byte("12345678")},
		Tail: []byte("end"), TailSum: 0xb1e1a1d8,
	}}, appendBody, decodeBody, equal)
	recordtest.Golden(t, "extent-data", record.Extent{Length: 4, Data: []byte("data"), Sum: 0x0b29c7c3}, record.AppendExtent, record.DecodeExtent, equal)
	recordtest.Golden(t, "extent-segment", record.Extent{Length: 1 << 30, Segment: true, SegmentID: [16]byte{0xab, 15: 0xcd}},
		record.AppendExtent, record.DecodeExtent, equal)
	recordtest.Golden(t, "list", record.List{Start: 66, Hash: record.HashState{Chain: sum(5), Rest: []byte("ab")}},
		record.AppendList, record.DecodeList, equal)
	recordtest.Golden(t, "segment", record.Segment{Length: 70000, List: record.BodyList{Revision: 9, Number: 1}, End: 90000},
		record.AppendSegment, record.DecodeSegment, equal)
	recordtest.Golden(t, "body-ref", record.BodyRef{SHA256: sum(6)}, record.AppendBodyRef, record.DecodeBodyRef, equal)
	recordtest.Golden(t, "staging", record.Staging{AtMillis: 1767323045000}, record.AppendStaging, record.DecodeStaging, equal)
	recordtest.Golden(t, "loose-list", record.Loose{}, record.AppendLooseList, record.DecodeLooseList, equal)
	recordtest.Golden(t, "loose-file", record.Loose{}, record.AppendLooseFile, record.DecodeLooseFile, equal)
}

func TestBodyRefusesWhatNoWriterMade(t *testing.T) {
	valid := appendBody(nil, body{record.Body{SHA256: sum(1),
		Spans: []record.BodySpan{{List: record.BodyList{Revision: 1}, End: 64}}, Hash: record.HashState{Chain: sum(2)}}})
	for cut := range valid {
		if b, err := decodeBody(valid[:cut]); err == nil {
			t.Errorf("cut after %d bytes it decodes to %+v", cut, b)
		}
	}
	empty := bytes.Clone(valid)
	empty[1+32+1+2] = 0 // the span's length
	if _, err := decodeBody(empty); err == nil {
		t.Error("an empty span decodes")
	}
	many := append(bytes.Clone(valid[:33]), 0xff, 0xff, 0xff, 0xff, 0x0f)
	if _, err := decodeBody(many); err == nil {
		t.Error("more spans than bytes decode")
	}
}

func FuzzBodyRecords(f *testing.F) {
	f.Add(appendBody(nil, body{record.Body{Length: 1, Tail: []byte("x")}}))
	f.Add(appendBody(nil, body{record.Body{Spans: []record.BodySpan{{End: 70}}, Hash: record.HashState{Rest: []byte("123456")}}}))
	f.Add(record.AppendExtent(nil, record.Extent{Length: 1, Data: []byte("x")}))
	f.Add(record.AppendExtent(nil, record.Extent{Length: 9, Segment: true}))
	f.Add(record.AppendList(nil, record.List{Start: 65, Hash: record.HashState{Rest: []byte("x")}}))
	f.Add(record.AppendSegment(nil, record.Segment{Length: 5, End: 5}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, appendBody, decodeBody)
		recordtest.Decoder(t, input, record.AppendExtent, record.DecodeExtent)
		recordtest.Decoder(t, input, record.AppendList, record.DecodeList)
		recordtest.Decoder(t, input, record.AppendSegment, record.DecodeSegment)
		recordtest.Decoder(t, input, record.AppendBodyRef, record.DecodeBodyRef)
		recordtest.Decoder(t, input, record.AppendStaging, record.DecodeStaging)
		recordtest.Decoder(t, input, record.AppendLooseList, record.DecodeLooseList)
		recordtest.Decoder(t, input, record.AppendLooseFile, record.DecodeLooseFile)
	})
}
