package mcpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// fake is a Workbench of one file, a.txt, that answers every built operation the same way each time.
type fake struct{ op.Workbench }

func (fake) Stat(_ context.Context, req *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
	if req.Path == nil || *req.Path != "a.txt" {
		return nil, fault.New(op.ReasonWBNotFound, "").With("path", "outputs/\"quoted\"\n.txt")
	}
	size, generation, contentType := int64(3), int64(7), "text/plain; charset=utf-8"
	return &op.WorkbenchStatResult{WorkbenchID: req.ID, WorkbenchPath: "/agents/a/wb/" + req.ID, Section: req.Section, RelativePath: req.Path,
		Path: "/agents/a/wb/" + req.ID + "/outputs/a.txt", Card: op.WorkbenchCard{Name: "ä<&>\u2028.txt", Kind: "file", SizeBytes: &size, Generation: &generation, ContentType: &contentType}}, nil
}

func (fake) Create(_ context.Context, req *op.WorkbenchCreateRequest) (*op.WorkbenchCreateResult, error) {
	if req.ID == "panic" {
		panic("in the middle of it")
	}
	return &op.WorkbenchCreateResult{WorkbenchID: req.ID, Path: "/agents/a/wb/" + req.ID, Sections: []string{"input", "scripts", "outputs", "logs", "metadata"}}, nil
}

