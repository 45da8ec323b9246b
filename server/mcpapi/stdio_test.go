package mcpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// talk sends lines and returns the answers after the input has ended.
func talk(t *testing.T, rt *Runtime, lines ...string) []string {
	t.Helper()
	var out strings.Builder
	if err := rt.ServeStdio(context.Background(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// What clients of the contract's stdio wire rely on, line by line.
func TestStdioAnswers(t *testing.T) {
	rt := newRuntime(t, nil)
	for _, c := range []struct{ name, line, want string }{
		{"bad JSON", `{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`},
		{"a number", `5`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600}}`},
		{"an array for an id", `{"jsonrpc":"2.0","id":[],"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`},
		{"an endless number for an id", `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 400) + `,"method":"dance"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`},
		{"no method", `{"jsonrpc":"2.0","id":4}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32600}}`},
		{"an unknown method", `{"jsonrpc":"2.0","id":5,"method":"dance"}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32601}}`},
		{"a call without a name", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32602}}`},
		{"a call without params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602}}`},
		{"a call with a numeric name", `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":3}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32602}}`},
		{"a call with an empty name", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":""}}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32602}}`},
		{"a line that breaks off", `{"jsonrpc":"2.0","id":3,`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`},
		{"a call with a null id", `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"nobody"}}`, `{"jsonrpc":"2.0","id":null,"result":{"isError":true}}`},
		{"an unknown tool", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"nobody"}}`, `{"jsonrpc":"2.0","id":8,"result":{"isError":true}}`},
		{"a call before initialize", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"workbench_create","arguments":{"id":"w"}}}`, `{"jsonrpc":"2.0","id":9,"result":{}}`},
		{"ping", `{"jsonrpc":"2.0","id":10,"method":"ping"}`, `{"jsonrpc":"2.0","id":10,"result":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := talk(t, rt, "", "  ", c.line)
			if len(got) != 1 {
				t.Fatalf("answers %q, want one", got)
			}
			if diff := cmp.Diff(outline(t, c.want), outline(t, got[0])); diff != "" {
				t.Errorf("answer %s (-want +got):\n%s", got[0], diff)
			}
		})
	}
}

