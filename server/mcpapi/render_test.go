package mcpapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var prettyCases = []string{
	`{}`, `[]`, `{"a":{}}`, `{"a":[]}`, `[[],[[]]]`, `null`, `-1.5e3`, `""`, `"a\"b\\"`, `"\\\\\""`, `{"a":"\u0000\n\t","b":[1,2,{"c":null}]}`,
	`{ "spaced" : [ 1 , 2 ] , "e" : { } , "f" : [ ] }`, `{"päth":"ü/","line":"\u2028"}`, `[true,false]`,
	`{"status":"success","card":{"name":"a.txt","size_bytes":3}}`,
	strings.Repeat("[", 70) + "1" + strings.Repeat("]", 70),
}

func checkPretty(t *testing.T, src []byte) {
	t.Helper()
	plain := appendPretty(nil, src, false)
	var want bytes.Buffer
	if err := json.Indent(&want, src, "", "  "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(plain, bytes.TrimSpace(want.Bytes())) {
		t.Errorf("pretty form of %s:\n%s\nencoding/json has\n%s", src, plain, want.Bytes())
	}
	quoted := append(appendPretty([]byte{'"'}, src, true), '"')
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		t.Fatalf("quoted form of %s is not a JSON string: %v\n%s", src, err, quoted)
	}
	if text != string(plain) {
		t.Errorf("quoted form of %s reads\n%s\nwant\n%s", src, text, plain)
	}
}

func TestPrettyMatchesEncodingJSON(t *testing.T) {
	for _, src := range prettyCases {
		checkPretty(t, []byte(src))
	}
}

func FuzzPretty(f *testing.F) {
	for _, s := range prettyCases {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// The renderer's input comes from our own encoders: valid JSON and valid UTF-8.
		if !json.Valid(b) || !bytes.Equal(bytes.ToValidUTF8(b, nil), b) {
			return
		}
		checkPretty(t, b)
	})
}

func BenchmarkPretty(b *testing.B) {
	src := []byte(`{"card":{"content_type":"text/plain; charset=utf-8","digest_uri":"sha256:9ae0d642cb3a90ec86ccda5b93a2339ac94dc82f54451fea3b23fd9d959fca16","entry_count":null,"generation":1,"kind":"file","manifest_id":null,"name":"a.txt","path":"/agents/default/wb/wb1/outputs/a.txt","producer":null,"record_count":null,"relative_path":"a.txt","section":"outputs","size_bytes":3},"path":"/agents/default/wb/wb1/outputs/a.txt","relative_path":"a.txt","section":"outputs","status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = appendPretty(dst[:0], src, true)
	}
}