func newPipeline(t testing.TB) *call.Pipeline {
	t.Helper()
	p, err := call.New(call.Options{API: &op.API{Workbench: fake{}}, Principal: actor.Principal{User: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newRuntime(t testing.TB, change func(*Profile)) *Runtime {
	t.Helper()
	p := Workbench(newPipeline(t), "1.2.3")
	if change != nil {
		change(&p)
	}
	rt, err := New(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func noShortPath(p *Profile) { p.DisableFastPath = true }

// modernMeta is a _meta as a client of the 2026-07-28 revision sends it.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`

func modernHeaders(method, name string) map[string]string {
	h := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	return h
}

func post(h http.Handler, body string, headers map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/mcp/workbench", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		if v == "-" {
			r.Header.Del(k)
		} else {
			r.Header.Set(k, v)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// value is the comparable form of an answer: status, media type, and the body as a JSON value where it is one.
type value struct {
	Status int
	Type   string
	Body   any
}

func valueOf(w *httptest.ResponseRecorder) value {
	v := value{Status: w.Code, Type: w.Header().Get("Content-Type"), Body: w.Body.String()}
	d := json.NewDecoder(strings.NewReader(w.Body.String()))
	d.UseNumber()
	var body any
	if d.Decode(&body) == nil {
		v.Body = body
	}
	return v
}

type exchange struct {
	name    string
	body    string
	headers map[string]string
	short   bool // the short path is meant to answer it
}

func exchanges() []exchange {
	modernCall := func(tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, tool, args, modernMeta)
	}
	legacyCall := func(tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"q-1","method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	}
	v := func(s string) map[string]string { return map[string]string{"Mcp-Protocol-Version": s} }
	statHeaders := modernHeaders("tools/call", "workbench_stat")
	const stat = `{"id":"wb1","section":"outputs","path":"a.txt"}`
	all := []exchange{
		{"modern call", modernCall("workbench_stat", stat), statHeaders, true},
		{"modern refusal", modernCall("workbench_stat", `{"id":"wb1","path":"b.txt"}`), statHeaders, true},
		{"modern panic", modernCall("workbench_create", `{"id":"panic"}`), modernHeaders("tools/call", "workbench_create"), true},
		{"modern malformed arguments", modernCall("workbench_stat", `{"id":"wb1","sectoin":"x"}`), statHeaders, true},
		{"modern duplicate argument", modernCall("workbench_stat", `{"id":"wb1","id":"wb2"}`), statHeaders, true},
		{"modern invalid UTF-8 argument", modernCall("workbench_stat", "{\"id\":\"\xff\"}"), statHeaders, true},
		{"modern lone surrogate argument", modernCall("workbench_stat", `{"id":"\ud800"}`), statHeaders, true},
		{"modern array arguments", modernCall("workbench_stat", `[]`), statHeaders, true},
		{"modern string arguments", modernCall("workbench_stat", `"x"`), statHeaders, true},
		{"modern null arguments", modernCall("workbench_stat", `null`), statHeaders, true},
		{"modern spaced arguments", modernCall("workbench_stat", ` { "id" : "wb1" , "path":"a.txt" } `), statHeaders, true},
		{"modern unknown tool", modernCall("workbench_dance", `{}`), modernHeaders("tools/call", "workbench_dance"), true},
		{"modern tool that its area lacks", modernCall("workbench_grep", `{"id":"a","pattern":"x","recursive":true}`), modernHeaders("tools/call", "workbench_grep"), true},
		{"modern list", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}`, modernHeaders("tools/list", ""), true},
		{"modern discover", `{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{` + modernMeta + `}}`, modernHeaders("server/discover", ""), false},
		{"modern ping", `{"jsonrpc":"2.0","id":2,"method":"ping","params":{` + modernMeta + `}}`, modernHeaders("ping", ""), false},
		{"modern unknown method", `{"jsonrpc":"2.0","id":2,"method":"tools/dance","params":{` + modernMeta + `}}`, modernHeaders("tools/dance", ""), false},
		{"modern without Mcp-Method", modernCall("workbench_stat", stat), map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Name": "workbench_stat"}, false},
		{"modern without Mcp-Name", modernCall("workbench_stat", stat), modernHeaders("tools/call", ""), false},
		{"modern Mcp-Method differs", modernCall("workbench_stat", stat), modernHeaders("tools/list", "workbench_stat"), false},
		{"modern Mcp-Name differs", modernCall("workbench_stat", stat), modernHeaders("tools/call", "workbench_list"), false},
		{"modern list with another Mcp-Method", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}`, modernHeaders("tools/call", ""), false},
		{"modern without _meta", legacyCall("workbench_stat", stat), statHeaders, false},
		{"modern list without params", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, modernHeaders("tools/list", ""), false},
		{"modern without capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, statHeaders, false},
		{"modern with null capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}}}`, statHeaders, false},
		{"modern with a number for capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":5}}}`, statHeaders, false},
		{"modern with bad clientInfo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":3}}}`, statHeaders, false},
		{"modern with rich capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `,"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"roots":{"listChanged":true},"sampling":{}},"progressToken":9,"x":[1]}}}`, statHeaders, true},
		{"modern body, legacy header", modernCall("workbench_stat", stat), v("2025-11-25"), false},
		{"modern body, no header", modernCall("workbench_stat", stat), nil, false},
		{"future revision", strings.ReplaceAll(modernCall("workbench_stat", stat), "2026-07-28", "2099-01-01"), map[string]string{"Mcp-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/call", "Mcp-Name": "workbench_stat"}, false},
		{"modern notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, modernHeaders("notifications/cancelled", ""), false},

		{"legacy list", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, v("2025-11-25"), true},
		{"legacy list with empty params", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`, v("2025-06-18"), true},
		{"legacy list with null params", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":null}`, v("2025-06-18"), false},
		{"legacy list with a cursor", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"abc"}}`, v("2025-06-18"), false},
		{"legacy list with an empty cursor", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}`, v("2025-06-18"), true},
		{"legacy list with a null cursor", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":null}}`, v("2025-06-18"), true},
		{"legacy list with a name twice but for its case", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"Cursor":5}}`, v("2025-06-18"), false},
		{"legacy call with members nobody knows", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","Name":5,"Arguments":[],"arguments":` + stat + `}}`, nil, false},
		{"legacy call with a progress token of another kind", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `,"_meta":{"progressToken":{}}}}`, nil, false},
		{"modern call with a log level of another kind", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `,` + strings.Replace(modernMeta, `{`, `{"io.modelcontextprotocol/logLevel":5,`, 1) + `}}`, statHeaders, false},
		{"legacy list without an id", `{"jsonrpc":"2.0","method":"tools/list"}`, v("2025-06-18"), false},
		{"legacy refusal", legacyCall("workbench_stat", `{"id":"wb1"}`), v("2025-06-18"), true},
		{"legacy unknown tool", legacyCall("no such tool", `{}`), v("2025-06-18"), true},
		{"legacy call without arguments", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workbench_stat"}}`, v("2025-06-18"), true},
		{"legacy call with _meta", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `,"_meta":{"progressToken":"t"}}}`, v("2025-06-18"), true},
		{"legacy call with null _meta", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `,"_meta":null}}`, v("2025-06-18"), false},
		{"legacy call with an odd member", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `,"task":{}}}`, v("2025-06-18"), false},
		{"legacy call without a name", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{}}}`, v("2025-06-18"), false},
		{"legacy call with an empty name", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"","arguments":{}}}`, v("2025-06-18"), false},
		{"modern call without a name", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{},` + modernMeta + `}}`, statHeaders, false},
		{"legacy call with a numeric name", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}}`, v("2025-06-18"), false},
		{"legacy call with an escaped name", `{"jsonrpc":"2.0","id":3,"method":"tools\/call","params":{"name":"workbench\u005fstat","arguments":` + stat + `}}`, v("2025-06-18"), false},
		{"legacy call without params", `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`, v("2025-06-18"), false},
		{"legacy call with array params", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}`, v("2025-06-18"), false},
		{"legacy call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"workbench_stat"}}`, v("2025-06-18"), false},
		{"legacy call with a null id", `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"workbench_stat"}}`, v("2025-06-18"), false},
		{"legacy call with a fractional id", `{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `}}`, v("2025-06-18"), false},
		{"legacy call with a huge id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `}}`, v("2025-06-18"), false},
		{"legacy call with the largest id", `{"jsonrpc":"2.0","id":9007199254740991,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `}}`, v("2025-06-18"), true},
		{"legacy ping with a huge id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, v("2025-06-18"), false},
		{"legacy call with an escaped id", `{"jsonrpc":"2.0","id":"\u0041\n","method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `}}`, v("2025-06-18"), true},
		{"legacy call with an unknown top-level member", `{"jsonrpc":"2.0","id":3,"extra":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":` + stat + `}}`, v("2025-06-18"), false},
		{"a response", `{"jsonrpc":"2.0","id":3,"result":{}}`, v("2025-06-18"), false},
		{"legacy initialize", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, nil, false},
		{"legacy initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, v("2025-06-18"), false},
		{"legacy ping", `{"jsonrpc":"2.0","id":0,"method":"ping"}`, v("2025-06-18"), false},
		{"legacy resources", `{"jsonrpc":"2.0","id":0,"method":"resources/list"}`, v("2025-06-18"), false},
		{"legacy unknown method", `{"jsonrpc":"2.0","id":0,"method":"tools/dance"}`, v("2025-06-18"), false},
		{"unknown revision", legacyCall("workbench_stat", stat), v("2024-01-01"), false},
		{"batch of a revision that had it", `[` + legacyCall("workbench_stat", stat) + `]`, v("2025-03-26"), false},
		{"batch of a revision that has not", `[` + legacyCall("workbench_stat", stat) + `]`, v("2025-06-18"), false},
		{"empty batch", `[]`, nil, false},
		{"Last-Event-ID", legacyCall("workbench_stat", stat), map[string]string{"Last-Event-Id": "1"}, false},
		{"a session id nobody asked for", legacyCall("workbench_stat", stat), map[string]string{"Mcp-Session-Id": "abc"}, true},
		{"no Accept", legacyCall("workbench_stat", stat), map[string]string{"Accept": "-"}, false},
		{"Accept of JSON alone", legacyCall("workbench_stat", stat), map[string]string{"Accept": "application/json"}, false},
		{"Accept of everything", legacyCall("workbench_stat", stat), map[string]string{"Accept": "*/*"}, true},
		{"Accept with parameters", legacyCall("workbench_stat", stat), map[string]string{"Accept": "text/event-stream;q=0.5, Application/JSON;charset=utf-8"}, true},
		{"no Content-Type", legacyCall("workbench_stat", stat), map[string]string{"Content-Type": "-"}, false},
		{"text Content-Type", legacyCall("workbench_stat", stat), map[string]string{"Content-Type": "text/plain"}, false},
		{"Content-Type with charset", legacyCall("workbench_stat", stat), map[string]string{"Content-Type": "application/json; charset=utf-8"}, true},
		{"duplicate member", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, v("2025-06-18"), false},
		{"trailing bytes", legacyCall("workbench_stat", stat) + "garbage", v("2025-06-18"), false},
		{"an object for an id", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, v("2025-06-18"), false},
		{"true for an id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, v("2025-06-18"), false},
		{"not JSON", `{"jsonrpc":`, v("2025-06-18"), false},
		{"nothing", ``, v("2025-06-18"), false},
	}
	for _, revision := range []string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		h := map[string]string{}
		if revision != "" {
			h = v(revision)
		}
		all = append(all, exchange{"legacy call " + revision, legacyCall("workbench_stat", stat), h, true})
	}
	return all
}