// outline keeps of a message what the test speaks of: id, error code, and isError of a result.
func outline(t *testing.T, line string) map[string]any {
	t.Helper()
	var m struct {
		ID    any `json:"id"`
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
		Result *struct {
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	out := map[string]any{"id": m.ID}
	if m.Error != nil {
		out["code"] = m.Error.Code
	}
	if m.Result != nil {
		out["result"] = m.Result.IsError
	}
	return out
}

func TestStdioNotificationsAreNeverAnswered(t *testing.T) {
	got := talk(t, newRuntime(t, nil),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"workbench_create","arguments":{"id":"w"}}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{}}`,
		`{"jsonrpc":"2.0","method":"tools/list"}`,
		`{"jsonrpc":"2.0","method":"dance"}`)
	if len(got) != 1 || got[0] != "" {
		t.Errorf("answers %q, want none", got)
	}
}

// The handshake of each revision, and the list as the contract's checker asks for it: first request, id 1.
func TestStdioHandshake(t *testing.T) {
	for asked, want := range map[string]string{"2025-11-25": "2025-11-25", "2024-11-05": "2024-11-05", "1999-01-01": "2025-11-25"} {
		got := talk(t, newRuntime(t, nil), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		var m struct {
			Result struct {
				ProtocolVersion string         `json:"protocolVersion"`
				Capabilities    map[string]any `json:"capabilities"`
				ServerInfo      struct{ Name string }
			}
		}
		if err := json.Unmarshal([]byte(got[0]), &m); err != nil {
			t.Fatal(err)
		}
		if m.Result.ProtocolVersion != want || m.Result.ServerInfo.Name != "sawhorse" || len(m.Result.Capabilities) != 1 || m.Result.Capabilities["tools"] == nil {
			t.Errorf("asked for %s: %s", asked, got[0])
		}
	}
	got := talk(t, newRuntime(t, nil), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var list listed
	if err := json.Unmarshal([]byte(got[0]), &list); err != nil || len(list.Result.Tools) != 18 {
		t.Errorf("the list: %v, %.200s", err, got[0])
	}
}

// stdio and HTTP give the same value for the same message, on both wires.
func TestStdioAndHTTPAgree(t *testing.T) {
	rt := newRuntime(t, nil)
	for _, e := range exchanges() {
		if !e.short || strings.ContainsAny(e.body, "\n\xff") || e.name == "modern panic" {
			continue
		}
		want := valueOf(post(rt, e.body, e.headers))
		got := talk(t, rt, e.body)
		var v any
		d := json.NewDecoder(strings.NewReader(got[0]))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if diff := cmp.Diff(want.Body, v); diff != "" {
			t.Errorf("%s: stdio differs (-HTTP +stdio):\n%s", e.name, diff)
		}
	}
}

// blocking is a Workbench whose create waits until it is told or cancelled.
type blocking struct {
	op.Workbench
	began chan string
	let   chan struct{}
}

func (b blocking) Create(ctx context.Context, req *op.WorkbenchCreateRequest) (*op.WorkbenchCreateResult, error) {
	b.began <- req.ID
	select {
	case <-b.let:
		return &op.WorkbenchCreateResult{WorkbenchID: req.ID, Sections: []string{"input"}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// conversation is a client at the other end of two pipes.
type conversation struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func converse(t *testing.T, ctx context.Context, api op.Workbench) *conversation {
	t.Helper()
	p, err := call.New(call.Options{API: &op.API{Workbench: api}})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := New(Workbench(p, "1"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &conversation{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1)}
	go func() {
		c.done <- rt.ServeStdio(ctx, inR, outW)
		outW.Close()
	}()
	return c
}

func (c *conversation) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) receive() map[string]any {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return outline(c.t, line)
}

func create(id string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"workbench_create","arguments":{"id":"` + id + `"}}}`
}

// Invariant 5, with a ping that may overtake and a call that is cancelled while it waits.
func TestStdioOrderAndCancellation(t *testing.T) {
	b := blocking{began: make(chan string, 8), let: make(chan struct{})}
	c := converse(t, context.Background(), b)
	c.send(create("one"))
	if id := <-b.began; id != "one" {
		t.Fatalf("%s began", id)
	}
	c.send(create("two"))
	c.send(create("three"))
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}`)
	c.send(`{"jsonrpc":"2.0","id":99,"method":"ping"}`)
	if got := c.receive(); got["id"] != 99.0 {
		t.Fatalf("answer %v, want the ping's", got)
	}
	select {
	case id := <-b.began:
		t.Fatalf("%s began beside another call", id)
	default:
	}
	b.let <- struct{}{}
	if got := c.receive(); got["id"] != "one" {
		t.Fatalf("answer %v", got)
	}
	if id := <-b.began; id != "three" {
		t.Fatalf("%s began; the second was cancelled", id)
	}
	// Cancelling the call in progress ends it, and nobody answers it.
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"three"}}`)
	c.send(create("four"))
	if id := <-b.began; id != "four" {
		t.Fatalf("%s began", id)
	}
	c.in.Close()
	b.let <- struct{}{}
	if got := c.receive(); got["id"] != "four" {
		t.Fatalf("answer %v: what was asked before the end is answered", got)
	}
	if err := <-c.done; err != nil {
		t.Fatal(err)
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	b := blocking{began: make(chan string, 8), let: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	c := converse(t, ctx, b)
	c.send(create("one"))
	<-b.began
	c.send(create("two"))
	c.send(`{"jsonrpc":"2.0","id":99,"method":"ping"}`)
	c.receive()
	cancel()
	b.let <- struct{}{}
	if got := c.receive(); got["id"] != "one" {
		t.Fatalf("answer %v: the call in progress is answered", got)
	}
	select {
	case err := <-c.done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the conversation did not end")
	}
	c.in.Close()
}

func TestStdioRefusesLongLines(t *testing.T) {
	rt := newRuntime(t, nil)
	rt.limit = 1 << 10
	got := talk(t, rt, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("y", 200<<10)+`"}}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if len(got) != 2 || outline(t, got[0])["code"] != codeInvalidRequest || outline(t, got[1])["id"] != 2.0 {
		t.Errorf("answers %.300q", got)
	}
}
