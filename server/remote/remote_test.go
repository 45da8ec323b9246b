package remote_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/remote"
)

type workbench struct{ op.Workbench }

func (workbench) Create(_ context.Context, req *op.WorkbenchCreateRequest) (*op.WorkbenchCreateResult, error) {
	switch req.ID {
	case "taken":
		return nil, fault.New(op.ReasonWBAlreadyExists, "").With("generation", 3).With("path", "outputs/a\"b")
	case "busy":
		return nil, fault.New(op.ReasonUnavailable, "")
	case "panic":
		panic("secret")
	}
	return &op.WorkbenchCreateResult{WorkbenchID: req.ID, Path: "/agents/a/wb/" + req.ID, Sections: []string{"input", "scripts", "outputs", "logs", "metadata"}}, nil
}

type lifecycle struct{}

func (lifecycle) GetCapabilities(context.Context, *op.JobsGetCapabilitiesRequest) (*op.JobsGetCapabilitiesResult, error) {
	return nil, fault.New(op.ReasonUnavailable, "not now")
}

type operator struct{ op.Operator }

func (operator) GetHealth(context.Context, *op.OperatorGetHealthRequest) (*op.OperatorGetHealthResult, error) {
	return &op.OperatorGetHealthResult{GeneratedAt: "2026-01-02T03:04:05Z", Data: op.OperatorHealth{Status: "ok"}}, nil
}

func newServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.New(server.Options{API: &op.API{Workbench: workbench{}, Jobs: lifecycle{}, Operator: operator{}}, Principal: actor.Principal{User: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Invariant 1: a call through a client has the outcome of the call itself, to the letter.
func TestOutcomesPassThrough(t *testing.T) {
	s := newServer(t)
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	c := remote.New(h.URL+"/", nil)
	defer c.Close()
	far, err := call.New(call.Options{Invoke: c.Call})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		d    *op.Descriptor
		args string
	}{
		{op.WorkbenchCreateOp, `{"id":"wb1"}`}, {op.WorkbenchCreateOp, `{"id":"taken"}`}, {op.WorkbenchCreateOp, `{"id":"busy"}`}, {op.WorkbenchCreateOp, `{"id":"panic"}`},
		{op.WorkbenchCreateOp, `{"id":5}`}, {op.WorkbenchGrepOp, `{"id":"a","pattern":"x","recursive":true}`}, {op.JobsGetCapabilitiesOp, `{}`}, {op.OperatorGetHealthOp, `{}`},
	} {
		near, farther := outcome(s.Pipeline(), x.d, x.args), outcome(far, x.d, x.args)
		if x.d.Area == op.AreaOperator && strings.HasPrefix(near, "error") {
			t.Fatalf("%s %s: %s", x.d.ID, x.args, near)
		}
		if diff := cmp.Diff(near, farther); diff != "" {
			t.Errorf("%s %s (-near +far):\n%s", x.d.ID, x.args, diff)
		}
	}
}

func outcome(p *call.Pipeline, d *op.Descriptor, args string) string {
	res, err := p.Via(call.Local, "").CallJSON(context.Background(), d, []byte(args))
	if err != nil {
		pub := call.PublicOf(d, err)
		return strings.Join([]string{"error", pub.Code, pub.Message, string(pub.Reason), string(pub.Details), pub.Connect}, "|")
	}
	return string(res.AppendJSON(nil))
}

// Invariant 2.
func TestWhatDoesNotAnswerIsUnavailable(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"another server":        func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"another server's 404":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", 404) },
		"an envelope of nobody": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); w.Write([]byte(`{}`)) },
		"a redirect":            func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://127.0.0.1:1/", 307) },
		"a broken connection":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a result of another form": func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte(`{"status":"success","novel":1}`))
		},
	} {
		s := httptest.NewServer(h)
		_, err := remote.New(s.URL, nil).Call(context.Background(), op.WorkbenchCreateOp, &op.WorkbenchCreateRequest{ID: "a"})
		if !fault.Is(err, op.ReasonUnavailable) || !op.ReasonUnavailable.Face().Retryable {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
		_, err = remote.New(s.URL, nil).Call(context.Background(), op.WorkbenchCreateOp, &op.WorkbenchCreateRequest{ID: "a"})
		if !fault.Is(err, op.ReasonUnavailable) {
			t.Errorf("nobody: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := remote.New("http://127.0.0.1:1", nil).Call(ctx, op.WorkbenchCreateOp, &op.WorkbenchCreateRequest{ID: "a"}); !fault.Is(err, op.ReasonCancelled) {
		t.Errorf("a caller that gave up: %v", err)
	}
}

// Invariant 3: a client goes on with the next server that can be dialled.
func TestReconnects(t *testing.T) {
	s := newServer(t)
	var current *httptest.Server
	c := remote.New("http://localhost", func(ctx context.Context) (net.Conn, error) {
		if current == nil {
			return nil, errors.New("nobody")
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", current.Listener.Addr().String())
	})
	do := func() error {
		_, err := c.Call(context.Background(), op.WorkbenchCreateOp, &op.WorkbenchCreateRequest{ID: "a"})
		return err
	}
	if err := do(); !fault.Is(err, op.ReasonUnavailable) {
		t.Fatalf("before the first server: %v", err)
	}
	for range 3 {
		current = httptest.NewServer(s.Handler())
		for range 3 {
			if err := do(); err != nil {
				t.Fatalf("with a server: %v", err)
			}
		}
		current.CloseClientConnections()
		current.Close()
		current = nil
		if err := do(); !fault.Is(err, op.ReasonUnavailable) {
			t.Fatalf("without a server: %v", err)
		}
	}
}

// A call is part of its caller's trace at the server too.
func TestTracesAreHandedOn(t *testing.T) {
	var got []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Traceparent"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer h.Close()
	c := remote.New(h.URL, nil)
	defer c.Close()
	ctx := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1}))
	ref := op.FileRef{ID: "w", Section: "outputs", Path: "a"}
	_, _ = c.Call(ctx, op.WorkbenchCreateOp, &op.WorkbenchCreateRequest{ID: "w"}) // what comes back is not what is looked at
	_, _ = c.OpenFile(ctx, ref)
	_, _ = c.StoreFile(ctx, ref, op.FileCondition{}, "text/plain", strings.NewReader("x"), 1)
	last := len(got)
	_, _ = c.Call(t.Context(), op.WorkbenchCreateOp, &op.WorkbenchCreateRequest{ID: "w"})
	const want = "00-01000000000000000000000000000000-0200000000000000-01"
	if last < 3 || slices.ContainsFunc(got[:last], func(s string) bool { return s != want }) || !slices.Equal(got[last:], []string{""}) {
		t.Errorf("traces %q", got)
	}
}
