package witness

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	bindconnect "github.com/sawhorse-dev/sawhorse/gen/bind/connect"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"google.golang.org/protobuf/encoding/protojson"
)

func putFileDocument(text string) []byte {
	b, err := jsontext.AppendQuote([]byte(`{"id":"run-2026-11-30","section":"outputs","path":"reports/2026/summary.md","text":`), text)
	if err != nil {
		panic(err)
	}
	return append(b, `,"content_type":"text/markdown"}`...)
}

var plainText = strings.Repeat("0123456789abcdef", 64)
var linesText = strings.Repeat("a line of some length, as in a log file\n", 26)[:1024]

func BenchmarkDecodePutFile1KiB(b *testing.B) {
	for name, text := range map[string]string{"plain": plainText, "lines": linesText} {
		doc := putFileDocument(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if _, inv := op.WorkbenchPutFileOp.Decode(doc); inv != nil {
					b.Fatal(inv)
				}
			}
		})
	}
}

// BenchmarkDecodePutFileByReflection is the same by go-json-experiment, to compare.
func BenchmarkDecodePutFileByReflection(b *testing.B) {
	doc := putFileDocument(plainText)
	b.ReportAllocs()
	for b.Loop() {
		var v op.WorkbenchPutFileRequest
		if err := json.Unmarshal(doc, &v, json.RejectUnknownMembers(true)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePutFile16MiB(b *testing.B) {
	doc := putFileDocument(strings.Repeat(linesText, 16<<10))
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, inv := op.WorkbenchPutFileOp.Decode(doc); inv != nil {
			b.Fatal(inv)
		}
	}
}

func BenchmarkDecodeStat(b *testing.B) {
	doc := []byte(`{"id":"run-2026-11-30","section":"outputs","path":"reports/2026/summary.md"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, inv := op.WorkbenchStatOp.Decode(doc); inv != nil {
			b.Fatal(inv)
		}
	}
}

func statResult() *op.WorkbenchStatResult {
	s := func(v string) *string { return &v }
	n := func(v int64) *int64 { return &v }
	return &op.WorkbenchStatResult{WorkbenchID: "run-2026-11-30", WorkbenchPath: "/agents/default/wb/run-2026-11-30", Section: s("outputs"), RelativePath: s("reports/2026/summary.md"),
		Path: "/agents/default/wb/run-2026-11-30/outputs/reports/2026/summary.md", Card: op.WorkbenchCard{Name: "summary.md", Path: "/agents/default/wb/run-2026-11-30/outputs/reports/2026/summary.md",
			Section: s("outputs"), RelativePath: s("reports/2026/summary.md"), Kind: "file", SizeBytes: n(1024), Generation: n(7), ContentType: s("text/markdown"), DigestURI: s("sha256:" + strings.Repeat("0a", 32))}}
}

func BenchmarkAppendStatResult(b *testing.B) {
	v := statResult()
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = v.AppendJSON(buf[:0])
	}
}

// TestAppendAllocatesNothing holds the promise of op.Result.
func TestAppendAllocatesNothing(t *testing.T) {
	v := statResult()
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { buf = v.AppendJSON(buf[:0]) }); n != 0 {
		t.Errorf("AppendJSON allocates %v times", n)
	}
}

// TestDecodeAllocates holds a small request to two blocks, itself with its pointers and the text of its strings, and a
// larger one to a block for each string more.
func TestDecodeAllocates(t *testing.T) {
	for text, want := range map[string]float64{"small": 2, plainText: 6} {
		doc := putFileDocument(text)
		n := testing.AllocsPerRun(100, func() {
			if _, inv := op.WorkbenchPutFileOp.Decode(doc); inv != nil {
				t.Fatal(inv)
			}
		})
		if n > want {
			t.Errorf("Decode of %d bytes allocates %v times, want at most %v", len(doc), n, want)
		}
	}
}

// BenchmarkConnectJSON measures one stat call's worth of JSON through the generated codec and through protobuf's own.
func BenchmarkConnectJSON(b *testing.B) {
	doc := []byte(`{"id":"run-2026-11-30","section":"outputs","path":"reports/2026/summary.md"}`)
	v := statResult()
	b.Run("generated", func(b *testing.B) {
		buf := make([]byte, 0, 4096)
		b.ReportAllocs()
		for b.Loop() {
			if _, inv := bindconnect.DecodeRequest(op.WorkbenchStatOp, doc); inv != nil {
				b.Fatal(inv)
			}
			buf = bindconnect.AppendResult(buf[:0], op.WorkbenchStatOp, v)
		}
	})
	b.Run("protojson", func(b *testing.B) {
		buf := make([]byte, 0, 4096)
		out := bindconnect.ResultToProto(op.WorkbenchStatOp, v)
		b.ReportAllocs()
		for b.Loop() {
			in := bindconnect.NewRequest(op.WorkbenchStatOp)
			if err := protojson.Unmarshal(doc, in); err != nil {
				b.Fatal(err)
			}
			var err error
			if buf, err = protojsonOut.MarshalAppend(buf[:0], out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
