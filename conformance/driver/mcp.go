package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// Revisions of the Model Context Protocol that the drivers speak.
const (
	revisionNew = "2026-07-28"
	revisionOld = "2025-11-25"
)

// rpc carries one JSON-RPC message and gives back the one that answers it, or nil for a notification.
type rpc interface {
	exchange(ctx context.Context, message []byte, method, name string, notification bool) ([]byte, error)
}

// mcpDriver speaks MCP in one revision over some carrier.
type mcpDriver struct {
	protocol Protocol
	end      Endpoint
	carrier  rpc
	revision string
	next     int
	outputs  map[string]*jsonschema.Schema // tool → what the server says it answers with
	trace    func() string
	close    func() error
}

func newMCP(ctx context.Context, p Protocol, e Endpoint) (Driver, error) {
	h := &mcpHTTP{end: e, revision: revisionNew}
	if p == MCP2025 {
		h.revision = revisionOld
	}
	var t *http.Transport
	h.client, h.recorder, t = e.client(false)
	d := &mcpDriver{protocol: p, end: e, carrier: h, revision: h.revision}
	d.trace = func() string { return h.recorder.exchange().String() }
	d.close = func() error { t.CloseIdleConnections(); return nil }
	return d, d.start(ctx)
}

// start greets the server where the revision asks for it, and learns the output schemas.
func (d *mcpDriver) start(ctx context.Context) error {
	if d.revision == revisionOld {
		result, err := d.mustCall(ctx, "initialize", map[string]any{
			"protocolVersion": revisionOld,
			"capabilities":    map[string]any{},
			"clientInfo":      map[string]any{"name": "conformance", "version": "1"},
		})
		if err != nil {
			return err
		}
		if got, _ := value.At(result, "protocolVersion"); got != revisionOld {
			return fmt.Errorf("initialize answered revision %v, want %s", got, revisionOld)
		}
		note := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if _, err := d.carrier.exchange(ctx, note, "notifications/initialized", "", true); err != nil {
			return err
		}
	}
	return d.learn(ctx)
}

// learn asks for the list of tools and compiles their output schemas, as a client that validates does.
func (d *mcpDriver) learn(ctx context.Context) error {
	result, err := d.mustCall(ctx, "tools/list", map[string]any{})
	if err != nil {
		return err
	}
	v, _ := value.At(result, "tools")
	tools, ok := v.([]any)
	if !ok {
		return fmt.Errorf("tools/list answered %s", value.Shorten(result))
	}
	// Every connection gets the same list, and looking at it takes longer than most scenarios.
	list := string(value.Encode(v))
	learned.Lock()
	defer learned.Unlock()
	if d.outputs = learned.lists[list]; d.outputs != nil {
		return nil
	}
	if err := d.end.Contract.CheckTools(v); err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	d.outputs = map[string]*jsonschema.Schema{}
	for _, tool := range tools {
		name, _ := value.At(tool, "name")
		schema, ok := value.At(tool, "outputSchema")
		if !ok {
			continue
		}
		if kind, _ := value.At(schema, "type"); kind != "object" {
			return fmt.Errorf("the output schema of %v has no root type object", name)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.Encode(schema)))
		if err != nil {
			return err
		}
		compiler := jsonschema.NewCompiler()
		url := fmt.Sprintf("mem:///tools/%v", name)
		if err := compiler.AddResource(url, doc); err != nil {
			return err
		}
		compiled, err := compiler.Compile(url)
		if err != nil {
			return fmt.Errorf("the output schema of %v: %w", name, err)
		}
		d.outputs[fmt.Sprint(name)] = compiled
	}
	if len(learned.lists) < 8 {
		learned.lists[list] = d.outputs
	}
	return nil
}

// learned holds the output schemas of lists of tools that were found good.
var learned = struct {
	sync.Mutex
	lists map[string]map[string]*jsonschema.Schema
}{lists: map[string]map[string]*jsonschema.Schema{}}

