package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	workbenchv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1"
	"github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1/workbenchv1connect"
	"github.com/sawhorse-dev/sawhorse/server"
)

// api is an API whose create does as the test says.
type api struct {
	op.Workbench
	create func(ctx context.Context, id string) error
}

func (a api) Create(ctx context.Context, req *op.WorkbenchCreateRequest) (*op.WorkbenchCreateResult, error) {
	if a.create != nil {
		if err := a.create(ctx, req.ID); err != nil {
			return nil, err
		}
	}
	return &op.WorkbenchCreateResult{WorkbenchID: req.ID, Path: "/agents/a/wb/" + req.ID, Sections: []string{"input"}}, nil
}

type operator struct{ op.Operator }

func (operator) GetHealth(context.Context, *op.OperatorGetHealthRequest) (*op.OperatorGetHealthResult, error) {
	return &op.OperatorGetHealthResult{GeneratedAt: "2026-01-02T03:04:05Z", Data: op.OperatorHealth{Status: "ok"}}, nil
}

func newServer(t testing.TB, create func(context.Context, string) error, change func(*server.Options)) *server.Server {
	t.Helper()
	o := server.Options{API: &op.API{Workbench: api{create: create}, Operator: operator{}}, Principal: actor.Principal{User: "1"}, Version: "1.2.3"}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(s *server.Server, method, path, content string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(content))
	r.Host = "127.0.0.1:8080"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

const (
	createPath    = "/v1/workbench/create"
	createConnect = "/sawhorse.workbench.v1.WorkbenchService/Create"
)

// request is one way to reach the server.
type request struct {
	name, method, path, content string
	headers                     []string
	ok                          int
}

func requests() []request {
	return []request{
		{"http", "POST", createPath, `{"id":"wb1"}`, []string{"Content-Type", "application/json"}, 200},
		{"connect", "POST", createConnect, `{"id":"wb1"}`, []string{"Content-Type", "application/json"}, 200},
		{"mcp", "POST", "/mcp/workbench", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_create","arguments":{"id":"wb1"}}}`,
			[]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, 200},
		{"mcp by the SDK", "POST", "/mcp/workbench", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			[]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, 200},
		{"operator", "GET", "/health", "", nil, 200},
		{"files", "GET", "/v1/workbenches/wb1/files/outputs/a", "", nil, 501},
		{"nothing", "GET", "/v1/nothing", "", nil, 404},
		{"websocket", "GET", "/ws", "", nil, 426},
	}
}

// Invariant 1, at every door.
func TestHostAndOriginAreChecked(t *testing.T) {
	s := newServer(t, nil, func(o *server.Options) { o.AllowedHosts = []string{"box.lan"} })
	for _, r := range requests() {
		for _, c := range []struct {
			what    string
			headers []string
			pass    bool
		}{
			{"no browser", nil, true},
			{"localhost", []string{"Host", "localhost:8080"}, true},
			{"another case", []string{"Host", "LocalHost"}, true},
			{"IPv6 loopback", []string{"Host", "[::1]:8080"}, true},
			{"IPv6 loopback without a port", []string{"Host", "[::1]"}, true},
			{"another loopback address", []string{"Host", "127.9.9.9"}, true},
			{"an allowed host", []string{"Host", "box.lan:8080"}, true},
			{"a name that an attacker resolves to us", []string{"Host", "evil.example:8080"}, false},
			{"a name that begins like ours", []string{"Host", "localhost.evil.example"}, false},
			{"an address of the network", []string{"Host", "192.168.1.2:8080"}, false},
			{"an address that is none", []string{"Host", "127.0.0.1.evil.example"}, false},
			{"a port that is none", []string{"Host", "localhost:80.evil.example"}, false},
			{"a name in the port's place", []string{"Host", "127.0.0.1:evil"}, false},
			{"no host", []string{"Host", ""}, false},
			{"a page of this machine", []string{"Origin", "http://localhost:5173"}, true},
			{"a page of this machine, encrypted", []string{"Origin", "https://127.0.0.1"}, true},
			{"a page of an allowed host", []string{"Origin", "http://box.lan"}, true},
			{"a page of elsewhere", []string{"Origin", "https://evil.example"}, false},
			{"a page of elsewhere with our name in it", []string{"Origin", "http://localhost.evil.example"}, false},
			{"a page with our name as its user", []string{"Origin", "http://localhost@evil.example"}, false},
			{"a file", []string{"Origin", "null"}, false},
			{"an extension", []string{"Origin", "chrome-extension://abc"}, false},
			{"two origins", []string{"Origin", "http://localhost", "Origin", "https://evil.example"}, false},
			{"a picture on a page of elsewhere", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, false},
			{"our own page", []string{"Sec-Fetch-Site", "same-origin"}, true},
		} {
			t.Run(r.name+"/"+c.what, func(t *testing.T) {
				w := ask(s, r.method, r.path, r.content, append(append([]string{}, r.headers...), c.headers...)...)
				want := r.ok
				if !c.pass {
					want = 403
				}
				if w.Code != want {
					t.Errorf("status %d %s, want %d", w.Code, w.Body, want)
				}
				if !c.pass && !json.Valid(w.Body.Bytes()) && r.name != "websocket" {
					t.Errorf("the refusal %q is no JSON", w.Body)
				}
				if granted := w.Header().Get("Access-Control-Allow-Origin"); !c.pass && strings.Contains(granted, "evil") {
					t.Errorf("the foreign origin is granted: %s", granted)
				}
			})
		}
	}
	if w := ask(s, "GET", "/health", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); w.Code != 200 {
		t.Errorf("a link that a person followed: %d", w.Code)
	}
	if w := ask(s, "POST", createPath, `{}`, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); w.Code != 403 {
		t.Errorf("a form of another site: %d", w.Code)
	}
}

// A header that has one value, given twice, is refused at every door: readers differ in which of the two they take.
func TestHeadersGivenTwice(t *testing.T) {
	s := newServer(t, nil, nil)
	for _, r := range requests() {
		for _, name := range []string{"Mcp-Name", "Mcp-Protocol-Version", "Range", "Content-Encoding", "Connect-Timeout-Ms"} {
			w := ask(s, r.method, r.path, r.content, append(append([]string{}, r.headers...), name, "one", name, "two")...)
			if w.Code != 400 || !strings.Contains(w.Body.String(), name) && !strings.Contains(w.Header().Get("Grpc-Message"), name) {
				t.Errorf("%s, %s twice: %d %s", r.name, name, w.Code, w.Body)
			}
		}
	}
}

func TestMetricsAreRead(t *testing.T) {
	s := newServer(t, nil, func(o *server.Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
	})
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "DELETE": 405} {
		if w := ask(s, method, "/metrics", ""); w.Code != want || want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestBrowsersMayRead(t *testing.T) {
	s := newServer(t, nil, nil)
	const origin = "http://localhost:3000"
	for _, r := range requests() {
		w := ask(s, r.method, r.path, r.content, append(append([]string{}, r.headers...), "Origin", origin)...)
		if got := w.Header(); got.Get("Access-Control-Allow-Origin") != origin || got.Get("Vary") != "Origin" || !strings.Contains(got.Get("Access-Control-Expose-Headers"), "Grpc-Status") {
			t.Errorf("%s: headers %v", r.name, got)
		}
		w = ask(s, "OPTIONS", r.path, "", "Origin", origin, "Access-Control-Request-Method", r.method, "Access-Control-Request-Headers", "content-type")
		if got := w.Header(); w.Code != 204 || got.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(got.Get("Access-Control-Allow-Methods"), r.method) ||
			!strings.Contains(got.Get("Access-Control-Allow-Headers"), "Content-Type") || w.Body.Len() > 0 {
			t.Errorf("preflight of %s: %d %v", r.name, w.Code, got)
		}
	}
	w := ask(s, "OPTIONS", createConnect, "", "Origin", origin, "Access-Control-Request-Private-Network", "true")
	if got := w.Header(); got.Get("Access-Control-Allow-Private-Network") != "true" || !strings.Contains(got.Get("Access-Control-Allow-Headers"), "Connect-Protocol-Version") {
		t.Errorf("preflight of Connect: %v", got)
	}
	// The operator's contract has three headers on every answer, errors included.
	for _, path := range []string{"/health", "/nothing", "/trace/1"} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			got := ask(s, method, path, "").Header()
			if got.Get("Access-Control-Allow-Origin") != "http://127.0.0.1:5173" || got.Get("Access-Control-Allow-Methods") != "GET, POST, OPTIONS" || got.Get("Access-Control-Allow-Headers") != "Content-Type" {
				t.Errorf("%s %s: %v", method, path, got)
			}
		}
	}
	if w := ask(s, "OPTIONS", "/anything/at/all", ""); w.Code != 204 || w.Header().Get("Content-Length") != "0" {
		t.Errorf("OPTIONS on a path of nobody: %d %v", w.Code, w.Header())
	}
}

