package witness

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	bindconnect "github.com/sawhorse-dev/sawhorse/gen/bind/connect"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	workbenchv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1"
	"github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1/workbenchv1connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var protojsonOut = protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}

// values compares JSON texts as values, numbers as they are written.
func values(t testing.TB, a, b []byte) string {
	t.Helper()
	return cmp.Diff(parse(t, a), parse(t, b))
}

// admitted makes documents until the decoder admits one.
func admitted[T any](t testing.TB, gen *documents, schema any, decode func([]byte) (T, *op.Invalid)) (T, []byte) {
	t.Helper()
	for range 10000 {
		doc := []byte(gen.one(schema))
		if v, inv := decode(bytes.Clone(doc)); inv == nil {
			return v, doc
		}
	}
	t.Fatal("no document is admitted")
	panic("unreachable")
}

func TestRequestsSurviveProtobuf(t *testing.T) {
	o := newOracle(t)
	for _, tool := range mcp.Workbench {
		d := tool.Op
		gen := &documents{r: rand.New(rand.NewPCG(4, uint64(d.Index))), defs: o.defs}
		for range 300 {
			req, doc := admitted(t, gen, o.requests[d], d.Decode)
			msg := bindconnect.RequestToProto(d, req)
			wire, err := proto.Marshal(msg)
			if err != nil {
				t.Fatal(err)
			}
			read := bindconnect.NewRequest(d)
			if err := proto.Unmarshal(wire, read); err != nil {
				t.Fatal(err)
			}
			got, inv := bindconnect.RequestFromProto(d, read)
			if inv != nil {
				t.Fatalf("%s: %v\n%s", d.ID, inv, doc)
			}
			want := withoutEmptyLists(req.AppendJSON(nil))
			if diff := values(t, want, got.AppendJSON(nil)); diff != "" {
				t.Fatalf("%s: protobuf changed the request:\n%s", d.ID, diff)
			}
			if inv := got.Validate(); inv != nil {
				t.Fatalf("%s: no longer valid: %v", d.ID, inv)
			}
			// The same message by protobuf's own JSON, with and without zero values, read by the generated code.
			for _, opts := range []protojson.MarshalOptions{protojsonOut, {}, {UseProtoNames: true, Multiline: true}} {
				text, err := opts.Marshal(msg)
				if err != nil {
					t.Fatal(err)
				}
				got, inv := bindconnect.DecodeRequest(d, text)
				if inv != nil {
					t.Fatalf("%s: %v\n%s", d.ID, inv, text)
				}
				if diff := values(t, want, got.AppendJSON(nil)); diff != "" {
					t.Fatalf("%s: the JSON mapping changed the request %s:\n%s", d.ID, text, diff)
				}
			}
		}
	}
}

// withoutEmptyLists drops the optional lists that are empty: on protobuf they are absent.
func withoutEmptyLists(doc []byte) []byte {
	for _, name := range []string{"patterns", "predicates", "fields", "sort", "facets", "group_by"} {
		doc = bytes.Replace(doc, []byte(`,"`+name+`":[]`), nil, 1)
		doc = bytes.Replace(doc, []byte(`{"`+name+`":[],`), []byte("{"), 1)
		doc = bytes.Replace(doc, []byte(`{"`+name+`":[]}`), []byte("{}"), 1)
	}
	return doc
}

