package record_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func same[T comparable](a, b T) bool { return a == b }

func sameHold(a, b record.Hold) bool {
	return a.Revision == b.Revision && a.Released == b.Released && a.Kind == b.Kind && bytes.Equal(a.Owner, b.Owner) && bytes.Equal(a.Prefix, b.Prefix)
}

func sameVictim(a, b record.Victim) bool {
	return a.AtMillis == b.AtMillis && a.Revision == b.Revision && bytes.Equal(a.Key, b.Key)
}

func TestGoldensOfTheStore(t *testing.T) {
	recordtest.Golden(t, "root-entry", record.RootEntry{ID: 300}, record.AppendRootEntry, record.DecodeRootEntry, same)
	recordtest.Golden(t, "root-head", record.RootHead{Revision: 1 << 40, AtMillis: 1767323045000}, record.AppendRootHead, record.DecodeRootHead, same)
	recordtest.Golden(t, "floor", record.Floor{Revision: 77}, record.AppendFloor, record.DecodeFloor, same)
	recordtest.Golden(t, "hold", record.Hold{Revision: 9, Kind: 2, Owner: []byte("snapshot 1")}, record.AppendHold, record.DecodeHold, sameHold)
	recordtest.Golden(t, "hold-released", record.Hold{Revision: 9, Released: true, Kind: 2}, record.AppendHold, record.DecodeHold, sameHold)
	recordtest.Golden(t, "hold-within", record.Hold{Revision: 9, Kind: 1, Owner: []byte("o"), Prefix: []byte{0x12, 0, 0, 0, 1, 7}}, record.AppendHold, record.DecodeHold, sameHold)
	recordtest.Golden(t, "hold-serial", record.HoldSerial{Last: 12}, record.AppendHoldSerial, record.DecodeHoldSerial, same)
	recordtest.Golden(t, "victim", record.Victim{AtMillis: 1767323045000, Revision: 5, Key: []byte("key")}, record.AppendVictim, record.DecodeVictim, sameVictim)
	recordtest.Golden(t, "clock-mark", record.ClockMark{AtMillis: -1}, record.AppendClockMark, record.DecodeClockMark, same)
	recordtest.Golden(t, "meta", []byte("fact"), record.AppendMeta, record.DecodeMeta, bytes.Equal)
}

func FuzzDecodeStore(f *testing.F) {
	f.Add(record.AppendRootEntry(nil, record.RootEntry{ID: 1}))
	f.Add(record.AppendRootHead(nil, record.RootHead{Revision: 300, AtMillis: -5}))
	f.Add(record.AppendHold(nil, record.Hold{Revision: 1, Owner: []byte("o")}))
	f.Add(record.AppendHold(nil, record.Hold{Revision: 1, Prefix: []byte("p")}))
	f.Add(record.AppendVictim(nil, record.Victim{AtMillis: 1, Revision: 2, Key: []byte("k")}))
	f.Add([]byte{1, 0x80, 0})
	f.Fuzz(func(t *testing.T, value []byte) {
		recordtest.Decoder(t, value, record.AppendRootEntry, record.DecodeRootEntry)
		recordtest.Decoder(t, value, record.AppendRootHead, record.DecodeRootHead)
		recordtest.Decoder(t, value, record.AppendFloor, record.DecodeFloor)
		recordtest.Decoder(t, value, record.AppendHold, record.DecodeHold)
		recordtest.Decoder(t, value, record.AppendHoldSerial, record.DecodeHoldSerial)
		recordtest.Decoder(t, value, record.AppendVictim, record.DecodeVictim)
		recordtest.Decoder(t, value, record.AppendClockMark, record.DecodeClockMark)
		recordtest.Decoder(t, value, record.AppendMeta, record.DecodeMeta)
	})
}

func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		value []byte
		want  error
	}{
		"nothing":       {nil, record.ErrMalformed},
		"version zero":  {[]byte{0, 1}, record.ErrMalformed},
		"newer":         {[]byte{2, 1}, record.ErrVersion},
		"left over":     {[]byte{1, 1, 1}, record.ErrMalformed},
		"cut off":       {[]byte{1}, record.ErrMalformed},
		"long varint":   {[]byte{1, 0x81, 0}, record.ErrMalformed},
		"endless":       {[]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, record.ErrMalformed},
		"as it must be": {[]byte{1, 1}, nil},
	} {
		if _, err := record.DecodeFloor(c.value); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	b := record.AppendUint(nil, 1)
	b = record.AppendInt(b, -300)
	b = record.AppendBool(b, true)
	b = record.AppendBytes(b, "text")
	b = record.AppendTime(b, at)
	b = record.AppendOptBytes(b, false, "")
	b = record.AppendOptBytes(b, true, "there")
	r := record.Part(b)
	if n := r.Uint(); n != 1 {
		t.Errorf("Uint %d", n)
	}
	if n := r.Int(); n != -300 {
		t.Errorf("Int %d", n)
	}
	if !r.Bool() {
		t.Error("Bool")
	}
	if s := r.String(); s != "text" {
		t.Errorf("String %q", s)
	}
	if got := r.Time(); !got.Equal(at) {
		t.Errorf("Time %v", got)
	}
	if _, ok := r.OptString(); ok {
		t.Error("an absent string is there")
	}
	if s, ok := r.OptString(); !ok || s != "there" {
		t.Errorf("OptString %q %v", s, ok)
	}
	if err := r.Done(); err != nil {
		t.Error(err)
	}
	r = record.Part([]byte{2})
	if r.Bool(); !r.Failed() {
		t.Error("a bool of 2 was accepted")
	}
}
