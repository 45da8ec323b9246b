package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// shortPath answers plain tools/call and tools/list itself. All that it writes besides the answer is made at the start.
type shortPath struct {
	rt     *Runtime
	metas  metaCache
	legacy []string // revisions before 2026-07-28, as a header may name them
	list   [2][]byte
	// head of a result on either wire, after the id
	head [2][]byte
	tail [2][]byte
	// errorTail marks a tool's failure
	errorTail [2][]byte
	meta      []byte // _meta of a 2026-07-28 result
}

// wire is a family of revisions with one form of results.
type wire int

const (
	wireLegacy wire = iota
	wireModern
)

func newShortPath(rt *Runtime) (*shortPath, error) {
	s := &shortPath{rt: rt}
	for _, v := range sdk.SupportedProtocolVersions() {
		if v < version20260728 {
			s.legacy = append(s.legacy, v)
		}
	}
	for w, version := range []string{wireLegacy: "2025-11-25", wireModern: version20260728} {
		list, err := rt.listResult(version)
		if err != nil {
			return nil, err
		}
		s.list[w] = append(append([]byte(`,"result":`), list...), '}')
	}
	info, err := json.Marshal(rt.impl)
	if err != nil {
		return nil, err
	}
	s.meta = append(append([]byte(`{"`+sdk.MetaKeyServerInfo+`":`), info...), '}')
	s.head[wireLegacy] = []byte(`,"result":{"content":[{"type":"text","text":"`)
	s.head[wireModern] = append(append([]byte(`,"result":{"_meta":`), s.meta...), `,"content":[{"type":"text","text":"`...)
	s.tail[wireLegacy] = []byte(`}}`)
	s.tail[wireModern] = []byte(`,"resultType":"complete"}}`)
	s.errorTail[wireLegacy] = []byte(`,"isError":true}}`)
	s.errorTail[wireModern] = []byte(`,"isError":true,"resultType":"complete"}}`)
	return s, nil
}

// serve answers m if it is one of the plain requests, and reports whether it did. Nothing has been written when it
// did not.
func (s *shortPath) serve(w http.ResponseWriter, r *http.Request, m *message) bool {
	if m.batch || m.response || m.odd || m.method == nil || !m.called() {
		return false
	}
	var calls bool
	switch string(m.method) {
	case methodCall:
		calls = true
	case methodList:
	default:
		return false
	}
	p := &m.params
	if p.odd || p.hasCursor || len(r.Header["Last-Event-Id"]) > 0 || s.rt.stateful != nil && len(r.Header["Mcp-Session-Id"]) > 0 {
		return false
	}
	verdict := s.metas.judge(p.meta)
	family, ok := s.wireOf(r, verdict)
	if !ok {
		return false
	}
	if !calls {
		if p.kind != 0 && p.kind != '{' || p.hasName || p.args != nil || family == wireModern && !headerIs(r, "Mcp-Method", m.method) {
			return false
		}
		s.write(w, m.id, s.list[family])
		return true
	}
	if p.kind != '{' || len(p.name) == 0 {
		return false
	}
	if family == wireModern && (!headerIs(r, "Mcp-Method", m.method) || !headerIs(r, "Mcp-Name", p.name)) {
		return false
	}
	tool := s.rt.toolFor(p.name)
	if tool == nil && s.rt.profile.Pipeline == nil || tool != nil && s.rt.profile.NeedsSession != nil && s.rt.profile.NeedsSession(tool) {
		return false
	}
	ctx := under(r.Context(), verdict.parent)
	if family == wireLegacy {
		// Older revisions do not take a lost connection for a cancelled call.
		ctx = context.WithoutCancel(ctx)
	}
	var id string
	if ids := w.Header()["X-Request-Id"]; len(ids) > 0 {
		id = ids[0]
	}
	if tool != nil && tool.Op == nil {
		s.custom(ctx, w, m, tool, family)
		return true
	}
	var caller call.Caller
	if s.rt.profile.Pipeline != nil {
		caller = s.rt.profile.Pipeline.Via(call.MCP, id)
	}
	work := buffers.Get().(*pair)
	a := s.rt.run(ctx, caller, tool, p.name, p.args, work.structured[:0])
	work.structured = a.json
	work.whole = s.append(work.whole[:0], m.id, a, family)
	s.send(w, http.StatusOK, work.whole)
	work.recycle()
	return true
}

