package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/scenario"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// wire runs the steps that speak raw protocol.
func (p *play) wire(ctx context.Context, step *scenario.Step) error {
	switch step.Kind {
	case scenario.Open:
		return p.open(ctx, step)
	case scenario.Close:
		err := p.raw.end(ctx, step.Message.Code)
		p.raw = nil
		return err
	case scenario.Recv:
		return p.receive(ctx, step)
	}
	if p.raw != nil {
		body, err := messageBytes(step.Message, p.env)
		if err != nil {
			return err
		}
		if err := p.raw.send(ctx, step.Message, body); err != nil {
			return fmt.Errorf("cannot send: %w", err)
		}
		return p.receive(ctx, step)
	}
	return p.request(ctx, step)
}

// request runs one raw HTTP exchange.
func (p *play) request(ctx context.Context, step *scenario.Step) error {
	x, err := exchange(ctx, p.end, driver.Protocol(step.Protocol), step.Message, p.env)
	if step.Message.Cut {
		if err == nil {
			return fmt.Errorf("a request that was cut got the answer %d", x.status)
		}
		return nil
	}
	if err != nil {
		return err
	}
	x.unprefix(p.lease.prefix)
	var failures []string
	if step.Expect.Outcome == scenario.Error {
		failures = p.judgeRaw(step, x)
	} else {
		failures, err = x.judge(step.Expect.Reply, p.env)
		if err != nil {
			return err
		}
	}
	for _, f := range failures {
		p.result.fail("step %d (%s:%d): %s", step.N, p.scenario.File, step.Line, f)
	}
	if len(failures) > 0 {
		p.result.Trace = x.String()
		return errStop
	}
	return p.save(step, x.saveable())
}

// judgeRaw compares a raw HTTP answer with a reason of the registry.
func (p *play) judgeRaw(step *scenario.Step, x *rawExchange) []string {
	pattern, err := value.Resolve(step.Expect.Pattern, p.env)
	if err != nil {
		return []string{err.Error()}
	}
	details, _ := pattern.(map[string]any)
	return x.judgeReason(p.runner.options.Library, step.Expect.Reason, details, step.Expect.Names)
}

// rawExchange is a raw HTTP request with its answer.
type rawExchange struct {
	method, path string
	status       int
	header       http.Header
	body         []byte
}

func (x *rawExchange) String() string {
	body := x.body
	if len(body) > 2000 {
		body = body[:2000]
	}
	return fmt.Sprintf("> %s %s\n< %d %v\n< %q\n", x.method, x.path, x.status, x.header, body)
}

func (x *rawExchange) unprefix(prefix string) {
	if prefix == "" {
		return
	}
	x.body = bytes.ReplaceAll(x.body, []byte(prefix), nil)
	for _, values := range x.header {
		for i := range values {
			values[i] = strings.ReplaceAll(values[i], prefix, "")
		}
	}
}

func (x *rawExchange) saveable() any {
	header := map[string]any{}
	for name := range x.header {
		header[strings.ToLower(name)] = x.header.Get(name)
	}
	out := map[string]any{"status": value.Number(fmt.Sprint(x.status)), "header": header}
	if v, err := value.Decode(x.body); err == nil {
		out["body"] = v
	}
	return out
}

// errCut ends a body before its declared length.
var errCut = errors.New("the body is cut here")

