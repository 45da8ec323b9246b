package wsapi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ugorji/go/codec"
)

// The micro-vectors of the lifecycle's MessagePack writer, as its JavaScript clients produce them (invariant 3).
func TestWriterVectors(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "de0000", `[]`: "90", `null`: "c0", `1`: "01", `1.0`: "01", `1024`: "cd0400", `5368709120`: "cb41f4000000000000",
		`0.5`: "cb3fe0000000000000", `1.25`: "cb3ff4000000000000", `0.01`: "cb3f847ae147ae147b", `0`: "00", `-0`: "00",
		`127`: "7f", `128`: "cc80", `255`: "ccff", `256`: "cd0100", `65535`: "cdffff", `65536`: "ce00010000", `4294967295`: "ceffffffff",
		`4294967296`: "cb41f0000000000000", `9007199254740991`: "cb433fffffffffffff",
		`-1`: "ff", `-32`: "e0", `-33`: "d0df", `-128`: "d080", `-129`: "d1ff7f", `-32769`: "d2ffff7fff", `-2147483648`: "d280000000",
		`-2147483649`: "cbc1e0000000200000", `true`: "c3", `false`: "c2", `"a"`: "a161", `"\u00e9\n"`: "a3c3a90a",
		`{"a":1}`: "de0001a16101", `[1,[2,{}]]`: "92019202de0000",
		`{"command":"get_workflow_interface","request_id":"fixture-request-1","data":{"id":"wf-sdk-baseline","version":1}}`: "de0003a7636f6d6d616e64b66765745f776f726b666c6f775f696e74657266616365aa726571756573745f6964b1666978747572652d726571756573742d31a464617461de0002a26964af77662d73646b2d626173656c696e65a776657273696f6e01",
	} {
		got, err := appendMsgpack(nil, []byte(text))
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, %v; want %s", text, got, err, want)
		}
	}
	for n, want := range map[int]string{31: "bf", 32: "d920", 33: "d921", 255: "d9ff", 256: "da0100", 65536: "db00010000"} {
		got, err := appendMsgpack(nil, []byte(strconv.Quote(strings.Repeat("x", n))))
		if err != nil || !strings.HasPrefix(hex.EncodeToString(got), want) || len(got) != n+len(want)/2 {
			t.Errorf("string of %d: %x…, %v; want %s", n, got[:6], err, want)
		}
	}
	for n, want := range map[int]string{15: "9f", 16: "dc0010", 65535: "dcffff", 65536: "dd00010000"} {
		got, err := appendMsgpack(nil, []byte("["+strings.TrimSuffix(strings.Repeat("0,", n), ",")+"]"))
		if err != nil || hex.EncodeToString(got[:len(want)/2]) != want || len(got) != n+len(want)/2 {
			t.Errorf("array of %d: %x…, %v; want %s", n, got[:6], err, want)
		}
	}
	// More members than a 16-bit header counts.
	var big strings.Builder
	for i := range 65536 {
		big.WriteString(`,"` + strconv.Itoa(i) + `":0`)
	}
	got, err := appendMsgpack(nil, []byte("{"+big.String()[1:]+"}"))
	if err != nil || hex.EncodeToString(got[:8]) != "df00010000a13000" {
		t.Errorf("a map of 65536 members: %x…, %v", got[:8], err)
	}
}

func TestReaderVectors(t *testing.T) {
	for in, want := range map[string]string{
		"81a16101": `{"a":1}`, "de0001a16101": `{"a":1}`, "df00000001a16101": `{"a":1}`, "cf0000000000000005": `5`, "d30000000000000005": `5`,
		"d3ffffffffffffffff": `-1`, "cfffffffffffffffff": `18446744073709551615`, "cb41f4000000000000": `5368709120`, "ca3f000000": `0.5`, "cb8000000000000000": `0`,
		"c403000 1ff": `[0,1,255]`, "a3225c0a": `"\"\\\u000a"`, "c0": `null`, "9301c2c3": `[1,false,true]`,
		"82a16101a16102":     `{"a":1,"a":2}`, // doubled members reach the decoder, which refuses them
		"cb7fefffffffffffff": `1.7976931348623157e+308`,
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(in, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendJSON(nil, b)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for name, in := range map[string]string{
		"nothing": "", "a map cut off": "81a161", "a hostile array": "dd7fffffff", "a hostile map": "dfffffffff", "a hostile string": "dbffffffff",
		"a hostile binary": "c6ffffffff", "two values": "0101", "an integer key": "8101a161", "a null key": "81c001", "an extension": "d60000000000", "a timestamp": "d6ff00000000",
		"a byte of no type": "c1", "NaN": "cb7ff8000000000000", "infinity": "cb7ff0000000000000", "too deep": strings.Repeat("91", maxDepth+2) + "00",
		"too deep maps": strings.Repeat("81a161", maxDepth+2) + "00",
	} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := appendJSON(nil, b); err == nil {
			t.Errorf("%s was read as %s", name, got)
		}
	}
}

var mapType = reflect.TypeFor[map[string]any]()

func handle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.WriteExt = true
	h.RawToString = true
	h.MapType = nil
	return h
}

