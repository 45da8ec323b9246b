package httpapi

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseTags(t *testing.T) {
	for _, c := range []struct {
		lines  []string
		ok     bool
		strong []int64 // generations that If-Match lets through, of 1 to 4
		weak   []int64
	}{
		{nil, true, nil, nil},
		{[]string{`"3"`}, true, []int64{3}, []int64{3}},
		{[]string{`W/"3"`}, true, nil, []int64{3}},
		{[]string{`"1", "2"`}, true, []int64{1, 2}, []int64{1, 2}},
		{[]string{`"1"`, `W/"2",,"4"`}, true, []int64{1, 4}, []int64{1, 2, 4}},
		{[]string{` , "1" ,`}, true, []int64{1}, []int64{1}},
		{[]string{`"a, b"`}, false, nil, nil},
		{[]string{`"1,2", "3"`}, true, []int64{3}, []int64{3}},
		{[]string{`*`}, true, []int64{1, 2, 3, 4}, []int64{1, 2, 3, 4}},
		{[]string{` * `}, true, []int64{1, 2, 3, 4}, []int64{1, 2, 3, 4}},
		{[]string{``}, false, nil, nil},
		{[]string{`3`}, false, nil, nil},
		{[]string{`"3`}, false, nil, nil},
		{[]string{`"3"x`}, false, nil, nil},
		{[]string{`"3" "4"`}, false, nil, nil},
		{[]string{`w/"3"`}, false, nil, nil},
		{[]string{`*, "3"`}, false, nil, nil},
		{[]string{`"3", *`}, false, nil, nil},
		{[]string{`*`, `*`}, false, nil, nil},
		{[]string{"\"a\x00b\""}, false, nil, nil},
		{[]string{`"003"`}, true, nil, nil},
		{[]string{strings.Repeat(`"9",`, maxEntityTags+1)}, false, nil, nil},
	} {
		list, ok := parseTags(c.lines)
		if ok != c.ok {
			t.Errorf("parseTags(%q): ok %v, want %v", c.lines, ok, c.ok)
			continue
		}
		if !ok {
			continue
		}
		var strong, weak []int64
		for g := int64(1); g <= 4; g++ {
			if list.matchesStrong(g) {
				strong = append(strong, g)
			}
			if list.matchesWeak(g) {
				weak = append(weak, g)
			}
		}
		if !slices.Equal(strong, c.strong) || !slices.Equal(weak, c.weak) || list.present != (len(c.lines) > 0) {
			t.Errorf("parseTags(%q): strong %v weak %v present %v, want %v and %v", c.lines, strong, weak, list.present, c.strong, c.weak)
		}
	}
}

func TestParseRange(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		header  string
		size    int64
		verdict rangeVerdict
		parts   []byteRange
	}{
		{"bytes=0-0", size, rangeParts, []byteRange{{0, 1}}},
		{"bytes=0-499", size, rangeParts, []byteRange{{0, 500}}},
		{"bytes=500-", size, rangeParts, []byteRange{{500, 500}}},
		{"bytes=999-", size, rangeParts, []byteRange{{999, 1}}},
		{"bytes=-1", size, rangeParts, []byteRange{{999, 1}}},
		{"bytes=-5000", size, rangeParts, []byteRange{{0, 1000}}},
		{"bytes=0-5000", size, rangeParts, []byteRange{{0, 1000}}},
		{"BYTES=0-1", size, rangeParts, []byteRange{{0, 2}}},
		{"bytes=0-0, -1", size, rangeParts, []byteRange{{0, 1}, {999, 1}}},
		{"bytes=0-0,5000-", size, rangeParts, []byteRange{{0, 1}}},
		{"bytes=0-99999999999999999999999", size, rangeParts, []byteRange{{0, 1000}}},
		{"bytes=1000-", size, rangeUnsatisfiable, nil},
		{"bytes=99999999999999999999999-", size, rangeUnsatisfiable, nil},
		{"bytes=-0", size, rangeUnsatisfiable, nil},
		{"bytes=0-", 0, rangeUnsatisfiable, nil},
		{"bytes=-5", 0, rangeUnsatisfiable, nil},
		{"bytes=5-1", size, rangeNone, nil},
		{"bytes=", size, rangeNone, nil},
		{"bytes=,", size, rangeNone, nil},
		{"bytes=-", size, rangeNone, nil},
		{"bytes=a-b", size, rangeNone, nil},
		{"bytes=+1-2", size, rangeNone, nil},
		{"bytes=--1", size, rangeNone, nil},
		{"bytes=1", size, rangeNone, nil},
		{"lines=0-1", size, rangeNone, nil},
		{"0-1", size, rangeNone, nil},
		{"bytes=0-10,5-15", size, rangeNone, nil},
		{"bytes=" + strings.Repeat("0-0,", maxRanges+1), size, rangeNone, nil},
	} {
		parts, verdict := parseRange(c.header, c.size)
		if verdict != c.verdict || !slices.Equal(parts, c.parts) {
			t.Errorf("parseRange(%q, %d) = %v, %d; want %v, %d", c.header, c.size, parts, verdict, c.parts, c.verdict)
		}
	}
}