// exchange sends a raw HTTP request, its path byte for byte.
func exchange(ctx context.Context, end driver.Endpoint, protocol driver.Protocol, m *scenario.Message, env value.Env) (*rawExchange, error) {
	path, err := m.Path.Text(env)
	if err != nil {
		return nil, err
	}
	body, err := messageBytes(m, env)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(end.URL)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{
		Method: m.Method,
		// An opaque URL goes out as it is written, dot segments and escapes included.
		URL:    &url.URL{Scheme: base.Scheme, Host: base.Host, Opaque: path},
		Host:   base.Host,
		Header: http.Header{},
	}).WithContext(ctx)
	for _, h := range m.Headers {
		t, _ := h.Value.(*value.Template)
		text, err := t.Text(env)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(h.Name, "Host") {
			req.Host = text
			continue
		}
		req.Header.Add(h.Name, text)
	}
	answered := make(chan struct{})
	defer close(answered)
	switch {
	case m.Declare > 0:
		req.ContentLength = m.Declare
		req.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
			select {
			case <-answered:
			case <-ctx.Done():
			}
			return 0, errCut
		}))
	case m.Cut:
		req.ContentLength = int64(len(body)) + 10
		req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), readerFunc(func([]byte) (int, error) { return 0, errCut })))
	case m.Kind != scenario.BodyNone:
		req.ContentLength = int64(len(body))
		if m.Chunked {
			req.ContentLength = -1
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	transport := end.Transport(protocol == driver.GRPC)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x := &rawExchange{method: m.Method, path: path, status: resp.StatusCode, header: resp.Header}
	x.body, err = io.ReadAll(resp.Body)
	// Trailers stand beside the headers, under their own names.
	for name, values := range resp.Trailer {
		x.header[name] = values
	}
	return x, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// messageBytes is what a message sends.
func messageBytes(m *scenario.Message, env value.Env) ([]byte, error) {
	if m.Kind == scenario.BodyJSON {
		v, err := value.Resolve(m.Pattern, env)
		if err != nil {
			return nil, err
		}
		return value.Encode(v), nil
	}
	if m.Body == nil {
		return nil, nil
	}
	text, err := m.Body.Text(env)
	if err != nil {
		return nil, err
	}
	switch m.Kind {
	case scenario.BodyHex:
		return hex.DecodeString(text)
	case scenario.BodyBase64:
		return base64.StdEncoding.DecodeString(text)
	}
	return []byte(text), nil
}

// judge compares a raw answer with the reply that a step expects.
func (x *rawExchange) judge(want *scenario.Message, env value.Env) ([]string, error) {
	var failures []string
	add := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	if x.status != want.Status {
		add("the status is %d, want %d", x.status, want.Status)
	}
	for _, h := range want.Headers {
		values := x.header.Values(h.Name)
		if h.Absent {
			if len(values) > 0 {
				add("the header %s is there: %q", h.Name, values)
			}
			continue
		}
		pattern, err := value.Resolve(h.Value, env)
		if err != nil {
			return nil, err
		}
		if len(values) == 0 {
			add("the header %s is missing", h.Name)
			continue
		}
		for _, f := range value.Match(asText(pattern), strings.Join(values, ", ")) {
			add("header %s%s", h.Name, strings.TrimPrefix(f, "$"))
		}
	}
	more, err := judgeBody(want, x.jsonBody(), x.body, env)
	return append(failures, more...), err
}

// asText lets a saved number stand in a header.
func asText(pattern any) any {
	if n, ok := pattern.(value.Number); ok {
		return string(n)
	}
	return pattern
}

// jsonBody is the JSON text in the body: the body itself, or the data of the last event of a stream.
func (x *rawExchange) jsonBody() []byte {
	if !strings.HasPrefix(x.header.Get("Content-Type"), "text/event-stream") {
		return x.body
	}
	data, err := driver.LastEvent(x.body)
	if err != nil {
		return x.body
	}
	return data
}

// judgeBody compares a body with the one that a reply expects.
func judgeBody(want *scenario.Message, text, body []byte, env value.Env) ([]string, error) {
	differ := func(what string, wanted any) []string {
		return []string{fmt.Sprintf("the body is %s, want %s %s", value.Shorten(string(body)), what, value.Shorten(wanted))}
	}
	switch want.Kind {
	case scenario.BodyNone:
		return nil, nil
	case scenario.BodyEmpty:
		if len(body) > 0 {
			return differ("none", ""), nil
		}
		return nil, nil
	case scenario.BodyJSON:
		pattern, err := value.Resolve(want.Pattern, env)
		if err != nil {
			return nil, err
		}
		v, err := value.Decode(text)
		if err != nil {
			return append(differ("JSON", ""), err.Error()), nil
		}
		var failures []string
		for _, f := range value.Match(pattern, v) {
			failures = append(failures, "body "+f)
		}
		return failures, nil
	case scenario.BodyDigest:
		wanted, err := want.Body.Text(env)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		if got := "sha256:" + hex.EncodeToString(sum[:]); got != wanted {
			return []string{fmt.Sprintf("the body of %d bytes has the digest %s, want %s", len(body), got, wanted)}, nil
		}
		return nil, nil
	}
	wanted, err := messageBytes(want, env)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(body, wanted) {
		return differ("", string(wanted)), nil
	}
	return nil, nil
}

// judgeReason compares a raw HTTP answer with a reason: status, and the envelope of the area that owns the path.
func (x *rawExchange) judgeReason(l *Library, name string, details map[string]any, names []string) []string {
	reason, ok := l.Contract.Reason(name)
	if !ok {
		return []string{"no reason " + name}
	}
	if x.method == http.MethodHead {
		if x.status != reason.HTTP {
			return []string{fmt.Sprintf("the status is %d, want %d", x.status, reason.HTTP)}
		}
		return nil
	}
	area := areaOf(x.path)
	v, err := value.Decode(x.body)
	if err != nil {
		return []string{fmt.Sprintf("the answer %d is no JSON value: %v: %s", x.status, err, value.Shorten(string(x.body)))}
	}
	refusal, breaches := driver.ReadRefusal(l.Contract, area, v)
	refusal.Status = x.status
	if media := x.header.Get("Content-Type"); !strings.HasPrefix(media, "application/json") {
		breaches = append(breaches, fmt.Sprintf("an error with content type %q", media))
	}
	return append(breaches, judgeRefusal(reason, area, refusal, details, names)...)
}

// areaOf says whose envelope an error under a path has.
func areaOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/v1/"), strings.HasPrefix(path, "/mcp/"):
		return "workbench"
	case strings.HasPrefix(path, "/api/"), path == "/ws":
		return "jobs"
	}
	return "operator"
}