// Invariant 1, over every kind of request that we could think of. The short path must also take what it is there for.
func TestShortPathAndSDKAgree(t *testing.T) {
	short, long := newRuntime(t, nil), newRuntime(t, noShortPath)
	for _, e := range exchanges() {
		t.Run(e.name, func(t *testing.T) {
			want, got := valueOf(post(long, e.body, e.headers)), valueOf(post(short, e.body, e.headers))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the short path differs (-SDK +short):\n%s", diff)
			}
			if strings.HasPrefix(got.Type, "application/json") && !isJSON(got.Body) {
				t.Errorf("the answer %q is no JSON", got.Body)
			}
			if taken := takes(short, e); taken != e.short {
				t.Errorf("taken by the short path: %v, want %v", taken, e.short)
			}
		})
	}
}

// isJSON reports whether a body was read as a JSON value, and not kept as text.
func isJSON(body any) bool {
	_, text := body.(string)
	return !text
}

// takes reports whether the short path answers a request by itself.
func takes(rt *Runtime, e exchange) bool {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(e.body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range e.headers {
		if v == "-" {
			r.Header.Del(k)
		} else {
			r.Header.Set(k, v)
		}
	}
	if !jsonContent(r) || !acceptsBoth(r) {
		return false
	}
	m, err := scan([]byte(e.body))
	return err == nil && !m.batch && rt.short.serve(httptest.NewRecorder(), r, &m)
}

// FuzzShortPath holds the two paths together on inputs that nobody thought of.
func FuzzShortPath(f *testing.F) {
	for _, e := range exchanges() {
		f.Add([]byte(e.body), e.headers["Mcp-Protocol-Version"], e.headers["Mcp-Method"], e.headers["Mcp-Name"])
	}
	short, long := newRuntime(f, nil), newRuntime(f, noShortPath)
	f.Fuzz(func(t *testing.T, body []byte, version, method, name string) {
		headers := map[string]string{}
		for k, v := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name} {
			if v != "" && v != "-" {
				headers[k] = v
			}
		}
		if strings.Contains(string(body), "subscriptions/listen") {
			return // an answer without an end
		}
		want, got := valueOf(post(long, string(body), headers)), valueOf(post(short, string(body), headers))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the short path differs (-SDK +short):\n%s", diff)
		}
	})
}

