package mcpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// requests has a good request of every method, of both families, all members filled.
func requests() map[string]string {
	modern := strings.TrimPrefix(modernMeta, `"_meta":`)
	all := map[string]string{
		"initialize":               `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"experimental":{}},"clientInfo":{"name":"c","version":"1","title":"t"},"_meta":{}}`,
		"ping":                     `{"_meta":{"progressToken":1}}`,
		"server/discover":          `{"_meta":` + modern + `}`,
		methodList:                 `{"cursor":"x","_meta":` + modern + `}`,
		methodCall:                 `{"name":"workbench_stat","arguments":{"id":"w","section":"outputs","path":"a.txt"},"_meta":` + modern + `}`,
		methodListen:               `{"_meta":` + modern + `,"notifications":{}}`,
		"completion/complete":      `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"a":"b"}}}`,
		"logging/setLevel":         `{"level":"info"}`,
		"prompts/get":              `{"name":"p","arguments":{"a":"b"}}`,
		"prompts/list":             `{"cursor":"x"}`,
		"resources/list":           `{"cursor":"x"}`,
		"resources/read":           `{"uri":"file:///x"}`,
		"resources/subscribe":      `{"uri":"file:///x"}`,
		"resources/unsubscribe":    `{"uri":"file:///x"}`,
		"resources/templates/list": `{"cursor":"x"}`,
		"notifications/cancelled":  `{"requestId":1,"reason":"r"}`,
		"notifications/progress":   `{"progressToken":1,"progress":0.5,"total":1,"message":"m"}`,
	}
	return all
}

// mutations are the request with each of its values replaced by each kind of JSON, one at a time.
func mutations(params string) (out []string) {
	var v any
	if err := json.Unmarshal([]byte(params), &v); err != nil {
		panic(err)
	}
	kinds := []any{nil, true, 5.0, 1.5, "text", []any{1.0}, map[string]any{"x": 1.0}, map[string]any{}}
	emit := func() {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out = append(out, string(b))
	}
	var visit func(at any, set func(any))
	visit = func(at any, set func(any)) {
		for _, k := range kinds {
			set(k)
			emit()
		}
		set(at)
		if m, ok := at.(map[string]any); ok {
			for name, child := range m {
				visit(child, func(x any) { m[name] = x })
				delete(m, name)
				emit()
				m[name] = child
			}
		}
		if a, ok := at.([]any); ok {
			for i, child := range a {
				visit(child, func(x any) { a[i] = x })
			}
		}
	}
	visit(v, func(x any) { v = x })
	return out
}

// leaks are words of the implementation.
var leaks = regexp.MustCompile(`(?i)json:|unmarshal|\bGo\b|\*?mcp\.|interface|json\.Raw|\{"|\[1\]|reflect|jsonrpc2?[.:]|struct|goroutine|nil pointer|0x[0-9a-f]{6}|internal error|handling '`)

// Nothing that is sent as params, of whatever form, makes an answer speak of the implementation, or have a code that JSON-RPC
// and MCP do not know; on HTTP and stdio, by the short path and by the SDK.
func TestParamsOfAnyForm(t *testing.T) {
	codes := map[float64]bool{codeParse: true, codeInvalidRequest: true, codeMethodNotFound: true, codeInvalidParams: true,
		-32020: true, -32021: true, -32022: true, -32002: true}
	check := func(t *testing.T, sent, answer string) {
		t.Helper()
		var reply struct {
			Error *struct {
				Code    float64 `json:"code"`
				Message string  `json:"message"`
			} `json:"error"`
		}
		text := answer
		if i := strings.Index(text, "data: {"); i >= 0 {
			text = text[i+len("data: "):]
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&reply); err != nil {
			t.Fatalf("%s\nis answered with %q: %v", sent, answer, err)
		}
		if reply.Error == nil {
			return
		}
		if !codes[reply.Error.Code] {
			t.Errorf("%s\ncode %v: %s", sent, reply.Error.Code, reply.Error.Message)
		}
		if word := leaks.FindString(reply.Error.Message); word != "" {
			t.Errorf("%s\nsays %q: %s", sent, word, reply.Error.Message)
		}
	}
	for method, good := range requests() {
		all := append(mutations(good), good)
		t.Run(method, func(t *testing.T) {
			for name, change := range map[string]func(*Profile){"short": nil, "SDK": noShortPath} {
				rt := newRuntime(t, change)
				for _, params := range append(all, "") {
					id := `"id":1,`
					if strings.HasPrefix(method, "notifications/") {
						id = ""
					}
					line := fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":%s}`, id, method, params)
					if params == "" {
						line = fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q}`, id, method)
					}
					if method != methodListen { // which is not answered while it goes well
						check(t, name+" http "+line, post(rt, line, nil).Body.String())
						check(t, name+" modern "+line, post(rt, line, modernHeaders(method, "workbench_stat")).Body.String())
					}
				}
			}
			rt := newRuntime(t, nil)
			for _, params := range all {
				id := `"id":1,`
				if strings.HasPrefix(method, "notifications/") {
					id = ""
				}
				line := fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":%s}`, id, method, params)
				for _, got := range talk(t, rt, line) {
					check(t, "stdio "+line, got)
				}
				if method == "initialize" {
					continue
				}
				// And after a handshake, which lets more through to the SDK.
				hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
				for _, got := range talk(t, rt, hello, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, line) {
					check(t, "stdio, initialized "+line, got)
				}
			}
		})
	}
}

