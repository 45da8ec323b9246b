package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/httpapi"
)

const statPath = "/v1/workbench/stat"

// Invariants 1 and 2, and one connection all the way: no refusal costs it.
func TestCalls(t *testing.T) {
	f := serve(t, func(o *httpapi.Options) { o.MaxCallBytes = 4 << 10 })
	const json = "application/json"
	type c struct {
		name, method, path, content string
		headers                     []string
		status                      int
		code                        string // of the area's envelope; "" for a success
	}
	cases := []c{
		{"a call", "POST", statPath, `{"id":"wb1"}`, []string{"Content-Type", json}, 200, ""},
		{"with a charset", "POST", statPath, `{"id":"wb1"}`, []string{"Content-Type", "application/JSON; charset=UTF-8"}, 200, ""},
		{"a refusal", "POST", statPath, `{"id":"missing"}`, []string{"Content-Type", json}, 404, "NotFound"},
		{"without a type", "POST", statPath, `{"id":"wb1"}`, nil, 415, "InvalidArguments"},
		{"as text", "POST", statPath, `{"id":"wb1"}`, []string{"Content-Type", "text/plain"}, 415, "InvalidArguments"},
		{"as a form", "POST", statPath, `id=wb1`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "InvalidArguments"},
		{"in Latin-1", "POST", statPath, `{"id":"wb1"}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, "InvalidArguments"},
		{"compressed", "POST", statPath, `{"id":"wb1"}`, []string{"Content-Type", json, "Content-Encoding", "gzip"}, 415, "InvalidArguments"},
		{"an unknown member", "POST", statPath, `{"id":"wb1","x":1}`, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"a member of another case", "POST", statPath, `{"ID":"wb1"}`, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"a doubled member", "POST", statPath, `{"id":"a","id":"b"}`, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"trailing bytes", "POST", statPath, `{"id":"a"} x`, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"no JSON", "POST", statPath, `id`, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"nothing", "POST", statPath, ``, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"an array", "POST", statPath, `[]`, []string{"Content-Type", json}, 400, "InvalidArguments"},
		{"too much", "POST", statPath, `{"id":"` + strings.Repeat("x", 4<<10) + `"}`, []string{"Content-Type", json}, 413, "PayloadTooLarge"},
		{"a wrong method", "GET", statPath, ``, nil, 405, "MethodNotAllowed"},
		{"HEAD", "HEAD", statPath, ``, nil, 405, ""},
		{"a wrong path", "POST", "/v1/workbench/dance", `{}`, []string{"Content-Type", json}, 404, "NotFound"},
		{"a path with a slash", "POST", statPath + "/", `{}`, []string{"Content-Type", json}, 404, "NotFound"},
		{"a doubled slash", "POST", "/v1//workbench/stat", `{}`, []string{"Content-Type", json}, 404, "NotFound"},
		{"a path with dots", "POST", "/v1/x/../workbench/stat", `{}`, []string{"Content-Type", json}, 404, "NotFound"},
		{"an encoded path", "POST", "/v1/workbench/%73tat", `{"id":"wb1"}`, []string{"Content-Type", json}, 200, ""},
		{"an area that is not served", "GET", "/api/sdk/v1/capabilities", ``, nil, 501, "NOT_IMPLEMENTED"},
		{"a wrong path of the lifecycle", "GET", "/api/sdk/v1/nothing", ``, nil, 404, "NOT_FOUND"},
		{"a wrong method of the lifecycle", "POST", "/api/sdk/v1/capabilities", `{}`, nil, 405, "METHOD_NOT_ALLOWED"},
		{"the operator", "GET", "/health", ``, nil, 200, ""},
		{"the operator, slashes behind", "GET", "/health//", ``, nil, 200, ""},
		{"the operator, a query nobody asked for", "GET", "/health?x=1&x=2", ``, nil, 200, ""},
		{"the operator, HEAD", "HEAD", "/health", ``, nil, 200, ""},
		{"the operator, the other method", "POST", "/health", `{}`, nil, 405, "bad_request"},
		{"the operator, a third method", "DELETE", "/health", ``, nil, 405, "bad_request"},
		{"the operator, a wrong path", "GET", "/healthy", ``, nil, 404, "not_found"},
		{"the operator, another case", "GET", "/Health", ``, nil, 404, "not_found"},
		{"the root", "GET", "/", ``, nil, 404, "not_found"},
	}
	var conns []string
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { conns = append(conns, i.Conn.LocalAddr().String()) }}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequest(c.method, f.URL, strings.NewReader(c.content))
			if err != nil {
				t.Fatal(err)
			}
			r.URL.Opaque = c.path
			if i := strings.IndexByte(c.path, '?'); i >= 0 {
				r.URL.Opaque, r.URL.RawQuery = c.path[:i], c.path[i+1:]
			}
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Add(c.headers[i], c.headers[i+1])
			}
			resp, err := f.Client().Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status {
				t.Fatalf("status %d %s, want %d", resp.StatusCode, b, c.status)
			}
			if c.code != "" && !strings.Contains(string(b), `"code":"`+c.code+`"`) {
				t.Errorf("body %s, want code %s", b, c.code)
			}
			if c.status == 405 && resp.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, json) {
				t.Errorf("Content-Type %q", ct)
			}
		})
	}
	// The request over the cap of 4 KiB is small enough to be read to its end, so that not even it costs the connection.
	for _, c := range conns {
		if c != conns[0] {
			t.Errorf("the connection was given up after %d requests", len(conns))
			break
		}
	}
}

// A mistake names its member, in words that do not come from Go.
func TestMistakesAreNamed(t *testing.T) {
	f := serve(t, nil)
	for content, want := range map[string]string{`{"id":"wb1","sectoin":"outputs"}`: "sectoin", `{"id":5}`: "$.id", `{}`: "$.id", `{"id":"a","section":"nowhere"}`: "$.section"} {
		r := f.do(t, "POST", statPath, strings.NewReader(content), "Content-Type", "application/json")
		if r.StatusCode != 400 || !strings.Contains(r.body, want) || strings.Contains(r.body, "op.") || strings.Contains(r.body, "json:") {
			t.Errorf("%s: %d %s", content, r.StatusCode, r.body)
		}
	}
}

type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func BenchmarkStat(b *testing.B) {
	p, err := call.New(call.Options{API: &op.API{Workbench: stat{}}, Principal: actor.Principal{User: "1"}})
	if err != nil {
		b.Fatal(err)
	}
	h := httpapi.New(httpapi.Options{Pipeline: p, Budget: body.NewBudget(0), MaxCallBytes: 1 << 20})
	content := `{"id":"wb1","section":"outputs","path":"a.txt"}`
	rd := strings.NewReader(content)
	r := httptest.NewRequest("POST", statPath, rd)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(content))
	w := &discard{http.Header{}}
	in := r.Body
	b.ReportAllocs()
	for b.Loop() {
		rd.Reset(content)
		r.Body = in
		h.ServeHTTP(w, r)
	}
}