// Invariant 2.
func TestRequestIDs(t *testing.T) {
	s := newServer(t, nil, nil)
	seen := map[string]bool{}
	for _, r := range requests() {
		w := ask(s, r.method, r.path, r.content, r.headers...)
		id := w.Header().Get("X-Request-Id")
		if id == "" || seen[id] {
			t.Errorf("%s: request id %q", r.name, id)
		}
		seen[id] = true
		w = ask(s, r.method, r.path, r.content, append(append([]string{}, r.headers...), "X-Request-Id", "mine-1")...)
		if got := w.Header().Get("X-Request-Id"); got != "mine-1" {
			t.Errorf("%s: request id %q, want the client's", r.name, got)
		}
		w = ask(s, r.method, r.path, r.content, append(append([]string{}, r.headers...), "X-Request-Id", "a b\x01")...)
		if got := w.Header().Get("X-Request-Id"); got == "" || strings.Contains(got, " ") {
			t.Errorf("%s: request id %q for an unfit one", r.name, got)
		}
	}
	if w := ask(s, "GET", "/health", "", "Host", "evil.example"); w.Header().Get("X-Request-Id") == "" {
		t.Error("a refusal at the door has no request id")
	}
}

// Invariants 2 and 3: a panic is answered, logged with the request id, and the next request is served.
func TestPanics(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}), nil))
	s := newServer(t, func(_ context.Context, id string) error {
		if id == "boom" {
			panic("a secret thing")
		}
		return nil
	}, func(o *server.Options) {
		o.Logger = log
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("another secret") })
	})
	for _, r := range requests()[:3] {
		w := ask(s, r.method, r.path, strings.Replace(r.content, "wb1", "boom", 1), append(append([]string{}, r.headers...), "X-Request-Id", "id-"+r.name)...)
		if !strings.Contains(strings.ToLower(w.Body.String()), "internal") || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", r.name, w.Code, w.Body)
		}
		mu.Lock()
		if !strings.Contains(logged.String(), `"request_id":"id-`+r.name) || !strings.Contains(logged.String(), "a secret thing") {
			t.Errorf("%s: log %s", r.name, &logged)
		}
		logged.Reset()
		mu.Unlock()
		if w := ask(s, r.method, r.path, r.content, r.headers...); w.Code != r.ok {
			t.Errorf("%s afterwards: %d", r.name, w.Code)
		}
	}
	// Outside of the pipeline.
	if w := ask(s, "GET", "/metrics", ""); w.Code != 500 || !strings.Contains(w.Body.String(), "runtime_unavailable") || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("metrics that panic: %d %s", w.Code, w.Body)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// running is a server on a port.
