package mcpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
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
	}
	visit(v, func(x any) { v = x })
	return out
}

// leaks are words of the implementation.
var leaks = regexp.MustCompile(`(?i)json:|unmarshal|\bGo\b|\*?mcp\.|interface ?\{|reflect|jsonrpc2?[.:]|struct|goroutine|nil pointer|0x[0-9a-f]{6}|internal error|handling '`)

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
	rt := newRuntime(t, noShortPath)
	for params, want := range map[string]string{
		`[1]`:                      "$.params: must be an object",
		`{"name":5}`:               "$.params.name: must not be a number",
		`{"name":"x","_meta":"x"}`: "$.params._meta: must be an object",
	} {
		w := post(rt, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`, nil)
		var reply struct{ Error struct{ Message string } }
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || reply.Error.Message != want {
			t.Errorf("%s: %s, want %q", params, w.Body, want)
		}
	}
}