func TestResultsSurviveProtobuf(t *testing.T) {
	o := newOracle(t)
	for _, tool := range mcp.Workbench {
		d := tool.Op
		gen := &documents{r: rand.New(rand.NewPCG(5, uint64(d.Index))), defs: o.defs}
		for range 200 {
			var res op.Result
			if d == op.WorkbenchReadOp {
				res = readResult(t, gen.r)
			} else {
				res, _ = admitted(t, gen, o.results[d], d.DecodeResult)
			}
			want := res.AppendJSON(nil)
			msg := bindconnect.ResultToProto(d, res)
			text := bindconnect.AppendResult(nil, d, res)
			theirs, err := protojsonOut.Marshal(msg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := values(t, theirs, text); diff != "" {
				t.Fatalf("%s: the generated JSON is not protobuf's (-protojson +generated):\n%s", d.ID, diff)
			}
			read := bindconnect.NewResponse(d)
			if err := protojson.Unmarshal(text, read); err != nil {
				t.Fatalf("%s: protobuf cannot read %s: %v", d.ID, text, err)
			}
			if !proto.Equal(msg, read) {
				t.Fatalf("%s: protobuf reads another message from %s", d.ID, text)
			}
			got, inv := bindconnect.ResultFromProto(d, read)
			if inv != nil {
				t.Fatalf("%s: %v\n%s", d.ID, inv, text)
			}
			if diff := values(t, want, got.AppendJSON(nil)); diff != "" {
				t.Fatalf("%s: protobuf changed the result:\n%s", d.ID, diff)
			}
		}
	}
}

func readResult(t testing.TB, r *rand.Rand) op.Result {
	t.Helper()
	s := func(v string) *string { return &v }
	n := int64(r.IntN(1000))
	v := &op.WorkbenchReadResult{WorkbenchID: "w", WorkbenchPath: "/r/w", Section: "logs", RelativePath: "a", Path: "/r/w/logs/a", Generation: 1 + n}
	if r.IntN(2) == 0 {
		v.AtSnapshot = &op.IntOrString{IsString: r.IntN(2) == 0, Str: "name"}
		if !v.AtSnapshot.IsString {
			v.AtSnapshot = &op.IntOrString{Int: n}
		}
	}
	switch r.IntN(3) {
	case 0:
		v.NotModified = true
	case 1:
		v.Format, v.TotalSizeBytes, v.RecordType, v.RecordCount = "structured", n, s("json_lines"), &n
		v.Items = []op.WorkbenchReadItem{}
		for i := range r.IntN(3) {
			v.Items = append(v.Items, op.WorkbenchReadItem{Index: int64(i), Value: op.RawJSON([]string{`{"a":9007199254740993}`, `null`, `"x\ny"`}[i])})
		}
		v.NextCursor, v.Truncated = s("r:1"), true
	case 2:
		v.Format, v.TotalSizeBytes, v.Bytes, v.BytesEncoding, v.Items = "bytes", n, s("AAEC"), s("base64"), []op.WorkbenchReadItem{}
	}
	return v
}

func TestConnectJSONIsStrict(t *testing.T) {
	sha := "sha256:" + strings.Repeat("0", 64)
	cases := []struct {
		op           *op.Descriptor
		doc          string
		rule, member string
	}{
		{op.WorkbenchCreateOp, `{"id":"a","extra":1}`, "unknown", "$.extra"},
		{op.WorkbenchCreateOp, `{"ID":"a"}`, "unknown", "$.ID"},
		{op.WorkbenchCreateOp, `{"id":"a","id":"b"}`, "duplicate", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"a"}{}`, "trailing", "$"},
		{op.WorkbenchCreateOp, `{"id":"\ud800"}`, "utf8", "$.id"},
		{op.WorkbenchCreateOp, "{\"id\":\"\xff\"}", "utf8", "$.id"},
		{op.WorkbenchCreateOp, `{"id":5}`, "type", "$.id"},
		{op.WorkbenchCreateOp, ``, "syntax", "$"},
		{op.WorkbenchPutFileOp, `{"contentType":"a"}`, "unknown", "$.contentType"},
		{op.WorkbenchReadOp, `{"id":"a","offset":"1.0"}`, "type", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","offset":1.0}`, "type", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","offset":"x"}`, "type", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","offset":""}`, "type", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","offset":" 1"}`, "type", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","offset":"1 "}`, "type", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","offset":"99999999999999999999"}`, "maximum", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","limit":3000000000}`, "maximum", "$.limit"},
		{op.WorkbenchListOp, `{"id":"a","at_snapshot":{"integer":"1","text":"x"}}`, "oneOf", "$.at_snapshot"},
		{op.WorkbenchListOp, `{"id":"a","at_snapshot":{}}`, "oneOf", "$.at_snapshot"},
		{op.WorkbenchListOp, `{"id":"a","at_snapshot":5}`, "type", "$.at_snapshot"},
		{op.WorkbenchListOp, `{"id":"a","at_snapshot":{"x":1}}`, "unknown", "$.at_snapshot.x"},
		{op.WorkbenchSearchOp, `{"predicates":[{"field":"a","op":"eq","x":1}]}`, "unknown", "$.predicates[0].x"},
		{op.WorkbenchEditOp, `{"id":"a","section":"logs","path":"p","old_string":"a"}`, "missing", "$.new_string"},
		{op.WorkbenchEditOp, `{"id":"a","section":"logs","path":"p","old_string":"a","new_string":null}`, "missing", "$.new_string"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest_json":"{","content_digest_uri":"` + sha + `"}`, "syntax", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest_json":"[]","content_digest_uri":"` + sha + `"}`, "type", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest_json":"{} {}","content_digest_uri":"` + sha + `"}`, "trailing", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest_json":"{\"a\":1,\"a\":2}","content_digest_uri":"` + sha + `"}`, "duplicate", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","content_digest_uri":"` + sha + `"}`, "missing", "$.manifest"},
		{op.WorkbenchPutFileOp, `{"id":"a","path":"p"}`, "enum", "$.section"},
	}
	for _, c := range cases {
		v, inv := bindconnect.DecodeRequest(c.op, []byte(c.doc))
		if inv == nil {
			inv = v.Validate()
		}
		if inv == nil {
			t.Errorf("%s admits %s as %s", c.op.ID, c.doc, v.AppendJSON(nil))
			continue
		}
		if inv.Rule != c.rule || inv.Member != c.member {
			t.Errorf("%s: %s: got %s at %s (%s), want %s at %s", c.op.ID, c.doc, inv.Rule, inv.Member, inv.Text, c.rule, c.member)
		}
	}
}

