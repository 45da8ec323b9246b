package witness

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	bindconnect "github.com/sawhorse-dev/sawhorse/gen/bind/connect"
	bindhttp "github.com/sawhorse-dev/sawhorse/gen/bind/http"
	bindmcp "github.com/sawhorse-dev/sawhorse/gen/bind/mcp"
	bindws "github.com/sawhorse-dev/sawhorse/gen/bind/ws"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/gen/ws"
)

func TestDescriptorsAreATable(t *testing.T) {
	seen := map[string]bool{}
	for i, d := range op.Descriptors {
		if d.Index != i {
			t.Errorf("%s has index %d at %d", d.ID, d.Index, i)
		}
		for _, name := range []string{d.ID, d.MCPTool, d.WSCommand, d.ConnectProcedure} {
			if name != "" && seen[name] {
				t.Errorf("two operations are called %s", name)
			}
			seen[name] = true
		}
		if op.ByID(d.ID) != d || d.MCPTool != "" && op.ByTool(d.MCPTool) != d || d.WSCommand != "" && op.ByCommand(d.WSCommand) != d {
			t.Errorf("%s is not found by its names", d.ID)
		}
		if d.ID != d.Area.String()+"."+d.Name {
			t.Errorf("%s is not %s.%s", d.ID, d.Area, d.Name)
		}
		if stream := d.Effect == op.Stream; stream != (d.Decode == nil) || stream != (d.New == nil) || stream != (d.Invoke == nil) || stream != (d.DecodeResult == nil) {
			t.Errorf("%s: a stream has no JSON, and only a stream", d.ID)
		}
		for _, r := range d.Reasons {
			if !r.Known() || r.Face().Code[d.Area] == "" {
				t.Errorf("%s: %s has no public code in its area", d.ID, r)
			}
		}
		if d.HTTPMethod == "" && d.ConnectProcedure == "" && d.MCPTool == "" && d.WSCommand == "" {
			t.Errorf("%s stands on no protocol", d.ID)
		}
	}
	if op.ByID("workbench.none") != nil || op.ByTool("") != nil || op.ByCommand("put_file") != nil {
		t.Error("what does not exist is found")
	}
}

func TestUnknownReasonSaysNothing(t *testing.T) {
	if got := op.Reason("SECRET_DETAIL").Face(); !reflect.DeepEqual(got, op.ReasonInternal.Face()) || op.Reason("SECRET_DETAIL").Known() {
		t.Errorf("an unregistered reason looks like %+v", got)
	}
	for _, r := range op.Reasons {
		f := r.Face()
		if f.Text == "" || f.HTTPStatus < 400 || f.Connect == "" {
			t.Errorf("%s: %+v", r, f)
		}
		var code connect.Code
		if err := code.UnmarshalText([]byte(f.Connect)); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
}

// TestInvokeReachesItsMethod calls every operation through its descriptor and demands that exactly its method ran.
func TestInvokeReachesItsMethod(t *testing.T) {
	boom := errors.New("boom")
	for _, d := range op.Descriptors {
		if d.Invoke == nil {
			continue
		}
		// The area is nil, so that the call of its method panics with the method's name nowhere; a nil area must not
		// be taken for an answer.
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s answers without an area", d.ID)
				}
			}()
			_, _ = d.Invoke(t.Context(), &op.API{}, d.New())
		}()
	}
	api := &op.API{Operator: operator{boom}}
	if _, err := op.OperatorGetHealthOp.Invoke(t.Context(), api, op.OperatorGetHealthOp.New()); !errors.Is(err, boom) {
		t.Errorf("the method's error is lost: %v", err)
	}
	if res, err := op.OperatorGetHealthOp.Invoke(t.Context(), &op.API{Operator: operator{nil}}, op.OperatorGetHealthOp.New()); err != nil || res == nil {
		t.Errorf("the method's answer is lost: %v", err)
	}
}

type operator struct{ err error }

func (o operator) GetHealth(context.Context, *op.OperatorGetHealthRequest) (*op.OperatorGetHealthResult, error) {
	return &op.OperatorGetHealthResult{}, o.err
}

func (o operator) GetRuntimeStatus(context.Context, *op.OperatorGetRuntimeStatusRequest) (*op.OperatorGetRuntimeStatusResult, error) {
	return nil, o.err
}