// request writes a JSON-RPC request with the members of params and, in place of member raw, bytes as they are.
func (d *mcpDriver) request(method string, params map[string]any, raw []byte) (id string, message []byte) {
	d.next++
	id = strconv.Itoa(d.next)
	if d.revision == revisionNew {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    revisionNew,
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "conformance", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	body := value.Encode(params)
	if raw != nil {
		body = body[:len(body)-1]
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(append(append(body, `"arguments":`...), raw...), '}')
	}
	message = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, body)
	return id, message
}

// mustCall makes a call whose failure means that the protocol cannot be spoken at all.
func (d *mcpDriver) mustCall(ctx context.Context, method string, params map[string]any) (any, error) {
	id, message := d.request(method, params, nil)
	data, err := d.carrier.exchange(ctx, message, method, "", false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	a := &Answer{}
	result := d.response(a, id, data)
	if a.Fault != nil || len(a.Breaches) > 0 {
		return nil, fmt.Errorf("%s: %v %v", method, a.Fault, a.Breaches)
	}
	return result, nil
}

func (d *mcpDriver) Call(ctx context.Context, op *contract.Operation, args any) (*Answer, error) {
	return d.Send(ctx, op, value.Encode(args))
}

func (d *mcpDriver) Send(ctx context.Context, op *contract.Operation, raw []byte) (*Answer, error) {
	id, message := d.request("tools/call", map[string]any{"name": op.Tool}, raw)
	data, err := d.carrier.exchange(ctx, message, "tools/call", op.Tool, false)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	result := d.response(a, id, data)
	if a.Fault != nil {
		return a, nil
	}
	d.toolResult(a, op, result)
	return a, nil
}

// response checks a JSON-RPC response and gives its result; a JSON-RPC error becomes the answer's fault.
func (d *mcpDriver) response(a *Answer, id string, data []byte) any {
	v, err := value.Decode(data)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		a.breach("the answer is no JSON object: %v: %s", err, clip(data))
		a.Fault = &Fault{Message: "not JSON"}
		return nil
	}
	if object["jsonrpc"] != "2.0" {
		a.breach("jsonrpc is %v", object["jsonrpc"])
	}
	for _, name := range value.Keys(object) {
		switch name {
		case "jsonrpc", "id", "result", "error":
		default:
			a.breach("the JSON-RPC answer has the member %q", name)
		}
	}
	_, hasResult := object["result"]
	failure, hasError := object["error"].(map[string]any)
	if hasResult == hasError {
		a.breach("a JSON-RPC answer has either result or error: %s", value.Shorten(v))
	}
	if hasError {
		code, err := strconv.Atoi(string(asNumber(failure["code"])))
		message, ok := failure["message"].(string)
		if err != nil || !ok {
			a.breach("a JSON-RPC error has a code and a message: %s", value.Shorten(failure))
		}
		// A message that could not be parsed has no id to answer.
		if got := object["id"]; got != nil && got != any(value.Number(id)) {
			a.breach("the error answers id %s, want %s", value.Shorten(got), id)
		}
		a.Fault = &Fault{Code: code, Message: message}
		return nil
	}
	if object["id"] != any(value.Number(id)) {
		a.breach("the result answers id %s, want %s", value.Shorten(object["id"]), id)
	}
	result, ok := object["result"].(map[string]any)
	if !ok {
		a.breach("the result is no object: %s", value.Shorten(object["result"]))
		return map[string]any{}
	}
	if kind, present := result["resultType"]; d.revision == revisionNew && kind != "complete" {
		a.breach("resultType is %v, want complete", kind)
	} else if d.revision == revisionOld && present {
		a.breach("resultType does not exist in revision %s", revisionOld)
	}
	return result
}

func asNumber(v any) value.Number {
	n, _ := v.(value.Number)
	return n
}