type listed struct {
	Result struct {
		Tools []struct {
			Name         string          `json:"name"`
			Title        string          `json:"title"`
			InputSchema  json.RawMessage `json:"inputSchema"`
			OutputSchema json.RawMessage `json:"outputSchema"`
			Annotations  mcp.Annotations `json:"annotations"`
		} `json:"tools"`
		TTLMs      int    `json:"ttlMs"`
		CacheScope string `json:"cacheScope"`
	} `json:"result"`
}

// Invariant 2: the contract's 18 tools, in its order, with schemas byte for byte and all hints.
func TestToolsList(t *testing.T) {
	order := []string{"create", "put_file", "append", "edit", "list", "stat", "read", "grep", "search", "aggregate", "catalog", "find", "commit",
		"snapshot", "snapshot_renew", "snapshot_retire", "snapshot_list", "restore"}
	for name, rt := range map[string]*Runtime{"short": newRuntime(t, nil), "sdk": newRuntime(t, noShortPath)} {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			body, headers := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, map[string]string{"Mcp-Protocol-Version": revision}
			if revision == version20260728 {
				body, headers = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, modernHeaders("tools/list", "")
			}
			var got listed
			if err := json.Unmarshal(post(rt, body, headers).Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			var names []string
			for i, tool := range got.Result.Tools {
				names = append(names, strings.TrimPrefix(tool.Name, "workbench_"))
				want := mcp.Workbench[i]
				if string(tool.InputSchema) != string(want.InputSchema) || string(tool.OutputSchema) != string(want.OutputSchema) || tool.OutputSchema == nil {
					t.Errorf("%s %s: a schema of %s was changed on the way", name, revision, tool.Name)
				}
				if tool.Annotations != want.Annotations || tool.Title != want.Title {
					t.Errorf("%s %s: annotations of %s: %+v", name, revision, tool.Name, tool.Annotations)
				}
			}
			if !slices.Equal(names, order) {
				t.Errorf("%s %s: tools %v", name, revision, names)
			}
			if got.Result.TTLMs != listTTLMillis || got.Result.CacheScope == "" {
				t.Errorf("%s %s: ttlMs %d, cacheScope %q", name, revision, got.Result.TTLMs, got.Result.CacheScope)
			}
		}
	}
}