// append renders the JSON-RPC response of a tool's answer.
func (s *shortPath) append(dst, id []byte, a answer, family wire) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = append(dst, s.head[family]...)
	dst = appendQuoted(dst, a.json)
	dst = append(append(dst, `"}],"structuredContent":`...), a.json...)
	if a.isError {
		return append(dst, s.errorTail[family]...)
	}
	return append(dst, s.tail[family]...)
}

// wireOf tells which wire a request is on, if it is one that the SDK would serve without a word.
func (s *shortPath) wireOf(r *http.Request, verdict metaVerdict) (wire, bool) {
	if !verdict.usable {
		return 0, false
	}
	lines := r.Header["Mcp-Protocol-Version"]
	switch {
	case len(lines) == 0:
		return wireLegacy, verdict.version == ""
	case len(lines) > 1:
		return 0, false
	case lines[0] == version20260728:
		return wireModern, verdict.version == version20260728
	}
	return wireLegacy, verdict.version == "" && slices.Contains(s.legacy, lines[0])
}

func headerIs(r *http.Request, name string, want []byte) bool {
	lines := r.Header[name]
	return len(lines) == 1 && lines[0] == string(want)
}

func (s *shortPath) write(w http.ResponseWriter, id, rest []byte) {
	work := buffers.Get().(*pair)
	work.whole = append(append(append(work.whole[:0], `{"jsonrpc":"2.0","id":`...), id...), rest...)
	s.send(w, http.StatusOK, work.whole)
	work.recycle()
}

func (s *shortPath) send(w http.ResponseWriter, status int, data []byte) {
	header := w.Header()
	header["Content-Type"] = typeJSON
	header["Cache-Control"] = noCache
	header["Content-Length"] = []string{strconv.Itoa(len(data))}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, _ = w.Write(data) // the only error is a client that left
}

// custom runs a tool without an operation.
func (s *shortPath) custom(ctx context.Context, w http.ResponseWriter, m *message, tool *mcp.Tool, family wire) {
	args := m.params.args
	if args != nil {
		args = slices.Clone(args) // the tool may keep them; the body's memory goes back
	}
	res, err := s.rt.profile.Call(ctx, tool, args, nil)
	var data []byte
	if err == nil {
		data, err = s.render(res, family)
	}
	if err != nil {
		status, code := http.StatusOK, 0
		var data json.RawMessage
		var rpc *jsonrpc.Error
		if errors.As(err, &rpc) {
			code = int(rpc.Code)
			if err == error(rpc) {
				data = rpc.Data
			}
		}
		if family == wireModern {
			switch code {
			case jsonrpc.CodeMethodNotFound:
				status = http.StatusNotFound
			case jsonrpc.CodeInvalidParams, sdk.CodeUnsupportedProtocolVersion, sdk.CodeMissingRequiredClientCapabilities:
				status = http.StatusBadRequest
			}
		}
		writeErrorData(w, status, m.id, code, err.Error(), data)
		return
	}
	s.write(w, m.id, append(append([]byte(`,"result":`), data...), '}'))
}

// render is the SDK's rendering of a result, with what its session would have added on the modern wire.
func (s *shortPath) render(res *sdk.CallToolResult, family wire) ([]byte, error) {
	out := *res
	if out.Content == nil {
		out.Content = []sdk.Content{}
	}
	data, err := json.Marshal(&out)
	if err != nil || family == wireLegacy {
		return data, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	members["resultType"] = json.RawMessage(`"complete"`)
	if meta, ok := members["_meta"]; ok {
		var own map[string]json.RawMessage
		if err := json.Unmarshal(meta, &own); err != nil {
			return nil, err
		}
		var add map[string]json.RawMessage
		if err := json.Unmarshal(s.meta, &add); err != nil {
			return nil, err
		}
		for k, v := range add {
			if _, has := own[k]; !has {
				own[k] = v
			}
		}
		if meta, err = json.Marshal(own); err != nil {
			return nil, err
		}
		members["_meta"] = meta
	} else {
		members["_meta"] = s.meta
	}
	return json.Marshal(members)
}

// pair is the memory of one answer.
type pair struct{ structured, whole []byte }

var buffers = sync.Pool{New: func() any { return &pair{make([]byte, 0, 2<<10), make([]byte, 0, 6<<10)} }}

func (p *pair) recycle() {
	if cap(p.structured)+cap(p.whole) <= 2<<20 {
		buffers.Put(p)
	}
}