func TestMisshapenParamsAreNamed(t *testing.T) {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	hello := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`
	}
	rt := newRuntime(t, nil)
	for line, want := range map[string]string{
		call(`[1]`):                                        "$.params: must be an object",
		call(`{"name":5}`):                                 "$.params.name: must be ",
		call(`{"name":"x","_meta":"x"}`):                   "$.params._meta: must be an object",
		call(`{"name":"x","requestState":[]}`):             "$.params.requestState: must be a string",
		call(`{"name":"x","inputResponses":{"a":5}}`):      "$.params.inputResponses: must hold, for each request, the result of its method",
		call(`{"name":"x","_meta":{"progressToken":1.5}}`): "$.params._meta.progressToken: must be a string or an integer",
		call(`{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":null}}`): "$.params._meta.io.modelcontextprotocol/protocolVersion: must be a string",
		hello(`{"protocolVersion":5}`): "$.params.protocolVersion: must be a string",
		hello(`{"protocolVersion":"2025-11-25","clientInfo":{"icons":[{"src":1}]}}`): "$.params.clientInfo.icons[].src: must be a string",
		hello(`{"protocolVersion":"2025-11-25","capabilities":{"roots":[]}}`):        "$.params.capabilities.roots: must be an object",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`:       "$.params.cursor: must be a string",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`:     onePage,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":true}`:                     "$.params: must be an object",
	} {
		answers := []string{post(rt, line, nil).Body.String(), post(newRuntime(t, noShortPath), line, nil).Body.String()}
		if !strings.Contains(want, "cursor") || strings.Contains(line, ":5") {
			answers = append(answers, talk(t, rt, line)...)
		}
		for _, answer := range answers {
			var reply struct {
				Error struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal([]byte(answer), &reply); err != nil || reply.Error.Code != codeInvalidParams || !strings.HasPrefix(reply.Error.Message, want) {
				t.Errorf("%s\n%s, want %q", line, answer, want)
			}
		}
	}
}

// A notification has no answer on stdio, and a status alone on HTTP.
func TestMisshapenNotifications(t *testing.T) {
	rt := newRuntime(t, nil)
	for line, status := range map[string]int{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":1}}`: 400,
		`{"jsonrpc":"2.0","method":"notifications/progress"}`:                                            400,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`:                               400,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`:                  202,
	} {
		if w := post(rt, line, nil); w.Code != status || status == 400 && !strings.Contains(w.Body.String(), "-32602") {
			t.Errorf("%s: %d %s", line, w.Code, w.Body)
		}
		if got := talk(t, rt, line); len(got) != 1 || got[0] != "" {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// Nothing of the envelope, of whatever form, makes an answer speak of the implementation.
func TestEnvelopesOfAnyForm(t *testing.T) {
	for _, rt := range []*Runtime{newRuntime(t, nil), newRuntime(t, noShortPath)} {
		for _, line := range mutations(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_stat","arguments":{"id":"w"}}}`) {
			answers := append(talk(t, rt, line), post(rt, line, nil).Body.String(), post(rt, line, modernHeaders(methodCall, "workbench_stat")).Body.String())
			for _, answer := range answers {
				var reply struct {
					Error struct {
						Code    int
						Message string
					}
				}
				if answer == "" {
					continue
				}
				if err := json.Unmarshal([]byte(answer), &reply); err != nil {
					t.Fatalf("%s: %q: %v", line, answer, err)
				}
				if word := leaks.FindString(reply.Error.Message); word != "" {
					t.Errorf("%s\nsays %q: %s", line, word, reply.Error.Message)
				}
				switch reply.Error.Code {
				case 0, codeParse, codeInvalidRequest, codeMethodNotFound, codeInvalidParams, -32020:
				default:
					t.Errorf("%s: %s", line, answer)
				}
			}
		}
	}
}

// sdkTypes are what the SDK reads the params of each method into.
var sdkTypes = map[string]any{
	"initialize": sdk.InitializeParams{}, "ping": sdk.PingParams{}, methodDiscover: sdk.DiscoverParams{}, methodCall: sdk.CallToolParamsRaw{},
	methodList: sdk.ListToolsParams{}, methodListen: sdk.SubscriptionsListenParams{}, "completion/complete": sdk.CompleteParams{},
	"logging/setLevel": sdk.SetLoggingLevelParams{}, "prompts/get": sdk.GetPromptParams{}, "prompts/list": sdk.ListPromptsParams{},
	"resources/list": sdk.ListResourcesParams{}, "resources/read": sdk.ReadResourceParams{}, "resources/subscribe": sdk.SubscribeParams{},
	"resources/unsubscribe": sdk.UnsubscribeParams{}, "resources/templates/list": sdk.ListResourceTemplatesParams{},
	"notifications/initialized": sdk.InitializedParams{}, "notifications/roots/list_changed": sdk.RootsListChangedParams{},
	"notifications/cancelled": sdk.CancelledParams{}, "notifications/progress": sdk.ProgressNotificationParams{},
}

// filled is a JSON value that a type of the SDK reads, with everything in it that the type has room for.
func filled(t reflect.Type) any {
	switch t {
	case reflect.TypeFor[sdk.CompleteReference]():
		return map[string]any{"type": "ref/prompt", "name": "p"}
	case reflect.TypeFor[sdk.InputResponseMap]():
		return map[string]any{"r": map[string]any{"action": "accept", "content": map[string]any{"a": 1.0}}}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return filled(t.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return true
	case reflect.Slice:
		return []any{filled(t.Elem())}
	case reflect.Map:
		return map[string]any{"k": filled(t.Elem())}
	case reflect.Struct:
		out := map[string]any{}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "_meta" {
				out[name] = map[string]any{"progressToken": 1.0}
			} else if name != "-" {
				out[name] = filled(f.Type)
			}
		}
		return out
	default:
		return 1.0
	}
}

// Whatever passes the forms, the SDK can read: so it never has a reason to speak of its types. And the forms let through
// what the SDK's own types look like.
func TestFormsAreAsNarrowAsTheSDK(t *testing.T) {
	for method := range forms {
		if sdkTypes[method] == nil {
			t.Errorf("%s: no type", method)
			continue
		}
		of := reflect.TypeOf(sdkTypes[method])
		good, err := json.Marshal(filled(of))
		if err != nil {
			t.Fatal(err)
		}
		id := `"id":1,`
		if strings.HasPrefix(method, "notifications/") {
			id = ""
		}
		judge := func(params string) string {
			line := []byte(fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":%s}`, id, method, params))
			m, serr := scan(line)
			if serr != nil {
				t.Fatalf("%s: %v", line, serr)
			}
			return misshapen(&m, line, saidOlder)
		}
		if wrong := judge(string(good)); wrong != "" {
			t.Errorf("%s %s: %s", method, good, wrong)
		}
		passed := 0
		for _, params := range mutations(string(good)) {
			if judge(params) != "" {
				continue
			}
			passed++
			if err := json.Unmarshal([]byte(params), reflect.New(of).Interface()); err != nil {
				t.Errorf("%s %s passes, but: %v", method, params, err)
			}
		}
		if passed == 0 {
			t.Errorf("%s: nothing passes", method)
		}
	}
	for method := range methods {
		if forms[method] == nil {
			t.Errorf("%s has no form", method)
		}
	}
}