// conversation is an open raw connection.
type conversation interface {
	send(ctx context.Context, m *scenario.Message, body []byte) error
	// next gives the next message as a value and as its bytes, and says whether it was a binary frame.
	next(ctx context.Context) (v any, raw []byte, binary bool, err error)
	// end closes the connection, or with a code waits for the server to have closed it so.
	end(ctx context.Context, code int) error
	abandon()
}

func (p *play) open(ctx context.Context, step *scenario.Step) error {
	switch protocol := driver.Protocol(step.Protocol); protocol {
	case driver.WSText, driver.WSMsgpack:
		conn, err := p.end.DialWS(ctx, "/ws")
		if err != nil {
			return err
		}
		p.raw = &wsConversation{conn: conn, contract: p.end, binary: protocol == driver.WSMsgpack}
	case driver.MCPStdio:
		if p.end.Stdio == nil {
			return driver.ErrUnreachable
		}
		rw, err := p.end.Stdio(ctx)
		if err != nil {
			return err
		}
		p.raw = lineConversation{driver.NewLines(rw)}
	default:
		return fmt.Errorf("%s has no connection to open", protocol)
	}
	return nil
}

// receive judges the next message of the open connection.
func (p *play) receive(ctx context.Context, step *scenario.Step) error {
	v, raw, binary, err := p.raw.next(ctx)
	if err != nil {
		return err
	}
	if p.lease.prefix != "" {
		v = value.MapStrings(v, func(s string) string { return strings.ReplaceAll(s, p.lease.prefix, "") })
	}
	want := step.Expect.Reply
	if want == nil {
		return errors.New("on a connection the answer is a reply")
	}
	failures, err := judgeBody(want, value.Encode(v), raw, p.env)
	if err != nil {
		return err
	}
	if want.Binary && !binary || want.Text && binary {
		failures = append(failures, fmt.Sprintf("binary frame: %v", binary))
	}
	for _, f := range failures {
		p.result.fail("step %d (%s:%d): %s", step.N, p.scenario.File, step.Line, f)
	}
	if len(failures) > 0 {
		return errStop
	}
	return p.save(step, v)
}

type wsConversation struct {
	conn     *websocket.Conn
	contract driver.Endpoint
	binary   bool
}

func (c *wsConversation) send(ctx context.Context, m *scenario.Message, body []byte) error {
	kind := websocket.MessageText
	if m.Binary || c.binary && !m.Text {
		kind = websocket.MessageBinary
		if v, err := value.Decode(body); err == nil && m.Kind != scenario.BodyHex {
			body = driver.EncodeMsgpack(v)
		}
	}
	return c.conn.Write(ctx, kind, body)
}

func (c *wsConversation) next(ctx context.Context) (any, []byte, bool, error) {
	for {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			return nil, nil, false, err
		}
		binary := kind == websocket.MessageBinary
		v, err := driver.DecodeFrame(kind, data)
		if err != nil {
			return nil, data, binary, err
		}
		if err := c.contract.Contract.CheckFrame(v); err != nil {
			return nil, data, binary, fmt.Errorf("the AsyncAPI document lets the server send no such frame: %s", value.Shorten(v))
		}
		if what, _ := value.At(v, "type"); what != "ping" {
			return v, data, binary, nil
		}
	}
}

func (c *wsConversation) end(ctx context.Context, code int) error {
	if code == 0 {
		return c.conn.Close(websocket.StatusNormalClosure, "")
	}
	for {
		if _, _, err := c.conn.Read(ctx); err != nil {
			if got := websocket.CloseStatus(err); int(got) != code {
				return fmt.Errorf("the connection ended with %w, want close code %d", err, code)
			}
			return nil
		}
	}
}

func (c *wsConversation) abandon() { _ = c.conn.CloseNow() }

type lineConversation struct{ *driver.Lines }

func (c lineConversation) send(_ context.Context, _ *scenario.Message, body []byte) error {
	return c.Write(body)
}

func (c lineConversation) next(ctx context.Context) (any, []byte, bool, error) {
	line, err := c.Read(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	v, err := value.Decode(line)
	return v, line, false, err
}

func (c lineConversation) end(_ context.Context, code int) error {
	if code != 0 {
		return errors.New("stdio has no close codes")
	}
	return c.Close()
}

func (c lineConversation) abandon() { _ = c.Close() }