// Invariant 2: registration fails closed.
func TestIncompleteProfilesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Profile){
		"a tool is missing":      func(p *Profile) { p.Tools = p.Tools[1:] },
		"a tool is listed twice": func(p *Profile) { p.Tools = append(slices.Clone(p.Tools[:17]), p.Tools[0]) },
		"a tool is one too many": func(p *Profile) {
			p.Tools = append(slices.Clone(p.Tools), mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{}`)})
		},
		"a tool is misnamed":       func(p *Profile) { p.Tools = slices.Clone(p.Tools); p.Tools[3].Name = "workbench_edits" },
		"a tool has no operation":  func(p *Profile) { p.Tools = slices.Clone(p.Tools); p.Tools[3].Op = nil },
		"a tool has another's":     func(p *Profile) { p.Tools = slices.Clone(p.Tools); p.Tools[3].Op = op.WorkbenchStatOp },
		"a schema is missing":      func(p *Profile) { p.Tools = slices.Clone(p.Tools); p.Tools[3].InputSchema = nil },
		"nothing carries it out":   func(p *Profile) { p.Pipeline = nil },
		"the server has no name":   func(p *Profile) { p.Name = "" },
		"the build has no version": func(p *Profile) { p.Version = "" },
	} {
		p := Workbench(newPipeline(t), "1")
		change(&p)
		if _, err := New(p, Options{}); err == nil {
			t.Errorf("%s: the profile is served", name)
		}
	}
}

// Invariant 4, and the text content: the structured content once more, byte for byte.
func TestToolResult(t *testing.T) {
	rt := newRuntime(t, nil)
	for args, wantError := range map[string]bool{`{"id":"wb1","path":"a.txt"}`: false, `{"id":"wb1","path":"b"}`: true, `{}`: true} {
		w := post(rt, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":`+args+`}}`, nil)
		var got struct {
			Error  json.RawMessage `json:"error"`
			Result struct {
				Content []struct {
					Type string `json:"type"`
					Text string `json:"text"`
				} `json:"content"`
				StructuredContent json.RawMessage `json:"structuredContent"`
				IsError           *bool           `json:"isError"`
			} `json:"result"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusOK || got.Error != nil || (got.Result.IsError != nil) != wantError || got.Result.IsError != nil && !*got.Result.IsError {
			t.Errorf("%s: status %d, error %s, isError %v", args, w.Code, got.Error, got.Result.IsError)
		}
		if len(got.Result.Content) != 1 || got.Result.Content[0].Type != "text" ||
			got.Result.Content[0].Text != string(got.Result.StructuredContent) {
			t.Errorf("%s: content %+v beside %s", args, got.Result.Content, got.Result.StructuredContent)
		}
		var envelope map[string]any
		if err := json.Unmarshal(got.Result.StructuredContent, &envelope); err != nil {
			t.Fatal(err)
		}
		if wantError && len(envelope) != 5 {
			t.Errorf("%s: error envelope %v", args, envelope)
		}
	}
}

// A tool without an operation may return whatever the SDK can say; the two paths must agree on all of it.
func TestCustomToolsAgree(t *testing.T) {
	results := map[string]func() (*sdk.CallToolResult, error){
		"text": func() (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "<&>"}}}, nil
		},
		"image": func() (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte{1, 2}}}}, nil
		},
		"empty": func() (*sdk.CallToolResult, error) { return &sdk.CallToolResult{}, nil },
		"error": func() (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no"}}}, nil
		},
		"meta": func() (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Meta: sdk.Meta{"a": 1}, StructuredContent: map[string]any{"b": 2.5}}, nil
		},
		"failure": func() (*sdk.CallToolResult, error) { return nil, fmt.Errorf("plain failure") },
	}
	var tools []mcp.Tool
	for name := range results {
		tools = append(tools, mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	profile := Profile{Name: "test", Version: "1", Tools: tools, Call: func(_ context.Context, tool *mcp.Tool, _ json.RawMessage, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return results[tool.Name]()
	}}
	short, err := New(profile, Options{})
	if err != nil {
		t.Fatal(err)
	}
	profile.DisableFastPath = true
	long, err := New(profile, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name := range results {
		for _, e := range []exchange{
			{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,%s}}`, name, modernMeta), headers: modernHeaders("tools/call", name)},
			{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name)},
		} {
			if diff := cmp.Diff(valueOf(post(long, e.body, e.headers)), valueOf(post(short, e.body, e.headers))); diff != "" {
				t.Errorf("%s: the short path differs (-SDK +short):\n%s", name, diff)
			}
			if !takes(short, e) {
				t.Errorf("%s is not taken by the short path", name)
			}
		}
	}
	unknown := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody","arguments":{}}}`
	if got := valueOf(post(short, unknown, nil)); !cmp.Equal(got, valueOf(post(long, unknown, nil))) || !strings.Contains(fmt.Sprint(got.Body), "unknown tool") {
		t.Errorf("an unknown tool of a profile without a contract: %v", got)
	}
}

