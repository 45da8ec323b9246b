package workbench

import (
	"math"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestListCursorsRoundTrip(t *testing.T) {
	w := &Workbench{o: Options{CursorKey: []byte("0123456789abcdef")}}
	p := jail.Place{ID: "wb1", Full: "outputs/dir"}
	for _, c := range []listCursor{
		{last: "a"}, {incarnation: [16]byte{1, 15: 0xff}, snapshot: 1<<53 - 1, fence: 1<<64 - 1, last: strings.Repeat("é", 2000)}, {last: "\x01"},
	} {
		for _, sel := range selectors {
			got, ok := w.openListCursor(&tenant{}, p, sel, w.sealListCursor(&tenant{}, p, sel, c))
			if !ok || got != c {
				t.Errorf("%+v came back as %+v, %v", c, got, ok)
			}
		}
	}
}

// selectors are as many scopes of one directory.
var selectors = []*op.IntOrString{nil, {Int: 0}, {Int: 7}, {Int: 1<<63 - 1}, {IsString: true, Str: "7"}, {IsString: true, Str: "nightly"}}

// WB-7: a token is for the selector with which it was made.
func TestListCursorsAreBoundToTheirSelector(t *testing.T) {
	w := &Workbench{o: Options{CursorKey: []byte("0123456789abcdef")}}
	p := jail.Place{ID: "wb1", Full: "outputs"}
	for i, made := range selectors {
		token := w.sealListCursor(&tenant{}, p, made, listCursor{snapshot: 7, last: "a"})
		for j, shown := range selectors {
			if _, ok := w.openListCursor(&tenant{}, p, shown, token); ok != (i == j) {
				t.Errorf("made for %+v and shown for %+v: %v", made, shown, ok)
			}
		}
	}
}

// WB-7: bytes that were not sealed here for this scope are refused, whatever
// they are.
func FuzzListCursor(f *testing.F) {
	w := &Workbench{o: Options{CursorKey: []byte("0123456789abcdef")}}
	here, there := jail.Place{ID: "wb1", Full: "outputs"}, jail.Place{ID: "wb1", Full: "logs"}
	sel := &op.IntOrString{IsString: true, Str: "nightly"}
	f.Add(w.sealListCursor(&tenant{}, here, nil, listCursor{last: "a"}))
	f.Add(w.sealListCursor(&tenant{}, here, sel, listCursor{snapshot: 7, fence: 9, last: "a"}))
	f.Add("")
	f.Add("r:1")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := w.openListCursor(&tenant{}, here, nil, s)
		if ok && w.sealListCursor(&tenant{}, here, nil, c) != s {
			t.Errorf("%q opens and is not what sealing gives", s)
		}
		if _, elsewhere := w.openListCursor(&tenant{}, there, nil, s); ok && elsewhere {
			t.Errorf("%q opens in two directories", s)
		}
		if _, frozen := w.openListCursor(&tenant{}, here, sel, s); ok && frozen {
			t.Errorf("%q opens live and at a snapshot", s)
		}
	})
}

func FuzzReadCursor(f *testing.F) {
	for _, s := range []string{"r:0", "b:300", "r:", "r:-1", "r:9223372036854775808", "r:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, format := range []string{formatStructured, formatBytes} {
			n, err := parseReadCursor(s, format)
			switch {
			case err != nil && !fault.Is(err, op.ReasonWBBadCursor):
				t.Errorf("%q: %v", s, err)
			case err == nil && n < 0:
				t.Errorf("%q is %d", s, n)
			case err == nil && n < math.MaxInt64 && *nextReadCursor(format, n, n+1) != readCursorKind(format)+strings.TrimLeft(s[2:len(s)-1], "0")+s[len(s)-1:]:
				t.Errorf("%q does not come back from %d", s, n)
			}
		}
	})
}

// FuzzPayload: what decodes is the payload, and nothing beside it.
func FuzzPayload(f *testing.F) {
	f.Add("AAEC")
	f.Add("AA==")
	f.Add("AB==")
	f.Add("A\nA==")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := decodeBase64(s, 1<<20)
		if err == nil && len(s) != (len(data)+2)/3*4 {
			t.Errorf("%q decodes to %d bytes", s, len(data))
		}
		if err != nil && !fault.Is(err, op.ReasonWBInvalidArguments) && !fault.Is(err, op.ReasonWBPayloadTooLarge) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
