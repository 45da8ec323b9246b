package driver

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
	"github.com/sawhorse-dev/sawhorse/spec"
)

func decode(t *testing.T, s string) any {
	t.Helper()
	v, err := value.Decode([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func operation(t *testing.T, id string) *contract.Operation {
	t.Helper()
	c, err := contract.Load(spec.FS)
	if err != nil {
		t.Fatal(err)
	}
	op, ok := c.Operation(id)
	if !ok {
		t.Fatalf("no operation %s", id)
	}
	return op
}

// The golden frames of the clients in the field, and what a server must not write.
func TestMessagePack(t *testing.T) {
	const request = `{"command":"get_capabilities","data":{},"request_id":"r"}`
	frame := EncodeMsgpack(decode(t, request))
	if !strings.HasPrefix(string(frame), "\xde\x00\x03\xa7command\xb0get_capabilities") {
		t.Errorf("%x", frame)
	}
	back, err := DecodeMsgpack(frame)
	if err != nil || string(value.Encode(back)) != request {
		t.Errorf("%s, %v", value.Encode(back), err)
	}
	for hex, want := range map[string]string{
		"\x01":                                 "1",
		"\xff":                                 "-1",
		"\xcd\x04\x00":                         "1024",
		"\xce\xff\xff\xff\xff":                 "4294967295",
		"\xd2\x80\x00\x00\x00":                 "-2147483648",
		"\xcb\x41\xf4\x00\x00\x00\x00\x00\x00": "5368709120",
		"\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00": "0.5",
		"\x92\xc0\xc3":                         "[null,true]",
		"\xd9\x02ab":                           `"ab"`,
		"\xde\x00\x01\xa1a\x90":                `{"a":[]}`,
	} {
		v, err := DecodeMsgpack([]byte(hex))
		if err != nil || string(value.Encode(v)) != want {
			t.Errorf("%x: %s, %v, want %s", hex, value.Encode(v), err, want)
		}
	}
	for _, bad := range []string{
		"", "\xcf\x00\x00\x00\x00\x00\x00\x00\x05", "\xd3\x00\x00\x00\x00\x00\x00\x00\x05", "\x81\xa1a\x01", "\xdf\x00\x00\x00\x00",
		"\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00", "\xc7\x01\x01\x01", "\xc4\x01a", "\xa1\xff", "\xde\x00\x02\xa1a\x01\xa1a\x01", "\x01\x01",
		"\xdd\x7f\xff\xff\xff", "\xde\x00\x01\x01\x01", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "\xa5ab",
	} {
		if v, err := DecodeMsgpack([]byte(bad)); err == nil {
			t.Errorf("%x is accepted as %s", bad, value.Encode(v))
		}
	}
}

func TestLastEventSkipsNotifications(t *testing.T) {
	got, err := LastEvent([]byte("event: message\ndata: {\"method\":\"n\"}\n\nid: 7\ndata: {\"id\":1,\ndata: \"result\":{}}\n\n"))
	if err != nil || string(got) != "{\"id\":1,\n\"result\":{}}" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := LastEvent([]byte(": ping\n\n")); err == nil {
		t.Error("a stream without a response is accepted")
	}
}

func TestValuesCrossTheProtobufMapping(t *testing.T) {
	for _, c := range []struct{ op, args, want string }{
		{"workbench.list", `{"id":"a","limit":5,"section":null,"at_snapshot":7}`, `{"at_snapshot":7,"id":"a","limit":5}`},
		{"workbench.list", `{"id":"a","at_snapshot":"name"}`, `{"at_snapshot":"name","id":"a"}`},
		{"workbench.read", `{"id":"a","section":"logs","path":"p","if_none_match":9007199254740991}`, `{"id":"a","if_none_match":9007199254740991,"path":"p","section":"logs"}`},
		{"workbench.commit", `{"id":"a","content_digest_uri":"d","manifest":{"n":9007199254740993,"x":1e-7}}`, `{"content_digest_uri":"d","id":"a","manifest":{"n":9007199254740993,"x":1e-7}}`},
	} {
		m, err := method(operation(t, c.op))
		if err != nil {
			t.Fatal(err)
		}
		msg, err := say(decode(t, c.args), m.Input())
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		wire, err := proto.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		heard, err := newMessage(m.Input())
		if err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(wire, heard); err != nil {
			t.Fatal(err)
		}
		v, err := hear(heard)
		if err != nil || string(value.Encode(v)) != c.want {
			t.Errorf("%s became %s, %v, want %s", c.args, value.Encode(v), err, c.want)
		}
	}
}

// D4: a value is only given up when what the encoding says in its place is good.
func TestWhatAnEncodingCannotSayIsGivenUp(t *testing.T) {
	d := newConnect(GRPC, Endpoint{URL: "http://gateway", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("sent")
	}})
	for _, c := range []struct {
		op, args string
		says     bool
	}{
		{"workbench.list", `{"id":"a","limit":101}`, true},
		{"workbench.list", `{"id":"a","limit":null}`, false},
		{"workbench.list", `{"id":"a","limit":"5"}`, false},
		{"workbench.list", `{"id":"a","limit":"many"}`, false},
		{"workbench.list", `{"id":"a","more":1}`, false},
		{"workbench.list", `{"limit":5}`, false},
		{"workbench.put_file", `{"id":"a","path":"p","text":"x"}`, true},
		{"workbench.edit", `{"id":"a","section":"logs","path":"p","old_string":"x"}`, true},
	} {
		_, err := d.Call(context.Background(), operation(t, c.op), decode(t, c.args))
		if errors.Is(err, ErrInexpressible) == c.says {
			t.Errorf("%s %s: %v, want it said: %v", c.op, c.args, err, c.says)
		}
	}
}

func TestLiftReportsDeparturesFromTheMapping(t *testing.T) {
	m, err := method(operation(t, "workbench.create"))
	if err != nil {
		t.Fatal(err)
	}
	put, err := method(operation(t, "workbench.append"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, want string
		append     bool
	}{
		{`{"status":"success","workbench_id":"a","path":"p","sections":[]}`, "", false},
		{`{"status":"success","workbenchId":"a","path":"p","sections":[]}`, `no member "workbenchId"`, false},
		{`{"status":"success","workbench_id":"a","path":"p"}`, "sections is left out", false},
		{`{"status":"success","workbench_id":"a","section":"logs","relative_path":"p","path":"q","appended_bytes":"1","size_bytes":1,"generation":"1","created":false,"digest":"d"}`, "size_bytes is a 64-bit integer", true},
		{`[]`, "no object", false},
	} {
		d := m.Output()
		if c.append {
			d = put.Output()
		}
		var breaches []string
		lift(decode(t, c.text), d, "$", func(format string, args ...any) {
			breaches = append(breaches, strings.TrimSpace(strings.ReplaceAll(format, "%", "")+" "+sprint(args)))
		})
		got := strings.Join(breaches, "; ")
		if (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

func sprint(args []any) string {
	var b strings.Builder
	for _, a := range args {
		if s, ok := a.(string); ok {
			b.WriteString(s + " ")
		}
	}
	return b.String()
}

// pipe is a conversation whose other side is a script: each line that is written is answered by the next one.
type pipe struct {
	io.Reader
	io.Writer
	io.Closer
}

func stdioWith(t *testing.T, answers ...string) (Driver, error) {
	t.Helper()
	c, err := contract.Load(spec.FS)
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	t.Cleanup(func() { server.Close() })
	go func() {
		lines := NewLines(pipe{server, io.Discard, server})
		for _, answer := range answers {
			if _, err := lines.Read(context.Background()); err != nil {
				return
			}
			if answer == "" {
				continue
			}
			if _, err := io.WriteString(server, answer+"\n"); err != nil {
				return
			}
		}
	}()
	return Open(context.Background(), MCPStdio, Endpoint{Contract: c, Stdio: func(context.Context) (io.ReadWriteCloser, error) {
		return client, nil
	}})
}

const (
	greeting = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{}}}`
	created  = `{"path":"/w/a","sections":["input","scripts","outputs","logs","metadata"],"status":"success","workbench_id":"a"}`
)

// D3: what MCP does not allow is a breach, whatever the result says.
func TestMCPResultsAreHeldAgainstTheProtocol(t *testing.T) {
	listed := toolsListed(t)
	quoted := string(value.Encode(created))
	for name, c := range map[string]struct{ answer, want string }{
		"good":                {`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":` + created + `}}`, ""},
		"another id":          {`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":` + created + `}}`, "answers id 4"},
		"isError false":       {`{"jsonrpc":"2.0","id":3,"result":{"isError":false,"content":[{"type":"text","text":` + quoted + `}],"structuredContent":` + created + `}}`, "isError"},
		"text of another":     {`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":` + created + `}}`, "the text is not the structured content"},
		"indented text":       {`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":` + strings.Replace(quoted, ",", ", ", 1) + `}],"structuredContent":` + created + `}}`, "not compact"},
		"no text":             {`{"jsonrpc":"2.0","id":3,"result":{"content":[],"structuredContent":` + created + `}}`, "content has 0 parts"},
		"no structure":        {`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":` + quoted + `}]}}`, "structuredContent"},
		"type of a new rev":   {`{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[{"type":"text","text":` + quoted + `}],"structuredContent":` + created + `}}`, "resultType"},
		"no version":          {`{"id":3,"result":{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":` + created + `}}`, "jsonrpc is"},
		"member of its own":   {`{"jsonrpc":"2.0","id":3,"more":1,"result":{"content":[{"type":"text","text":` + quoted + `}],"structuredContent":` + created + `}}`, `member "more"`},
		"result out of shape": {`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"status\":\"success\"}"}],"structuredContent":{"status":"success"}}}`, "does not fit"},
		"error unmarked":      {`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"status\":\"error\",\"code\":\"c\",\"message\":\"m\",\"retryable\":false,\"details\":{}}"}],"structuredContent":{"status":"error","code":"c","message":"m","retryable":false,"details":{}}}}`, "without isError true"},
	} {
		d, err := stdioWith(t, greeting, "", `{"jsonrpc":"2.0","id":2,"result":{"tools":`+listed+`}}`, c.answer)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, err := d.Call(context.Background(), operation(t, "workbench.create"), decode(t, `{"id":"a"}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := strings.Join(a.Breaches, "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: breaches %q, want %q", name, got, c.want)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// toolsListed is the answer of a server that lists what the contract freezes.
func toolsListed(t *testing.T) string {
	t.Helper()
	data, err := spec.FS.ReadFile("workbench/tools.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := value.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	list := all.(map[string]any)["tools"].([]any)
	for _, tool := range list {
		object := tool.(map[string]any)
		object["outputSchema"] = map[string]any{"type": "object", "required": []any{"status"}}
	}
	return string(value.Encode(list))
}

func TestAServerWithoutItsToolsIsNotOpened(t *testing.T) {
	for name, tools := range map[string]string{
		"none":          `[]`,
		"seventeen":     strings.Replace(toolsListed(t), `"name":"workbench_stat"`, `"name":"workbench_state"`, 1),
		"loosened":      strings.Replace(toolsListed(t), `"maximum":100`, `"maximum":1000`, 1),
		"extra keyword": strings.Replace(toolsListed(t), `"additionalProperties":false`, `"additionalProperties":true`, 1),
	} {
		d, err := stdioWith(t, greeting, "", `{"jsonrpc":"2.0","id":2,"result":{"tools":`+tools+`}}`)
		if err == nil {
			t.Errorf("%s: a server is opened that does not have the frozen tools", name)
			_ = d.Close()
		}
	}
}
