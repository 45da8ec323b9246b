package mcpapi

import (
	"bytes"
	"encoding/json"
	"testing"
)

var quotedCases = []string{
	`{}`, `null`, `-1.5e3`, `""`, `"a\"b\\"`, `"\\\\\""`, `{"a":"\u0000\n\t","b":[1,2,{"c":null}]}`, "{ \"spaced\" :\n\t[ 1 ,\r\n 2 ] }", `{"päth":"ü/","line":"\u2028 "}`,
	`{"status":"success","card":{"name":"a.txt","size_bytes":3}}`,
}

func checkQuoted(t *testing.T, src []byte) {
	t.Helper()
	var text string
	quoted := append(appendQuoted([]byte{'"'}, src), '"')
	if err := json.Unmarshal(quoted, &text); err != nil {
		t.Fatalf("quoted form of %q is not a JSON string: %v\n%s", src, err, quoted)
	}
	if text != string(src) {
		t.Errorf("quoted form of %q reads %q", src, text)
	}
}

func TestQuotedTextReadsTheSame(t *testing.T) {
	for _, src := range quotedCases {
		checkQuoted(t, []byte(src))
	}
}

func FuzzQuoted(f *testing.F) {
	for _, s := range quotedCases {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// The renderer's input comes from our own encoders: valid JSON and valid UTF-8.
		if json.Valid(b) && bytes.Equal(bytes.ToValidUTF8(b, nil), b) {
			checkQuoted(t, b)
		}
	})
}

func BenchmarkQuoted(b *testing.B) {
	src := []byte(`{"card":{"content_type":"text/plain; charset=utf-8","digest_uri":"sha256:9ae0d642cb3a90ec86ccda5b93a2339ac94dc82f54451fea3b23fd9d959fca16","entry_count":null,"generation":1,"kind":"file","manifest_id":null,"name":"a.txt","path":"/agents/default/wb/wb1/outputs/a.txt","producer":null,"record_count":null,"relative_path":"a.txt","section":"outputs","size_bytes":3},"path":"/agents/default/wb/wb1/outputs/a.txt","relative_path":"a.txt","section":"outputs","status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = appendQuoted(dst[:0], src)
	}
}
