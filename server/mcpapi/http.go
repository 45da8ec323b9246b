package mcpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	bindmcp "github.com/sawhorse-dev/sawhorse/gen/bind/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

const (
	version20260728 = "2026-07-28"

	methodCall = "tools/call"
	methodList = "tools/list"
)

// Runtime serves one profile. It is safe for concurrent use.
type Runtime struct {
	profile   Profile
	tools     *bindmcp.Profile
	impl      *sdk.Implementation
	budget    *body.Budget
	limit     int64
	log       *slog.Logger
	stateless *sdk.StreamableHTTPHandler
	stateful  *sdk.StreamableHTTPHandler // nil unless the profile asks for it
	short     *shortPath                 // nil when it is switched off
	draining  context.Context
}

// New makes a runtime, or refuses a profile that is not whole.
func New(p Profile, o Options) (*Runtime, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	rt := &Runtime{profile: p, tools: bindmcp.NewProfile(p.Tools), budget: o.Budget, limit: o.MaxMessageBytes, log: o.Logger, draining: o.Draining,
		impl: &sdk.Implementation{Name: p.Name, Title: p.Title, Version: p.Version}}
	if rt.budget == nil {
		rt.budget = body.NewBudget(0)
	}
	if rt.limit == 0 {
		rt.limit = op.LimitMaxCallBodyBytes
	}
	if rt.log == nil {
		rt.log = slog.New(slog.DiscardHandler)
	}
	if rt.draining == nil {
		rt.draining = context.Background()
	}
	server := rt.newServer(call.MCP)
	get := func(*http.Request) *sdk.Server { return server }
	rt.stateless = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: !p.Stateful, MaxRequestBodyBytes: rt.limit, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // Host and Origin are checked in front of every protocol
	})
	if p.Stateful {
		rt.stateful = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			MaxRequestBodyBytes: rt.limit, EventStore: sdk.NewMemoryEventStore(nil), SessionTimeout: 10 * time.Minute,
			DisableLocalhostProtection: true,
		})
	}
	if !p.DisableFastPath {
		short, err := newShortPath(rt)
		if err != nil {
			return nil, err
		}
		rt.short = short
	}
	return rt, nil
}

// now is the time of envelopes that carry one; none of the Workbench's does.
func (rt *Runtime) now() time.Time { return time.Time{} }

// ServeHTTP answers one request of streamable HTTP.
func (rt *Runtime) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !jsonContent(r) || !acceptsBoth(r) {
		if rt.profile.Pipeline != nil {
			said := &worded{ResponseWriter: w, id: []byte("null")}
			defer said.end()
			w = said
		}
		rt.sdkFor(r, nil).ServeHTTP(w, r)
		return
	}
	if enc := r.Header["Content-Encoding"]; len(enc) > 0 && !strings.EqualFold(enc[0], "identity") {
		refuseBody(w, fault.New(op.ReasonUnsupportedMediaType, "Send the message without a content encoding."))
		return
	}
	buf, err := rt.budget.Read(w, r, rt.limit)
	if err != nil {
		refuseBody(w, err)
		return
	}
	data := buf.Bytes()
	m, serr := scan(data)
	if serr != nil {
		writeError(w, http.StatusBadRequest, m.echo(), serr.code, serr.text)
		buf.Release()
		return
	}
	if m.batch {
		writeError(w, http.StatusBadRequest, m.echo(), codeInvalidRequest, noBatches)
		buf.Release()
		return
	}
	if m.idKind == idNull && m.hasMethod {
		writeError(w, http.StatusBadRequest, m.echo(), codeInvalidRequest, unfitID)
		buf.Release()
		return
	}
	if rt.short != nil && rt.short.serve(w, r, &m) {
		buf.Release()
		return
	}
	version := r.Header.Get("Mcp-Protocol-Version")
	if rt.profile.Pipeline != nil && m.called() && m.method != nil && version < version20260728 && !rt.hasBefore20260728(&m) {
		writeError(w, http.StatusOK, m.echo(), codeMethodNotFound, noMethod)
		buf.Release()
		return
	}
	said := saidOlder
	if version == version20260728 {
		said = saidNewest
	}
	if wrong := misshapen(&m, data, said); wrong != "" {
		status := http.StatusOK
		if version >= version20260728 || !m.called() {
			status = http.StatusBadRequest
		}
		writeError(w, status, m.echo(), codeInvalidParams, wrong)
		buf.Release()
		return
	}
	if rt.profile.Pipeline != nil {
		said := &worded{ResponseWriter: w, id: m.echo()}
		defer said.end()
		w = said
	}
	if ids := w.Header()["X-Request-Id"]; len(ids) > 0 {
		r = r.WithContext(call.WithRequestID(r.Context(), ids[0]))
	}
	// The SDK's goroutines may hold on to the body after it has answered: its memory is not used again, but its share of
	// the budget ends here.
	defer buf.Abandon()
	if endless(w, &m) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(rt.draining, cancel)()
		r = r.WithContext(ctx)
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	rt.sdkFor(r, &m).ServeHTTP(w, r)
}

// sdkFor chooses between the SDK's two handlers.
func (rt *Runtime) sdkFor(r *http.Request, m *message) http.Handler {
	if rt.stateful == nil {
		return rt.stateless
	}
	if r.Header.Get("Mcp-Session-Id") != "" || m != nil && string(m.method) == "initialize" && r.Header.Get("Mcp-Protocol-Version") < version20260728 {
		return rt.stateful
	}
	return rt.stateless
}

