package op

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestPlainPrefix holds the eight-byte steps against one byte at a time, with every special byte at every offset.
func TestPlainPrefix(t *testing.T) {
	slow := func(b []byte) (int, bool) {
		ascii := true
		for i, c := range b {
			if c < 0x20 || c == '"' || c == '\\' {
				return i, ascii
			}
			ascii = ascii && c < 0x80
		}
		return len(b), ascii
	}
	check := func(b []byte) {
		n, ascii := slow(b)
		if gotN, gotA := plainPrefixBytes(b); gotN != n || gotA != ascii {
			t.Fatalf("%q: got %d %v, want %d %v", b, gotN, gotA, n, ascii)
		}
		if gotN, gotA := plainPrefix(string(b)); gotN != n || gotA != ascii {
			t.Fatalf("%q as a string: got %d %v, want %d %v", b, gotN, gotA, n, ascii)
		}
	}
	for length := range 26 {
		for at := range length {
			for c := range 256 {
				b := bytes.Repeat([]byte("a"), length)
				b[at] = byte(c)
				check(b)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		check(b)
	}
}

func FuzzStrings(f *testing.F) {
	for _, s := range []string{`""`, `"a\n\u0041\ud83d\ude00é"`, `"\ud800"`, "\"\xff\"", `"\"\\\/"`, `"` + strings.Repeat("x", 600) + `\t"`, `"a`, `"\u12"`, "\"\x01\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		s := scanner{b: doc}
		s.share()
		got := s.str()
		s.end()
		var want string
		err := json.Unmarshal(doc, &want)
		if (err == nil) != (s.err == nil) && !(err == nil && kindOf(doc) == kindNull) {
			t.Fatalf("%q: %v, by go-json-experiment %v", doc, s.err, err)
		}
		if s.err == nil {
			if got != want {
				t.Fatalf("%q: got %q, want %q", doc, got, want)
			}
			back := appendString(nil, got)
			if !jsontext.Value(back).IsValid() {
				t.Fatalf("%q encodes to %q", got, back)
			}
			again := scanner{b: back}
			if v := again.str(); v != got || again.err != nil {
				t.Fatalf("%q does not survive: %q, %v", got, v, again.err)
			}
		}
	})
}

// FuzzValues holds the reader of free-form values against go-json-experiment's strict one.
func FuzzValues(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}],"c":-0.5e+10}`, `[[[]]]`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[1,]`, `01`, `-`, `1.`, `1e`, `truex`, `{"a" 1}`, `nul`, "\ufeff1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		s := scanner{b: doc}
		raw := s.raw()
		s.end()
		want := jsontext.Value(doc).IsValid()
		if s.err != nil && s.err.Rule == "depth" {
			return
		}
		if (s.err == nil) != want {
			t.Fatalf("%q: %v, by go-json-experiment valid=%v", doc, s.err, want)
		}
		if s.err == nil && strings.TrimSpace(string(raw)) != strings.Trim(string(doc), " \t\r\n") {
			t.Fatalf("%q gives %q", doc, raw)
		}
	})
}

func TestManyMembersAreComparedByHash(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 100 {
		fmt.Fprintf(&b, `"k%d":{"x":%d},`, i, i)
	}
	for last, want := range map[string]string{`"k50":1}`: "duplicate", `"k0":1}`: "duplicate", `"k99":1}`: "duplicate", `"\u006b1":1}`: "duplicate", `"k100":1}`: ""} {
		s := scanner{b: []byte(b.String() + last)}
		s.skip()
		s.end()
		got := ""
		if s.err != nil {
			got = s.err.Rule
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", last, got, want)
		}
	}
}

func TestDepthIsCountedFromTheDocument(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		closing := map[string]string{"[": "]", `{"a":`: "}"}[open]
		for depth, want := range map[int]bool{127: true, 128: true, 129: false, 100000: false} {
			s := scanner{b: []byte(strings.Repeat(open, depth) + "1" + strings.Repeat(closing, depth))}
			s.skip()
			s.end()
			if (s.err == nil) != want {
				t.Errorf("%d of %s: %v", depth, open, s.err)
			}
		}
	}
}

func TestAppendStringRepairsWhatIsNotUTF8(t *testing.T) {
	for in, want := range map[string]string{"a\xffb": `"a` + "\uFFFD" + `b"`, "\xed\xa0\x80": `"` + strings.Repeat("\uFFFD", 3) + `"`, "é\x00\x1f\u2028</>&": `"é\u0000\u001f` + "\u2028" + `</>&"`, "\b\f\n\r\t\"\\": `"\b\f\n\r\t\"\\"`} {
		got := string(appendString(nil, in))
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	for _, v := range []float64{0, 1, -1.5, 1e-7, 1e21, 123456789012345680000, 5e-324, 1.7976931348623157e308, 0.1, 100} {
		got := string(appendFloat(nil, v))
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
		if back, err := strconv.ParseFloat(got, 64); err != nil || back != v {
			t.Errorf("%s does not read back as %v", got, v)
		}
	}
}

func TestShortNamesAreFitForMessages(t *testing.T) {
	for in, want := range map[string]string{"a": "$.a", "": `$[""]`, "a b": `$["a b"]`, "\x00": `$["\x00"]`, "\xff": "$[\"\uFFFD\"]", strings.Repeat("é", 100): `$["` + strings.Repeat("é", 64) + `…"]`} {
		if got := memberPath("$", shortName([]byte(in))); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