func TestRoutesReachTheirOperation(t *testing.T) {
	mux := http.NewServeMux()
	var got *op.Descriptor
	var path string
	bindhttp.Mount(mux, func(_ http.ResponseWriter, r *http.Request, d *op.Descriptor) { got, path = d, r.PathValue("path") })
	carried := 0
	for _, d := range op.Descriptors {
		if d.HTTPMethod == "" {
			continue
		}
		carried++
		got = nil
		target := strings.NewReplacer("{id}", "wb1", "{section}", "outputs", "{path...}", "a/b%2Fc.txt").Replace(d.HTTPPath)
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(d.HTTPMethod, target, nil))
		if got != d {
			t.Errorf("%s %s reaches %v, want %s", d.HTTPMethod, target, got, d.ID)
		}
		if d.Effect == op.Stream && path != "a/b/c.txt" {
			t.Errorf("%s: the path is %q", d.ID, path)
		}
	}
	if carried != len(bindhttp.Routes) {
		t.Errorf("%d operations on HTTP, %d routes", carried, len(bindhttp.Routes))
	}
	// One segment is a path too: oapi-codegen's own route for it must not take the request.
	got = nil
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PUT", "/v1/workbenches/wb1/files/outputs/a.txt", nil))
	if got != op.WorkbenchStoreFileOp || path != "a.txt" {
		t.Errorf("a path of one segment reaches %v with %q", got, path)
	}
	for _, target := range []string{"/v1/workbench/create", "/nothing"} {
		got = nil
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequest("GET", target, nil))
		if got != nil || rec.Code < 400 {
			t.Errorf("GET %s reaches %v, status %d", target, got, rec.Code)
		}
	}
}

// TestOutputSchemasAdmitBothAnswers compiles every output schema as a client does, and holds a success object and the
// error envelope against it.
func TestOutputSchemasAdmitBothAnswers(t *testing.T) {
	c := jsonschema.NewCompiler()
	for _, tool := range mcp.Workbench {
		schema := parse(t, tool.OutputSchema).(map[string]any)
		if schema["type"] != "object" {
			t.Errorf("%s: the root type is %v", tool.Name, schema["type"])
		}
		if strings.Contains(string(tool.OutputSchema), `"x-`) {
			t.Errorf("%s: a private keyword leaves the house", tool.Name)
		}
		url := "mem:///" + tool.Name
		if err := c.AddResource(url, schema); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile(url)
		if err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if ok, err := valid(s, []byte(`{"status":"error","code":"NotFound","message":"m","retryable":false,"details":{"path":"a"}}`)); !ok {
			t.Errorf("%s refuses an error: %v", tool.Name, err)
		}
		for _, bad := range []string{`{}`, `{"status":"success"}`, `{"status":"error","code":"NotFound","message":"m","retryable":false}`, `{"status":"error","code":"x","message":"m","retryable":false,"details":{},"more":1}`} {
			if ok, _ := valid(s, []byte(bad)); ok {
				t.Errorf("%s admits %s", tool.Name, bad)
			}
		}
		if tool.Name == "workbench_stat" {
			if ok, err := valid(s, statResult().AppendJSON(nil)); !ok {
				t.Errorf("%s refuses a result: %v", tool.Name, err)
			}
		}
		if tool.Op == nil || tool.Op.MCPTool != tool.Name || tool.Description == "" || tool.Title == "" || tool.Annotations.Title != tool.Title {
			t.Errorf("%s is not its operation: %+v", tool.Name, tool.Op)
		}
	}
}

