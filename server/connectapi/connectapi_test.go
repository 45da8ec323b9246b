package connectapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	commonv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/common/v1"
	operatorv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/operator/v1"
	"github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/operator/v1/operatorv1connect"
	workbenchv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1"
	"github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1/workbenchv1connect"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/connectapi"
)

type workbench struct{ op.Workbench }

func (workbench) Stat(ctx context.Context, req *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
	switch req.ID {
	case "missing":
		return nil, fault.New(op.ReasonWBNotFound, "").With("path", "outputs/x")
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "panic":
		panic("secret")
	}
	return &op.WorkbenchStatResult{WorkbenchID: req.ID, Card: op.WorkbenchCard{Kind: "directory"}}, nil
}

type operator struct{ op.Operator }

func (operator) GetHealth(context.Context, *op.OperatorGetHealthRequest) (*op.OperatorGetHealthResult, error) {
	return &op.OperatorGetHealthResult{GeneratedAt: "2026-01-02T03:04:05Z", Data: op.OperatorHealth{Status: "ok"}}, nil
}

func serve(t testing.TB) (*httptest.Server, *connectapi.Handler) {
	t.Helper()
	p, err := call.New(call.Options{API: &op.API{Workbench: workbench{}, Operator: operator{}}, Principal: actor.Principal{User: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	h := connectapi.New(connectapi.Options{Pipeline: p, MaxMessageBytes: 64 << 10})
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s, h
}

// h2c is a client that begins with HTTP/2, as gRPC clients do.
func h2c() *http.Client {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: p}}
}

// clients are the protocols and encodings by which a generated client may come.
func clients(s *httptest.Server) map[string]workbenchv1connect.WorkbenchServiceClient {
	return map[string]workbenchv1connect.WorkbenchServiceClient{
		"connect":        workbenchv1connect.NewWorkbenchServiceClient(s.Client(), s.URL),
		"connect json":   workbenchv1connect.NewWorkbenchServiceClient(s.Client(), s.URL, connect.WithProtoJSON()),
		"connect h2c":    workbenchv1connect.NewWorkbenchServiceClient(h2c(), s.URL),
		"grpc":           workbenchv1connect.NewWorkbenchServiceClient(h2c(), s.URL, connect.WithGRPC()),
		"grpc json gzip": workbenchv1connect.NewWorkbenchServiceClient(h2c(), s.URL, connect.WithGRPC(), connect.WithProtoJSON(), connect.WithSendGzip()),
		"grpcweb":        workbenchv1connect.NewWorkbenchServiceClient(s.Client(), s.URL, connect.WithGRPCWeb()),
	}
}

// Invariants 1 and 3, on every protocol.
func TestAnswersOnEveryProtocol(t *testing.T) {
	s, _ := serve(t)
	for name, c := range clients(s) {
		t.Run(name, func(t *testing.T) {
			res, err := c.Stat(context.Background(), &workbenchv1.StatRequest{Id: "wb1"})
			if err != nil || res.GetWorkbenchId() != "wb1" || res.GetStatus() != "success" {
				t.Errorf("%v, %v", res, err)
			}
			section := "nowhere"
			for _, x := range []struct {
				req    *workbenchv1.StatRequest
				code   connect.Code
				reason string
				detail string
			}{
				{&workbenchv1.StatRequest{Id: "missing"}, connect.CodeNotFound, "WB_NOT_FOUND", `{"path":"outputs/x"}`},
				{&workbenchv1.StatRequest{Id: "wb1", Section: &section}, connect.CodeInvalidArgument, "INVALID_ARGUMENTS", `{}`},
				{&workbenchv1.StatRequest{Id: "panic"}, connect.CodeInternal, "INTERNAL", `{}`},
			} {
				_, err := c.Stat(context.Background(), x.req)
				d := detail(t, err)
				if connect.CodeOf(err) != x.code || d.GetReason() != x.reason || d.GetDetailsJson() != x.detail || d.GetMessage() == "" || d.GetCode() == "" {
					t.Errorf("%v: %v, detail %v", x.req, err, d)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("%v tells a secret", err)
				}
			}
		})
	}
}

func detail(t *testing.T, err error) *commonv1.ErrorDetail {
	t.Helper()
	var e *connect.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error of Connect", err)
	}
	if len(e.Details()) != 1 {
		t.Fatalf("%v has %d details", err, len(e.Details()))
	}
	v, derr := e.Details()[0].Value()
	if derr != nil {
		t.Fatal(derr)
	}
	return v.(*commonv1.ErrorDetail)
}

