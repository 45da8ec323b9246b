package mcpapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const callBody = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"workbench_stat","arguments":{"id":"wb1","path":"a.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

func TestScanReadsACall(t *testing.T) {
	m, err := scan([]byte(callBody))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.method) != "tools/call" || m.idKind != idInteger || string(m.id) != "7" || m.odd || m.batch {
		t.Errorf("message %+v", m)
	}
	p := m.params
	if string(p.name) != "workbench_stat" || string(p.args) != `{"id":"wb1","path":"a.txt"}` || p.odd || p.hasCursor ||
		string(p.meta) != `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}` {
		t.Errorf("params name %q args %q meta %q odd %v", p.name, p.args, p.meta, p.odd)
	}
}

func TestScanRefusals(t *testing.T) {
	deep := strings.Repeat("[", maxEnvelopeDepth+1)
	for _, c := range []struct {
		name, body string
		code       int
	}{
		{"nothing", "", codeInvalidRequest},
		{"white space", " \n", codeInvalidRequest},
		{"a number", "12", codeInvalidRequest},
		{"a broken literal", "nul", codeParse},
		{"an unclosed object", `{"jsonrpc":"2.0"`, codeParse},
		{"an unclosed string", `{"jsonrpc":"2.0`, codeParse},
		{"trailing bytes", callBody + "x", codeParse},
		{"a second value", callBody + callBody, codeParse},
		{"a trailing comma", `{"jsonrpc":"2.0","id":1,"method":"ping",}`, codeParse},
		{"a trailing comma in an array", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1,]}`, codeParse},
		{"a missing comma in an array", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1 2]}`, codeParse},
		{"no version", `{"id":1,"method":"ping"}`, codeInvalidRequest},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, codeInvalidRequest},
		{"a numeric version", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, codeInvalidRequest},
		{"a duplicate id", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, codeInvalidRequest},
		{"a duplicate spelled with an escape", `{"jsonrpc":"2.0","id":1,"i\u0064":2,"method":"ping"}`, codeInvalidRequest},
		{"a duplicate tool name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, codeInvalidRequest},
		{"a duplicate protocol version", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"a":2}}}`, codeInvalidRequest},
		{"an object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, codeInvalidRequest},
		{"a boolean id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, codeInvalidRequest},
		{"a numeric method", `{"jsonrpc":"2.0","id":1,"method":3}`, codeInvalidRequest},
		{"no method", `{"jsonrpc":"2.0","id":1}`, codeInvalidRequest},
		{"a number in a batch", `[1]`, codeInvalidRequest},
		{"a duplicate within a batch", `[{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}]`, codeInvalidRequest},
		{"invalid UTF-8 in the envelope", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", codeParse},
		{"invalid UTF-8 in an escaped name", "{\"jsonrpc\":\"2.0\",\"\\n\xff\":1,\"method\":\"ping\"}", codeParse},
		{"a lone surrogate in the envelope", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, codeParse},
		{"a low surrogate first", `{"jsonrpc":"2.0","id":"\udc00\ud800","method":"ping"}`, codeParse},
		{"a control character", "{\"jsonrpc\":\"2.0\",\"id\":\"a\tb\",\"method\":\"ping\"}", codeParse},
		{"a leading zero", `{"jsonrpc":"2.0","id":01,"method":"ping"}`, codeParse},
		{"a bare minus", `{"jsonrpc":"2.0","id":-,"method":"ping"}`, codeParse},
		{"a bad escape", `{"jsonrpc":"2.0","id":"\x41","method":"ping"}`, codeParse},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep, codeParse},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := scan([]byte(c.body)); err == nil || err.code != c.code {
				t.Errorf("scan(%.80q) = %+v, want code %d", c.body, err, c.code)
			}
		})
	}
}

// What two decoders could read differently inside of arguments reaches the operation's decoder, whose error names the member.
func TestScanLeavesArgumentsToTheirDecoder(t *testing.T) {
	for _, args := range []string{
		`{"id":"a","id":"b"}`, "{\"id\":\"\xff\"}", `{"id":"\ud800"}`, `[]`, `null`, `"x"`, `12`,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":` + args + `}}`
		m, err := scan([]byte(body))
		if err != nil {
			t.Errorf("arguments %q: %+v", args, err)
			continue
		}
		if string(m.params.args) != args {
			t.Errorf("arguments %q were read as %q", args, m.params.args)
		}
	}
}