// The cache of verdicts stays bounded under clients that never repeat themselves.
func TestMetaCacheIsBounded(t *testing.T) {
	var c metaCache
	for i := range 3 * maxMetas {
		raw := fmt.Appendf(nil, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"n":%d}`, i)
		if v := c.judge(raw); !v.usable || v.version != version20260728 {
			t.Fatalf("verdict %+v", v)
		}
		if n := len(*c.known.Load()); n > maxMetas {
			t.Fatalf("%d verdicts are remembered", n)
		}
	}
	c = metaCache{}
	c.judge([]byte(`{"progressToken":1}`))
	c.judge(fmt.Appendf(nil, `{"pad":%q}`, strings.Repeat("x", maxMetaBytes)))
	if c.known.Load() != nil {
		t.Error("a verdict that will not be asked for again is remembered")
	}
}

// Large messages give their share of the budget back, whichever path answers them.
func TestLargeMessagesDoNotEatTheBudget(t *testing.T) {
	p := Workbench(newPipeline(t), "1")
	rt, err := New(p, Options{Budget: body.NewBudget(1 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("x", 700<<10)
	for range 4 {
		for name, content := range map[string]string{
			"the SDK":        `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"` + pad + `"}}}`,
			"a notification": `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":"` + pad + `"}}}`,
			"the short path": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{"id":"` + pad + `"}}}`,
			"the door":       `{"jsonrpc":"2.0","id":1,"id":2,"method":"` + pad + `"}`,
		} {
			if w := post(rt, content, nil); w.Code >= 500 {
				t.Fatalf("%s: %d %s", name, w.Code, w.Body)
			}
		}
	}
}

// discard is a response writer that costs nothing, so that a benchmark sees the runtime alone.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func BenchmarkCall(b *testing.B) {
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{"id":"wb1","section":"outputs","path":"a.txt"},` + modernMeta + `}}`
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{"id":"wb1","section":"outputs","path":"a.txt"}}}`
	for _, c := range []struct {
		name, body string
		headers    map[string]string
		change     func(*Profile)
	}{
		{"modern", modern, modernHeaders("tools/call", "workbench_stat"), nil},
		{"legacy", legacy, map[string]string{"Mcp-Protocol-Version": "2025-11-25"}, nil},
		{"modern/sdk", modern, modernHeaders("tools/call", "workbench_stat"), noShortPath},
		{"legacy/sdk", legacy, map[string]string{"Mcp-Protocol-Version": "2025-11-25"}, noShortPath},
	} {
		b.Run(c.name, func(b *testing.B) {
			rt := newRuntime(b, c.change)
			rd := strings.NewReader(c.body)
			r := httptest.NewRequest(http.MethodPost, "/", rd)
			r.ContentLength = int64(len(c.body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for k, v := range c.headers {
				r.Header.Set(k, v)
			}
			body := r.Body
			w := &discard{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				rd.Reset(c.body)
				r.Body = body
				rt.ServeHTTP(w, r)
			}
		})
	}
}