// A request without any field, whose message is empty on the wire.
func TestEmptyMessages(t *testing.T) {
	s, _ := serve(t)
	for name, c := range map[string]operatorv1connect.OperatorServiceClient{
		"connect": operatorv1connect.NewOperatorServiceClient(s.Client(), s.URL),
		"json":    operatorv1connect.NewOperatorServiceClient(s.Client(), s.URL, connect.WithProtoJSON()),
		"grpc":    operatorv1connect.NewOperatorServiceClient(h2c(), s.URL, connect.WithGRPC()),
		"grpcweb": operatorv1connect.NewOperatorServiceClient(s.Client(), s.URL, connect.WithGRPCWeb()),
	} {
		res, err := c.GetHealth(context.Background(), &operatorv1.GetHealthRequest{})
		if err != nil || res.GetData().GetStatus() != "ok" || !res.GetOk() {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}

func post(t *testing.T, url, contentType, content string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, contentType, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const stat = "/sawhorse.workbench.v1.WorkbenchService/Stat"

// Invariant 1 for what a generated client cannot send: JSON that is wrong.
func TestMalformedJSONIsRefusedWithADetail(t *testing.T) {
	s, _ := serve(t)
	for _, content := range []string{`{"id":"a","sectoin":"x"}`, `{"id":"a","id":"b"}`, `{"ID":"a"}`, `{"id":5}`, `{`, `[]`, `null`, ``, `{} {}`, "{\"id\":\"\xff\"}", `{"id":"\ud800"}`} {
		status, answer := post(t, s.URL+stat, "application/json", content)
		if status != 400 || !strings.Contains(answer, `"invalid_argument"`) || !strings.Contains(answer, `"reason":"INVALID_ARGUMENTS"`) {
			t.Errorf("%q: %d %s", content, status, answer)
		}
		if strings.Contains(answer, "proto") || strings.Contains(answer, "json:") {
			t.Errorf("%q: %s tells how it is made", content, answer)
		}
	}
	if status, answer := post(t, s.URL+stat, "application/json", `{"id":"wb1"}`); status != 200 || !strings.Contains(answer, `"workbench_id":"wb1"`) {
		t.Errorf("afterwards: %d %s", status, answer)
	}
}

func TestLargeMessagesAreRefused(t *testing.T) {
	s, _ := serve(t)
	for name, c := range clients(s) {
		_, err := c.Stat(context.Background(), &workbenchv1.StatRequest{Id: strings.Repeat("x", 80<<10)})
		if connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Invariant 2.
func TestUnknownProcedures(t *testing.T) {
	s, _ := serve(t)
	for name, options := range map[string][]connect.ClientOption{"connect": nil, "grpc": {connect.WithGRPC()}, "grpcweb": {connect.WithGRPCWeb()}} {
		for _, path := range []string{"/sawhorse.workbench.v1.WorkbenchService/Dance", "/sawhorse.dance.v1.DanceService/Dance"} {
			c := connect.NewClient[workbenchv1.StatRequest, workbenchv1.StatResponse](h2c(), s.URL+path, options...)
			_, err := c.CallUnary(context.Background(), connect.NewRequest(&workbenchv1.StatRequest{}))
			if connect.CodeOf(err) != connect.CodeUnimplemented {
				t.Errorf("%s %s: %v", name, path, err)
			}
		}
	}
	if status, answer := post(t, s.URL+"/sawhorse.workbench.v1.WorkbenchService/Dance", "text/plain", "x"); status != 404 || strings.Contains(answer, "<") {
		t.Errorf("a request of no protocol: %d %s", status, answer)
	}
}

func TestHealthAndReflection(t *testing.T) {
	s, h := serve(t)
	check := func() string {
		_, answer := post(t, s.URL+"/grpc.health.v1.Health/Check", "application/json", `{"service":"sawhorse.workbench.v1.WorkbenchService"}`)
		return answer
	}
	if got := check(); !strings.HasSuffix(got, `"SERVING_STATUS_SERVING"}`) {
		t.Errorf("health %s", got)
	}
	r := grpcreflect.NewClient(h2c(), s.URL, connect.WithGRPC())
	stream := r.NewStream(context.Background())
	defer stream.Close()
	names, err := stream.ListServices()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sawhorse.workbench.v1.WorkbenchService", "sawhorse.operator.v1.OperatorService", "sawhorse.jobs.v1.JobsService", grpchealth.HealthV1ServiceName} {
		found := false
		for _, n := range names {
			found = found || string(n) == want
		}
		if !found {
			t.Errorf("reflection lists %v, without %s", names, want)
		}
	}
	if files, err := stream.FileContainingSymbol("sawhorse.workbench.v1.WorkbenchService"); err != nil || len(files) == 0 {
		t.Errorf("the schema by reflection: %v", err)
	}
	h.Drain()
	if got := check(); !strings.Contains(got, `"SERVING_STATUS_NOT_SERVING"`) {
		t.Errorf("health while draining: %s", got)
	}
}

type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func BenchmarkStatJSON(b *testing.B) {
	_, h := serve(b)
	content := `{"id":"wb1","section":"outputs","path":"a.txt"}`
	rd := strings.NewReader(content)
	r := httptest.NewRequest("POST", stat, rd)
	r.Header.Set("Content-Type", "application/json")
	in := r.Body
	b.ReportAllocs()
	for b.Loop() {
		rd.Reset(content)
		r.Body = in
		h.ServeHTTP(&discard{http.Header{}}, r)
	}
}