func TestScanIDs(t *testing.T) {
	for raw, want := range map[string]idKind{
		`1`: idInteger, `-5`: idInteger, `0`: idInteger, `999999999999999`: idInteger, `"a"`: idString, `""`: idString,
		`9007199254740991`: idInteger, `-9007199254740991`: idInteger, `"\u0041"`: idEscaped, `null`: idNull,
	} {
		m, err := scan([]byte(`{"jsonrpc":"2.0","method":"ping","id":` + raw + `}`))
		if err != nil || m.idKind != want || string(m.id) != raw {
			t.Errorf("id %s: kind %d raw %q err %v, want kind %d", raw, m.idKind, m.id, err, want)
		}
	}
	for _, raw := range []string{`1.0`, `1e3`, `-0`, `9007199254740992`, `-9007199254740993`, `9223372036854775808`, `true`, `{}`, `[1]`, `12.5`} {
		m, err := scan([]byte(`{"jsonrpc":"2.0","method":"ping","id":` + raw + `,"params":{"secret":1}}`))
		if err == nil || err.code != codeInvalidRequest || string(m.echo()) != "null" {
			t.Errorf("id %s: %+v, echoed as %q", raw, err, m.echo())
		}
	}
}

// FuzzScan holds the scanner to two independent readers: it accepts exactly valid JSON, and where it accepts an
// object, the members it reports are those that encoding/json sees.
func FuzzScan(f *testing.F) {
	for _, s := range []string{callBody, `[]`, `[` + callBody + `]`, `{"jsonrpc":"2.0","method":"ping"}`, `{"a":[1,2.5e-3,{"b":null}],"jsonrpc":"2.0","method":"x","id":"q"}`,
		`{"jsonrpc":"2.0","id":1,"i\u0064":2,"method":"ping"}`, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"arguments\":\"\xff\"}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, serr := scan(b)
		wellFormed := json.Valid(b)
		if serr == nil && !wellFormed {
			t.Fatalf("accepted what is not JSON: %q", b)
		}
		if serr != nil && serr.code == codeInvalidRequest && len(bytes.TrimSpace(b)) > 0 {
			// Such a refusal may come before the end of the message, and says nothing about the rest.
			return
		}
		if serr != nil && wellFormed && utf8.Valid(b) && strictDepth(b) {
			t.Fatalf("refused well-formed JSON: %+v %q", serr, b)
		}
		if serr != nil || m.batch || !utf8.Valid(b) {
			return
		}
		var want struct {
			Method string          `json:"method"`
			ID     json.RawMessage `json:"id"`
		}
		d := map[string]json.RawMessage{}
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("encoding/json refuses what scan accepts: %v %q", err, b)
		}
		want.ID = d["id"]
		if m.method != nil {
			if err := json.Unmarshal(d["method"], &want.Method); err != nil || want.Method != string(m.method) {
				t.Fatalf("method %q, encoding/json reads %q (%v)", m.method, want.Method, err)
			}
		}
		if !bytes.Equal(m.id, want.ID) {
			t.Fatalf("id %q, encoding/json reads %q", m.id, want.ID)
		}
	})
}

// strictDepth reports whether jsontext, with its own rules on surrogates and depth, reads b to the end.
func strictDepth(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true)) && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < maxEnvelopeDepth
}

func BenchmarkScan(b *testing.B) {
	body := []byte(callBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scan(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScanLargeText(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"base64":"` + strings.Repeat("QUJD", 1<<18) + `"}}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scan(body); err != nil {
			b.Fatal(err)
		}
	}
}