func TestConnectJSONAdmitsTheMapping(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"a","section":"logs","path":"p","offset":"7","limit":"5"}`:                                  `{"id":"a","limit":5,"offset":7,"path":"p","section":"logs"}`,
		`{"id":"a","section":"logs","path":"p","offset":7,"limit":5}`:                                      `{"id":"a","limit":5,"offset":7,"path":"p","section":"logs"}`,
		`{"id":"a","section":"logs","path":"p","offset":null,"cursor":null,"at_snapshot":null}`:            `{"id":"a","path":"p","section":"logs"}`,
		`{"id":"a","section":"logs","path":"p","at_snapshot":{"integer":"3"}}`:                             `{"at_snapshot":3,"id":"a","path":"p","section":"logs"}`,
		`{"id":"a","section":"logs","path":"p","at_snapshot":{"text":"3"},"if_none_match":"-0"}`:           `{"at_snapshot":"3","id":"a","if_none_match":0,"path":"p","section":"logs"}`,
		`{"id":"a","section":"logs","path":"p","at_snapshot":{"text":"3","integer":null}}`:                 `{"at_snapshot":"3","id":"a","path":"p","section":"logs"}`,
		" { \"id\" : \"\\u0061\" , \"section\":\"logs\",\"path\":\"\\ud83d\\ude00\"\n}\t":                  `{"id":"a","path":"😀","section":"logs"}`,
		`{"id":"a","section":"logs","path":"p","offset":"9007199254740993","if_none_match":"0","limit":1}`: `{"id":"a","if_none_match":0,"limit":1,"offset":9007199254740993,"path":"p","section":"logs"}`,
	} {
		v, inv := bindconnect.DecodeRequest(op.WorkbenchReadOp, []byte(doc))
		if inv != nil {
			t.Errorf("%s: %v", doc, inv)
			continue
		}
		if got := string(v.AppendJSON(nil)); got != want {
			t.Errorf("%s: got %s, want %s", doc, got, want)
		}
	}
}

// FuzzConnectJSON holds the generated reader of the JSON mapping against protobuf's own.
func FuzzConnectJSON(f *testing.F) {
	var ops []*op.Descriptor
	for _, d := range op.Descriptors {
		if bindconnect.NewRequest(d) != nil {
			ops = append(ops, d)
		}
	}
	o := newOracle(f)
	for i, d := range ops {
		if o.requests[d] == nil {
			f.Add(uint8(i), []byte(`{}`))
			continue
		}
		gen := &documents{r: rand.New(rand.NewPCG(6, uint64(i))), defs: o.defs}
		for range 3 {
			req, _ := admitted(f, gen, o.requests[d], d.Decode)
			text, err := protojsonOut.Marshal(bindconnect.RequestToProto(d, req))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, doc []byte) {
		d := ops[int(which)%len(ops)]
		v, inv := bindconnect.DecodeRequest(d, bytes.Clone(doc))
		msg := bindconnect.NewRequest(d)
		theirs := protojson.Unmarshal(doc, msg)
		strict := jsontext.Value(doc).IsValid()
		if inv != nil {
			if theirs == nil && strict && !mappingStricter(inv) {
				t.Fatalf("%s refuses what protobuf reads: %v\n%q", d.ID, inv, doc)
			}
			return
		}
		if !strict {
			t.Fatalf("%s admits what is not strict JSON: %q", d.ID, doc)
		}
		if theirs != nil {
			t.Fatalf("%s admits what protobuf refuses: %v\n%q", d.ID, theirs, doc)
		}
		want, inv := bindconnect.RequestFromProto(d, msg)
		if inv != nil {
			t.Fatalf("%s: the message that protobuf read is refused: %v\n%q", d.ID, inv, doc)
		}
		// Free-form members need not be JSON before Validate, so the Go values are compared.
		if diff := cmp.Diff(want, v); diff != "" {
			t.Fatalf("%s reads another request than protobuf:\n%s\n%q", d.ID, diff, doc)
		}
	})
}

// mappingStricter says whether a refusal is one that protobuf does not know: an integer is written without fraction and
// exponent, a union is not empty, nesting is bounded, and some fields must be there.
func mappingStricter(inv *op.Invalid) bool {
	switch inv.Rule {
	case "oneOf", "depth", "missing":
		return true
	case "type":
		return strings.Contains(inv.Text, "fraction or exponent")
	}
	return false
}

// caller answers every call from a table.
type caller map[*op.Descriptor]func(op.Request) (op.Result, error)

func (c caller) Call(_ context.Context, d *op.Descriptor, req op.Request) (op.Result, error) {
	return c[d](req)
}

var errRefused = errors.New("refused by the table")

func TestMountedServicesAnswer(t *testing.T) {
	var refusals []*op.Invalid
	var failed []error
	c := caller{op.WorkbenchStatOp: func(r op.Request) (op.Result, error) {
		if r.(*op.WorkbenchStatRequest).ID == "gone" {
			return nil, errRefused
		}
		return statResult(), nil
	}}
	mux := http.NewServeMux()
	bindconnect.Mount(mux.Handle, c, func(_ context.Context, d *op.Descriptor, err error) error {
		if inv := new(op.Invalid); errors.As(err, &inv) {
			refusals = append(refusals, inv)
			return connect.NewError(connect.CodeInvalidArgument, inv)
		}
		failed = append(failed, err)
		return connect.NewError(connect.CodeNotFound, err)
	})
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	h2 := &http.Client{Transport: &http.Transport{Protocols: h2c()}}
	defer h2.CloseIdleConnections()
	clients := map[string]workbenchv1connect.WorkbenchServiceClient{
		"json":     workbenchv1connect.NewWorkbenchServiceClient(srv.Client(), srv.URL, connect.WithProtoJSON()),
		"binary":   workbenchv1connect.NewWorkbenchServiceClient(srv.Client(), srv.URL),
		"grpc":     workbenchv1connect.NewWorkbenchServiceClient(h2, srv.URL, connect.WithGRPC()),
		"grpc-web": workbenchv1connect.NewWorkbenchServiceClient(srv.Client(), srv.URL, connect.WithGRPCWeb()),
	}
	want := statResult().AppendJSON(nil)
	for name, client := range clients {
		res, err := client.Stat(t.Context(), &workbenchv1.StatRequest{Id: "a"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, inv := bindconnect.ResultFromProto(op.WorkbenchStatOp, res)
		if inv != nil {
			t.Errorf("%s: %v", name, inv)
			continue
		}
		if diff := values(t, want, got.AppendJSON(nil)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		failed = nil
		if _, err := client.Stat(t.Context(), &workbenchv1.StatRequest{Id: "gone"}); connect.CodeOf(err) != connect.CodeNotFound || len(failed) != 1 || !errors.Is(failed[0], errRefused) {
			t.Errorf("%s: a failed call gives %v after %v", name, err, failed)
		}
		refusals = nil
		bad := "elsewhere"
		if _, err := client.Stat(t.Context(), &workbenchv1.StatRequest{Id: "a", Section: &bad}); connect.CodeOf(err) != connect.CodeInvalidArgument || len(refusals) != 1 || refusals[0].Member != "$.section" {
			t.Errorf("%s: a bad word gives %v after %v", name, err, refusals)
		}
	}
	for contentType, body := range map[string]string{
		"application/json":                `{"id":"a","nope":1}`,
		"application/json; charset=utf-8": `{"id":"a","nope":1}`,
		"application/proto":               "\x0a\x01a\xf8\x07\x01",
	} {
		refusals = nil
		res, err := srv.Client().Post(srv.URL+op.WorkbenchStatOp.ConnectProcedure, contentType, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || len(refusals) != 1 || refusals[0].Rule != "unknown" {
			t.Errorf("%s: an unknown member gives status %d and %v", contentType, res.StatusCode, refusals)
		}
	}
	res, err := srv.Client().Post(srv.URL+"/sawhorse.workbench.v1.WorkbenchService/Nothing", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("a procedure that does not exist gives status %d", res.StatusCode)
	}
}

func h2c() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}