// toolResult checks the result of tools/call: structured content, the same JSON as text, isError on errors alone.
func (d *mcpDriver) toolResult(a *Answer, op *contract.Operation, v any) {
	result, _ := v.(map[string]any)
	for _, name := range value.Keys(result) {
		switch name {
		case "content", "structuredContent", "isError", "resultType", "_meta":
		default:
			a.breach("the tool result has the member %q", name)
		}
	}
	structured, ok := result["structuredContent"].(map[string]any)
	if !ok {
		a.breach("structuredContent is no object: %s", value.Shorten(v))
		a.Refusal = &Refusal{}
		return
	}
	content, _ := result["content"].([]any)
	if len(content) != 1 {
		a.breach("content has %d parts, want one text", len(content))
	} else {
		kind, _ := value.At(content[0], "type")
		text, _ := value.At(content[0], "text")
		s, _ := text.(string)
		same, err := value.Decode([]byte(s))
		if kind != "text" || err != nil || !value.Equal(same, structured) {
			a.breach("the text is not the structured content: %s", value.Shorten(content[0]))
		} else if compact := jsontext.Value(s).Clone(); compact.Compact() != nil || string(compact) != s {
			a.breach("the text is not compact: an agent pays for every blank: %s", value.Shorten(content[0]))
		}
	}
	if schema := d.outputs[op.Tool]; schema == nil {
		a.breach("tools/list gives %s no output schema", op.Tool)
	} else if doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.Encode(structured))); err != nil {
		a.breach("%v", err)
	} else if err := schema.Validate(doc); err != nil {
		a.breach("the structured content does not fit the tool's output schema: %v", err)
	}
	isError, present := result["isError"]
	failed := structured["status"] == "error"
	switch {
	case failed && isError != true:
		a.breach("an error without isError true")
	case !failed && present:
		a.breach("isError %v on a success", isError)
	}
	if failed {
		a.refusal(d.end.Contract, op.Area, structured)
		return
	}
	a.result(op, structured)
}

func (d *mcpDriver) Trace() string { return d.trace() }
func (d *mcpDriver) Close() error  { return d.close() }

// mcpHTTP carries JSON-RPC messages as requests of streamable HTTP, without a session.
type mcpHTTP struct {
	end      Endpoint
	client   *http.Client
	recorder *recorder
	revision string
	session  string
}

func (h *mcpHTTP) exchange(ctx context.Context, message []byte, method, name string, notification bool) ([]byte, error) {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		header.Set("Mcp-Protocol-Version", h.revision)
	}
	if h.session != "" {
		header.Set("Mcp-Session-Id", h.session)
	}
	if h.revision == revisionNew {
		header.Set("Mcp-Method", method)
		if name != "" {
			header.Set("Mcp-Name", name)
		}
	}
	resp, data, err := post(ctx, h.client, http.MethodPost, h.end.URL+"/mcp/workbench", header, message)
	if err != nil {
		return nil, err
	}
	if method == "initialize" {
		h.session = resp.Header.Get("Mcp-Session-Id")
	}
	if notification {
		if resp.StatusCode != http.StatusAccepted || len(data) > 0 {
			return nil, fmt.Errorf("a notification was answered %d with %d bytes, want 202 and none", resp.StatusCode, len(data))
		}
		return nil, nil
	}
	media := resp.Header.Get("Content-Type")
	if strings.HasPrefix(media, "text/event-stream") {
		return LastEvent(data)
	}
	if !strings.HasPrefix(media, "application/json") {
		return nil, fmt.Errorf("the answer %d is %q and neither JSON nor an event stream: %s", resp.StatusCode, media, clip(data))
	}
	return data, nil
}

// LastEvent gives the data of the last event of a stream, which is the response; what comes before it are
// notifications.
func LastEvent(stream []byte) ([]byte, error) {
	var last, current []byte
	for line := range bytes.Lines(stream) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if current != nil {
				last, current = current, nil
			}
			continue
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if current != nil {
				current = append(current, '\n')
			}
			current = append(current, bytes.TrimPrefix(data, []byte(" "))...)
		}
	}
	if current != nil {
		last = current
	}
	if !json.Valid(last) {
		return nil, errors.New("the event stream ended without a response")
	}
	return last, nil
}