func TestParseDigest(t *testing.T) {
	const sum = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
	for _, c := range []struct {
		lines []string
		ok    bool
		has   bool
	}{
		{nil, true, false},
		{[]string{sum}, true, true},
		{[]string{"sha-512=:AAAA:, " + sum}, true, true},
		{[]string{"sha-512=:AAAA:"}, true, false},
		{[]string{sum, sum}, true, true},
		{[]string{sum, "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"}, false, false},
		{[]string{"sha-256=:AAAA:"}, false, false},
		{[]string{"sha-256=47DEQ"}, false, false},
		{[]string{"sha-256"}, false, false},
		{[]string{""}, false, false},
	} {
		sum, ok := parseDigest(c.lines)
		if ok != c.ok || (sum != nil) != c.has {
			t.Errorf("parseDigest(%q) = %x, %v; want a sum: %v, ok: %v", c.lines, sum, ok, c.has, c.ok)
		}
	}
	// The digest of nothing, which both notations must agree on.
	if got := digestHeader("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"); got != sum {
		t.Errorf("digestHeader = %q, want %q", got, sum)
	}
	for _, bad := range []string{"", "sha256:", "md5:e3b0", "sha256:zz"} {
		if got := digestHeader(bad); got != "" {
			t.Errorf("digestHeader(%q) = %q, want nothing", bad, got)
		}
	}
}

func TestVerifyingReader(t *testing.T) {
	mismatch := errors.New("mismatch")
	sum, _ := decodeDigestURI("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") // of "abc"
	for body, want := range map[string]error{"abc": nil, "abd": mismatch, "": mismatch, "abcd": mismatch} {
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body)), iotest.DataErrReader(strings.NewReader(body))} {
			got, err := io.ReadAll(newVerifyingReader(r, sum, mismatch))
			if !errors.Is(err, want) || string(got) != body {
				t.Errorf("body %q: read %q, %v; want error %v", body, got, err, want)
			}
		}
	}
}

// FuzzTags demands that whatever is accepted can be written down again and read the same.
func FuzzTags(f *testing.F) {
	for _, s := range []string{`"3"`, `W/"3", "4"`, `*`, `"a`, `,,"1",`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, ok := parseTags([]string{s})
		if !ok || list.any {
			return
		}
		var again []string
		for _, tag := range list.tags {
			text := `"` + tag.opaque + `"`
			if tag.weak {
				text = "W/" + text
			}
			again = append(again, text)
		}
		second, ok := parseTags([]string{strings.Join(again, ", ")})
		if !ok || !slices.Equal(second.tags, list.tags) {
			t.Fatalf("%q reads as %v, and that again as %v (%v)", s, list.tags, second.tags, ok)
		}
	})
}

// FuzzRange demands that every range that is let through lies within the file and shares no byte with another.
func FuzzRange(f *testing.F) {
	f.Add("bytes=0-1,5-,-7", int64(100))
	f.Add("bytes=-1", int64(0))
	f.Add("bytes=9223372036854775807-", int64(9223372036854775807))
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		parts, verdict := parseRange(header, size)
		if (verdict == rangeParts) != (len(parts) > 0) {
			t.Fatalf("verdict %d with %d parts", verdict, len(parts))
		}
		var total int64
		for _, p := range parts {
			if p.offset < 0 || p.length < 1 || p.offset > size-p.length {
				t.Fatalf("range %+v outside of %d bytes", p, size)
			}
			total += p.length
		}
		if total > size {
			t.Fatalf("ranges of %d bytes in a file of %d", total, size)
		}
	})
}

// FuzzDigest demands that only whole SHA-256 sums come out.
func FuzzDigest(f *testing.F) {
	f.Add("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
	f.Fuzz(func(t *testing.T, s string) {
		if sum, ok := parseDigest([]string{s}); ok && sum != nil && len(sum) != 32 {
			t.Fatalf("%q gave a sum of %d bytes", s, len(sum))
		}
	})
}