type running struct {
	*server.Server
	url  string
	stop context.CancelFunc
	done chan error
}

func run(t *testing.T, create func(context.Context, string) error, change func(*server.Options)) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Server: newServer(t, create, change), url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- r.Serve(ctx, l) }()
	t.Cleanup(func() { cancel() })
	return r
}

func h2c() *http.Client {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: p}}
}

// One port, all wires, at the same time.
func TestOnePort(t *testing.T) {
	r := run(t, nil, nil)
	for name, c := range map[string]workbenchv1connect.WorkbenchServiceClient{
		"grpc":     workbenchv1connect.NewWorkbenchServiceClient(h2c(), r.url, connect.WithGRPC()),
		"grpc-web": workbenchv1connect.NewWorkbenchServiceClient(http.DefaultClient, r.url, connect.WithGRPCWeb()),
		"connect":  workbenchv1connect.NewWorkbenchServiceClient(http.DefaultClient, r.url),
	} {
		if res, err := c.Create(context.Background(), &workbenchv1.CreateRequest{Id: "wb1"}); err != nil || res.GetWorkbenchId() != "wb1" {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
	ws, _, err := websocket.Dial(context.Background(), r.url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(context.Background(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	if kind, _, err := ws.Read(context.Background()); err != nil || kind != websocket.MessageBinary {
		t.Errorf("the WebSocket's answer: %v, %v", kind, err)
	}
	if _, resp, err := websocket.Dial(context.Background(), r.url+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}}}); err == nil || resp.StatusCode != 403 {
		t.Errorf("a WebSocket from elsewhere: %v", err)
	}
}

// Invariant 4: what was begun is answered; streams end; the port is closed; the result is nil.
func TestDrain(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	r := run(t, func(_ context.Context, id string) error {
		if id == "slow" {
			close(began)
			<-let
		}
		return nil
	}, nil)
	ws, _, err := websocket.Dial(context.Background(), r.url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	watch, err := h2c().Post(r.url+"/grpc.health.v1.Health/Watch", "application/grpc", bytes.NewReader([]byte{0, 0, 0, 0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	listen := startListen(t, r.url)
	answered := make(chan error, 1)
	go func() {
		resp, err := http.Post(r.url+createPath, "application/json", strings.NewReader(`{"id":"slow"}`))
		if err == nil {
			defer resp.Body.Close()
			var b []byte
			if b, err = io.ReadAll(resp.Body); err == nil && (resp.StatusCode != 200 || !strings.Contains(string(b), "slow")) {
				err = fmt.Errorf("%d %s", resp.StatusCode, b)
			}
		}
		answered <- err
	}()
	<-began
	r.stop()
	var why websocket.CloseError
	if _, _, err := ws.Read(context.Background()); !errors.As(err, &why) || why.Code != websocket.StatusServiceRestart || why.Reason == "" {
		t.Errorf("the WebSocket ended with %v", err)
	}
	if _, err := io.ReadAll(watch.Body); err != nil {
		t.Errorf("the watch ended with %v", err)
	}
	if err := <-listen; err != nil {
		t.Errorf("the subscription ended with %v", err)
	}
	select {
	case err := <-r.done:
		t.Fatalf("Serve returned %v before the request was answered", err)
	default:
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://")); err == nil {
		conn.Close()
		t.Error("the port still takes connections")
	}
	close(let)
	if err := <-answered; err != nil {
		t.Errorf("the request in progress: %v", err)
	}
	if err := <-r.done; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}

// startListen opens an MCP subscription, which lasts until one side ends it, and returns what its end is like.
func startListen(t *testing.T, url string) chan error {
	t.Helper()
	content := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequest("POST", url+"/mcp/workbench", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("subscription: %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	end := make(chan error, 1)
	go func() {
		defer resp.Body.Close()
		_, err := io.Copy(io.Discard, resp.Body)
		end <- err
	}()
	return end
}

func TestDrainRunsOutOfTime(t *testing.T) {
	began := make(chan struct{})
	var once sync.Once
	r := run(t, func(ctx context.Context, _ string) error {
		once.Do(func() { close(began) })
		<-ctx.Done() // cut off with its connection
		return ctx.Err()
	}, func(o *server.Options) { o.DrainTimeout = 50 * time.Millisecond })
	failed := make(chan error, 1)
	go func() {
		resp, err := http.Post(r.url+createPath, "application/json", strings.NewReader(`{"id":"slow"}`))
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-began
	r.stop()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("Serve returned %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve did not return")
	}
	if err := <-failed; err == nil {
		t.Error("the request that was cut off has an answer")
	}
}

func TestLoopbackOnly(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.0.0.2:0": true, "[::1]:80": true, "localhost:0": true, "0.0.0.0:80": false, ":80": false, "[::]:80": false,
		"192.168.0.1:80": false, "example.com:80": false, "127.0.0.1": false,
	} {
		if got := server.LoopbackOnly(address); got != want {
			t.Errorf("LoopbackOnly(%q) = %v", address, got)
		}
	}
}

// FuzzGuard demands that no Host or Origin gets through that a careful reader would not call ours.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{"localhost:8080", "[::1]:80", "evil.example", "127.0.0.1@evil", "http://localhost:1", "http://[::1%25eth0]", "127.0.0.1:80:80", "[::1]x"} {
		f.Add(s)
	}
	s := newServer(f, nil, nil)
	ours := func(host string) bool {
		if host == "localhost" || host == "LOCALHOST" || strings.EqualFold(host, "localhost") {
			return true
		}
		ip := net.ParseIP(host)
		return ip != nil && ip.IsLoopback()
	}
	f.Fuzz(func(t *testing.T, v string) {
		r := httptest.NewRequest("GET", "/health", nil)
		r.Host = v
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code == 200 {
			host := v
			if h, _, err := net.SplitHostPort(v); err == nil {
				host = h
			}
			if !ours(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")) {
				t.Fatalf("Host %q got through", v)
			}
		}
		r = httptest.NewRequest("GET", "/health", nil)
		r.Host = "localhost"
		r.Header["Origin"] = []string{v}
		w = httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code == 200 && !strings.HasPrefix(strings.ToLower(v), "http://") && !strings.HasPrefix(strings.ToLower(v), "https://") {
			t.Fatalf("Origin %q got through", v)
		}
	})
}

func BenchmarkOverLoopback(b *testing.B) {
	s := newServer(b, nil, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go s.Serve(ctx, l)
	for _, r := range requests()[:3] {
		b.Run(r.name, func(b *testing.B) {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			var head strings.Builder
			fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", r.method, r.path, len(r.content))
			for i := 0; i < len(r.headers); i += 2 {
				fmt.Fprintf(&head, "%s: %s\r\n", r.headers[i], r.headers[i+1])
			}
			request := []byte(head.String() + "\r\n" + r.content)
			answer := make([]byte, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := conn.Read(answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