// endless recognises a request whose answer is a stream without an end of its own, and lifts its deadlines.
func endless(w http.ResponseWriter, m *message) bool {
	if string(m.method) != methodListen {
		return false
	}
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{}) // connections in memory may have none
	_ = rc.SetReadDeadline(time.Time{})
	return true
}

// jsonContent and acceptsBoth are the cheap half of what the SDK demands of headers: a request that fails them goes to
// the SDK, which words the refusal.
func jsonContent(r *http.Request) bool {
	types := r.Header["Content-Type"]
	return len(types) == 1 && (types[0] == "application/json" || strings.HasPrefix(types[0], "application/json;"))
}

func acceptsBoth(r *http.Request) bool {
	lines := r.Header["Accept"]
	if len(lines) == 1 && (lines[0] == "application/json, text/event-stream" || lines[0] == "*/*") {
		return true
	}
	var json, stream bool
	for _, line := range lines {
		for raw := range strings.SplitSeq(line, ",") {
			base, _, _ := strings.Cut(raw, ";")
			switch strings.ToLower(strings.TrimSpace(base)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				json, stream = true, true
			}
		}
	}
	return json && stream
}

// noBatches says why a batch is refused on every transport: the protocol has given them up, and a small one can ask for
// answers that fill the memory.
const noBatches = "batches are not served; send one message at a time"

// worded turns the SDK's refusals in plain text into JSON-RPC errors: a client of the protocol reads nothing else.
type worded struct {
	http.ResponseWriter
	id     []byte
	status int // of a refusal in plain text; 0 otherwise
	text   []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *worded) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *worded) Write(p []byte) (int, error) {
	if w.status != 0 {
		w.text = append(w.text, p...)
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (w *worded) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, for event streams.
func (w *worded) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // memory has nothing to flush

// end writes the refusal, if there was one.
func (w *worded) end() {
	if w.status != 0 {
		writeError(w.ResponseWriter, w.status, w.id, codeInvalidRequest, strings.TrimSpace(string(w.text)))
	}
}

// Fail answers a request that was refused before its message was read.
func Fail(w http.ResponseWriter, err error) { refuseBody(w, err) }

// refuseBody says that a body could not be read. There is no message yet, and so no id.
func refuseBody(w http.ResponseWriter, err error) {
	e := fault.From(err)
	writeError(w, e.Reason.Face().HTTPStatus, nil, codeInvalidRequest, e.Message)
}

// writeError writes a JSON-RPC error. id is nil when no message was looked at, and null when one could not be read.
func writeError(w http.ResponseWriter, status int, id []byte, code int, text string) {
	writeErrorData(w, status, id, code, text, nil)
}

func writeErrorData(w http.ResponseWriter, status int, id []byte, code int, text string, data json.RawMessage) {
	out := []byte(`{"jsonrpc":"2.0",`)
	if id != nil {
		out = append(append(append(out, `"id":`...), id...), ',')
	}
	out = strconv.AppendInt(append(out, `"error":{"code":`...), int64(code), 10)
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`)
	}
	out = append(append(out, `,"message":`...), quoted...)
	if data != nil {
		out = append(append(out, `,"data":`...), data...)
	}
	out = append(out, "}}"...)
	header := w.Header()
	header["Content-Type"] = typeJSON
	header["Content-Length"] = []string{strconv.Itoa(len(out))}
	w.WriteHeader(status)
	_, _ = w.Write(out) // the only error is a client that left
}

var (
	typeJSON = []string{"application/json"}
	noCache  = []string{"no-cache, no-transform"}
)

// listResult asks the SDK for the result of tools/list on one wire, so that the short path can repeat it.
func (rt *Runtime) listResult(version string) (json.RawMessage, error) {
	params := ""
	if version >= version20260728 {
		params = fmt.Sprintf(`,"params":{"_meta":{%q:%q,%q:{}}}`, sdk.MetaKeyProtocolVersion, version, sdk.MetaKeyClientCapabilities)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"`+params+`}`))
	if err != nil {
		return nil, fmt.Errorf("mcpapi: %w", err)
	}
	r.Header = http.Header{"Content-Type": typeJSON, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {version}, "Mcp-Method": {methodList}}
	rec := &recorder{header: http.Header{}}
	sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return rt.newServer(call.MCP) },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true}).ServeHTTP(rec, r)
	var reply struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(rec.body.Bytes(), &reply); err != nil || reply.Result == nil {
		return nil, fmt.Errorf("mcpapi: the list of tools is not to be had: %w", errors.Join(err, errors.New(rec.body.String())))
	}
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(reply.Result, &list); err != nil {
		return nil, fmt.Errorf("mcpapi: the list of tools: %w", err)
	}
	for i, t := range list.Tools {
		if i < len(rt.profile.Tools) && t.Name != rt.profile.Tools[i].Name {
			return nil, fmt.Errorf("mcpapi: tool %q is listed where %q should be", t.Name, rt.profile.Tools[i].Name)
		}
	}
	if len(list.Tools) < len(rt.profile.Tools) {
		return nil, fmt.Errorf("mcpapi: %d of %d tools are listed", len(list.Tools), len(rt.profile.Tools))
	}
	return reply.Result, nil
}

// recorder is a response in memory.
type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *recorder) WriteHeader(int)             {}

// toolFor finds a tool; nil when there is none.
func (rt *Runtime) toolFor(name []byte) *mcp.Tool { return rt.tools.Tool(string(name)) }