// TestInputSchemasKeepTheirOrder holds the bytes of gen/mcp against the frozen file, white space removed.
func TestInputSchemasKeepTheirOrder(t *testing.T) {
	for file, tools := range map[string][]mcp.Tool{"workbench/tools.schema.json": mcp.Workbench, "fixture/fixture.schema.json": mcp.Fixture} {
		text, err := os.ReadFile("../../../spec/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var source struct {
			Tools []struct {
				Name        string
				InputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal(text, &source); err != nil {
			t.Fatal(err)
		}
		if len(source.Tools) != len(tools) {
			t.Errorf("%s: %d tools, generated %d", file, len(source.Tools), len(tools))
		}
		for _, s := range source.Tools {
			i := slices.IndexFunc(tools, func(g mcp.Tool) bool { return g.Name == s.Name })
			if i < 0 {
				t.Errorf("%s: %s is not generated", file, s.Name)
				continue
			}
			if got, want := string(tools[i].InputSchema), compactJSON(t, s.InputSchema); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", s.Name, got, want)
			}
		}
	}
}

// compactJSON removes white space and escapes that are not needed, and keeps the order.
func compactJSON(t *testing.T, text []byte) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestToolsAreCalledThroughTheirDecoder(t *testing.T) {
	p := bindmcp.NewProfile(mcp.Workbench)
	if len(p.Tools()) != 18 || p.Tool("workbench_stat").Op != op.WorkbenchStatOp || p.Tool("workbench_Stat") != nil {
		t.Error("the profile does not find its tools")
	}
	c := caller{op.WorkbenchCreateOp: func(r op.Request) (op.Result, error) {
		return &op.WorkbenchCreateResult{WorkbenchID: r.(*op.WorkbenchCreateRequest).ID}, nil
	}}
	res, err := bindmcp.Call(t.Context(), c, op.WorkbenchCreateOp, []byte(`{"id":"a"}`))
	if err != nil || res.(*op.WorkbenchCreateResult).WorkbenchID != "a" {
		t.Errorf("got %v, %v", res, err)
	}
	for _, args := range []string{``, `{}`, `{"id":1}`} {
		var inv *op.Invalid
		if _, err := bindmcp.Call(t.Context(), c, op.WorkbenchCreateOp, []byte(args)); !errors.As(err, &inv) {
			t.Errorf("%q gives %v", args, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two tools of one name make a profile")
		}
	}()
	bindmcp.NewProfile(append(slices.Clone(mcp.Workbench), mcp.Workbench[0]))
}

func TestWebSocketFrames(t *testing.T) {
	for doc, want := range map[string]string{
		`{"command":"get_capabilities","request_id":"r1","data":{}}`:                               "call r1",
		`{"data":{},"request_id":"r1","command":"get_capabilities"}`:                               "call r1",
		`{"command":"get_capabilities","request_id":"r1"}`:                                         "refused r1 missing $.data",
		`{"command":"get_capabilities","request_id":"r1","data":{"x":1}}`:                          "refused r1 unknown $.data.x",
		`{"command":"get_capabilities","request_id":"r1","data":[]}`:                               "refused r1 type $.data",
		`{"command":"get_capabilities","request_id":null,"data":{}}`:                               "refused  type $.request_id",
		`{"command":"get_capabilities","data":{}}`:                                                 "call ",
		`{"command":"get_capabilities","request_id":"r1","data":{},"more":1}`:                      "refused r1 unknown $.more",
		`{"command":"get_capabilities","request_id":"` + strings.Repeat("é", 129) + `","data":{}}`: "refused " + strings.Repeat("é", 129) + " maxLength $.request_id",
		`{"command":"set_mode","data":{"mode":"text"}}`:                                            "mode text",
		`{"command":"set_mode","request_id":null,"data":{"mode":"binary"}}`:                        "mode binary",
		`{"command":"set_mode","data":{"mode":"other"}}`:                                           "error enum $.data.mode",
		`{"type":"ping","ts":1.5}`:                                                                 "ping",
		`{"type":"pong"}`:                                                                          "pong",
		`{"command":"run_job"}`:                                                                    "unknown run_job",
		`{}`:                                                                                       "unknown ",
		`{"command":5}`:                                                                            "unknown ",
		`{"type":"event"}`:                                                                         "unknown ",
		`[]`:                                                                                       "error type $",
		`{"command":"a","command":"b"}`:                                                            "error duplicate $.command",
		`{"command":"set_mode"} x`:                                                                 "error trailing $",
		``:                                                                                         "error syntax $",
	} {
		f, inv := bindws.Decode([]byte(doc))
		got := ""
		switch f := f.(type) {
		case *bindws.Call:
			got = "call " + f.RequestID
			if f.Op != op.JobsGetCapabilitiesOp {
				t.Errorf("%s calls %s", doc, f.Op.ID)
			}
			if f.Refused != nil {
				got = "refused " + f.RequestID + " " + f.Refused.Rule + " " + f.Refused.Member
			}
			if (f.Refused == nil) != (f.Request != nil) {
				t.Errorf("%s: both or neither of request and refusal", doc)
			}
		case *bindws.Unknown:
			got = "unknown " + f.Command
		case *ws.SetModeCommand:
			got = "mode " + f.Data.Mode
		case *ws.Ping:
			got = "ping"
		case *ws.Pong:
			got = "pong"
		}
		if inv != nil {
			got = "error " + inv.Rule + " " + inv.Member
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
	got := string(bindws.AppendResult(nil, op.OperatorGetHealthOp, "r\n1", &op.OperatorGetHealthResult{GeneratedAt: "g", Data: op.OperatorHealth{Status: "ok"}}))
	if want := `{"type":"rpc_response","request_id":"r\n1","command":"","result":{"data":{"status":"ok"},"generated_at":"g","ok":true}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestServicesAreNamed(t *testing.T) {
	got := slices.Sorted(slices.Values(bindconnect.Services()))
	if want := []string{"sawhorse.jobs.v1.JobsService", "sawhorse.operator.v1.OperatorService", "sawhorse.workbench.v1.WorkbenchService"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// FuzzFrames tries the reader of WebSocket frames: it never panics, admits strict JSON only, and a known frame that is
// no call encodes to what decodes to the same.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{`{"command":"get_capabilities","request_id":"r1","data":{}}`, `{"command":"set_mode","data":{"mode":"text"}}`, `{"type":"ping","ts":1.5}`, `{"type":"pong","more":[1]}`, `{"command":"x"}`, `{}`, `[]`, `{"\u0063ommand":"set_mode"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		frame, inv := bindws.Decode(doc)
		if inv != nil {
			if frame != nil {
				t.Fatalf("%q gives both a frame and %v", doc, inv)
			}
			return
		}
		if open := jsontext.AllowDuplicateNames(true); !jsontext.Value(doc).IsValid(open) {
			t.Fatalf("%q is admitted", doc)
		}
		if v, ok := frame.(interface{ AppendJSON([]byte) []byte }); ok {
			text := v.AppendJSON(nil)
			again, inv := bindws.Decode(text)
			if inv != nil || !reflect.DeepEqual(again, frame) {
				t.Fatalf("%q gives %+v, encoded %q gives %+v, %v", doc, frame, text, again, inv)
			}
		}
	})
}