// FuzzReader holds the reader to an independent one: what we accept it reads as well, and as the same value.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"81a16101", "de0001a16101", "9301c2c3", "cb41f4000000000000", "dd7fffffff", "c4030001ff", "d6ff00000000"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := appendJSON(nil, b)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%x became %q, which is no JSON", b, text)
		}
		// What we write of it is read back as the same value.
		packed, err := appendMsgpack(nil, text)
		if err != nil {
			if bytes.ToValidUTF8(text, nil) == nil || !bytes.Equal(bytes.ToValidUTF8(text, nil), text) {
				return
			}
			t.Fatalf("%q cannot be packed: %v", text, err)
		}
		again, err := appendJSON(nil, packed)
		if err != nil {
			t.Fatalf("%x, packed as %x, is not read back: %v", b, packed, err)
		}
		var one, two any
		if json.Unmarshal(text, &one) != nil || json.Unmarshal(again, &two) != nil {
			t.Fatalf("%q and %q", text, again)
		}
		if !same(one, two) {
			t.Fatalf("%q came back as %q", text, again)
		}
		// ugorji reads our writing without complaint.
		var v any
		if err := codec.NewDecoderBytes(packed, handle()).Decode(&v); err != nil {
			t.Fatalf("%x: %v", packed, err)
		}
	})
}

func same(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// FuzzWriter holds the writer to an independent reader: ugorji sees the value that encoding/json sees.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,null],"b":"\u00e9"}`, `[]`, `-129`, `1e300`, `{"":{"":[]}}`, `{"0":[0],"0":"000000"}`, `"\ud83d\ude00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want any
		// What the writer is for: strict JSON, without doubled names, lone surrogates or bytes that are not UTF-8.
		if !jsontext.Value(text).IsValid() || json.Unmarshal(text, &want) != nil {
			return
		}
		packed, err := appendMsgpack(nil, text)
		if err != nil {
			return // too deep, or a number that no double holds
		}
		h := handle()
		h.MapType = mapType
		var got any
		if err := codec.NewDecoderBytes(packed, h).Decode(&got); err != nil {
			t.Fatalf("%q packed as %x: %v", text, packed, err)
		}
		if !same(unsigned(want), got) {
			t.Fatalf("%q packed as %x reads %v", text, packed, got)
		}
		if found, rest := wide(packed); found || len(rest) > 0 {
			t.Fatalf("%q packed as %x holds a 64-bit integer", text, packed)
		}
	})
}

// wide looks for the heads of the two 64-bit integers, which JavaScript readers turn into something else. It returns
// what is left of b behind its first value.
func wide(b []byte) (found bool, rest []byte) {
	c := b[0]
	b = b[1:]
	size := func(width int) int {
		n := 0
		for _, d := range b[:width] {
			n = n<<8 | int(d)
		}
		b = b[width:]
		return n
	}
	items, skip := 0, 0
	switch {
	case c == 0xcf || c == 0xd3:
		return true, b[8:]
	case c&0xe0 == 0xa0:
		skip = int(c & 0x1f)
	case c&0xf0 == 0x90:
		items = int(c & 0x0f)
	case c == 0xcb:
		skip = 8
	case c == 0xcc || c == 0xd0:
		skip = 1
	case c == 0xcd || c == 0xd1:
		skip = 2
	case c == 0xce || c == 0xd2:
		skip = 4
	case c == 0xd9, c == 0xda, c == 0xdb:
		skip = size(1 << (c - 0xd9))
	case c == 0xdc, c == 0xdd:
		items = size(2 << (c - 0xdc))
	case c == 0xde, c == 0xdf:
		items = 2 * size(2<<(c-0xde))
	}
	b = b[skip:]
	for range items {
		var f bool
		f, b = wide(b)
		found = found || f
	}
	return found, b
}

// unsigned turns negative zeros into zeros: this writer has no other.
func unsigned(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0
	case []any:
		for i := range v {
			v[i] = unsigned(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = unsigned(v[k])
		}
	}
	return v
}
