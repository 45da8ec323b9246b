package connectapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	workbenchv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/connectapi"
)

func frame(flags byte, content string) string {
	return string(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(content)))) + content
}

func zip(t testing.TB, content []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// send posts content with pairs of headers, of no announced length when it is chunked.
func send(t *testing.T, s *httptest.Server, kind, content string, chunked bool, headers ...string) (*http.Response, []byte) {
	t.Helper()
	var in io.Reader = strings.NewReader(content)
	if chunked {
		in = io.MultiReader(in)
	}
	r, err := http.NewRequest(http.MethodPost, s.URL+stat, in)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h2c().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, answer
}

// Invariant 4: what the library would refuse in its own words.
func TestRefusalsAreInOurWords(t *testing.T) {
	s, _ := serve(t)
	const good = `{"id":"wb1"}`
	bomb := zip(t, make([]byte, 8<<20))
	type refused struct {
		name, content string
		chunked       bool
		headers       []string
		code, reason  string
	}
	const timeout = "Connect-Timeout-Ms"
	unary := []refused{
		{name: "no time", content: good, headers: []string{timeout, "0"}, code: "deadline_exceeded", reason: "DEADLINE_EXCEEDED"},
		{name: "timeout in words", content: good, headers: []string{timeout, "soon"}},
		{name: "negative timeout", content: good, headers: []string{timeout, "-1"}},
		{name: "signed timeout", content: good, headers: []string{timeout, "+1"}},
		{name: "eleven digits", content: good, headers: []string{timeout, "12345678901"}},
		{name: "version", content: good, headers: []string{"Connect-Protocol-Version", "2"}},
		{name: "compression", content: good, headers: []string{"Content-Encoding", "br"}, code: "unimplemented"},
		{name: "no gzip", content: good, headers: []string{"Content-Encoding", "gzip"}},
		{name: "half a gzip", content: zip(t, []byte(good))[:20], headers: []string{"Content-Encoding", "gzip"}},
		{name: "bomb", content: bomb, headers: []string{"Content-Encoding", "gzip"}, code: "resource_exhausted", reason: "BODY_TOO_LARGE"},
		{name: "large", content: strings.Repeat(" ", 80<<10), code: "resource_exhausted", reason: "BODY_TOO_LARGE"},
		{name: "large in chunks", content: strings.Repeat(" ", 80<<10), chunked: true, code: "resource_exhausted", reason: "BODY_TOO_LARGE"},
	}
	framed := []refused{
		{name: "no time", content: frame(0, good), headers: []string{"Grpc-Timeout", "0n"}, code: "deadline_exceeded", reason: "DEADLINE_EXCEEDED"},
		{name: "a nanosecond", content: frame(0, good), headers: []string{"Grpc-Timeout", "1n"}, code: "deadline_exceeded", reason: "DEADLINE_EXCEEDED"},
		{name: "unit", content: frame(0, good), headers: []string{"Grpc-Timeout", "1x"}},
		{name: "no digits", content: frame(0, good), headers: []string{"Grpc-Timeout", "S"}},
		{name: "nine digits", content: frame(0, good), headers: []string{"Grpc-Timeout", "123456789S"}},
		{name: "compression", content: frame(0, good), headers: []string{"Grpc-Encoding", "br"}, code: "unimplemented"},
		{name: "compressed by nothing", content: frame(1, good), code: "internal"},
		{name: "no gzip", content: frame(1, good), headers: []string{"Grpc-Encoding", "gzip"}},
		{name: "bomb", content: frame(1, bomb), headers: []string{"Grpc-Encoding", "gzip"}, code: "resource_exhausted", reason: "BODY_TOO_LARGE"},
		{name: "flags", content: frame(4, good)},
		{name: "nothing", content: "", code: "unimplemented"},
		{name: "half a head", content: "\x00\x00\x00"},
		{name: "half a message", content: frame(0, good)[:10]},
		{name: "two messages", content: frame(0, good) + frame(0, good), code: "unimplemented"},
		{name: "announced as large", content: "\x00\xff\xff\xff\xff", code: "resource_exhausted", reason: "BODY_TOO_LARGE"},
		{name: "large", content: frame(0, strings.Repeat(" ", 80<<10)), chunked: true, code: "resource_exhausted", reason: "BODY_TOO_LARGE"},
	}
	for kind, cases := range map[string][]refused{"application/json": unary, "application/proto": unary,
		"application/grpc": framed, "application/grpc+json": framed, "application/grpc-web+json": framed, "application/grpc-web+proto": framed} {
		for _, x := range cases {
			if x.code == "" {
				x.code = "invalid_argument"
			}
			if x.reason == "" {
				x.reason = "INVALID_ARGUMENTS"
			}
			resp, answer := send(t, s, kind, x.content, x.chunked, x.headers...)
			got := refusalOf(t, resp, answer)
			if got.code != x.code || got.detail.GetReason() != x.reason || got.message != got.detail.GetMessage() || got.message == "" {
				t.Errorf("%s, %s: %+v, want %s and %s", kind, x.name, got, x.code, x.reason)
			}
			for _, word := range []string{"protocol error", "decompress", "EOF", "context", "strconv", "configured max", "message size"} {
				if strings.Contains(got.message, word) {
					t.Errorf("%s, %s: %q is not ours", kind, x.name, got.message)
				}
			}
		}
	}
}

// Messages that the intake unpacks arrive whole, however they are packed.
func TestPackedMessagesArrive(t *testing.T) {
	s, _ := serve(t)
	const good = `{"id":"wb1"}`
	for name, x := range map[string]struct {
		kind, content string
		headers       []string
	}{
		"gzip":             {"application/json", zip(t, []byte(good)), []string{"Content-Encoding", "gzip"}},
		"two members":      {"application/json", zip(t, []byte(good[:5])) + zip(t, []byte(good[5:])), []string{"Content-Encoding", "gzip"}},
		"identity":         {"application/json; charset=UTF-8", good, []string{"Content-Encoding", "identity"}},
		"time":             {"application/json", good, []string{"Connect-Timeout-Ms", "9999999999"}},
		"grpc":             {"application/grpc+json", frame(0, good), []string{"Grpc-Timeout", "99999999H"}},
		"grpc gzip":        {"application/grpc+json", frame(1, zip(t, []byte(good))), []string{"Grpc-Encoding", "gzip"}},
		"grpc not gzipped": {"application/grpc+json", frame(0, good), []string{"Grpc-Encoding", "gzip"}},
		"web":              {"application/grpc-web+json", frame(0, good), nil},
		"web trailers":     {"application/grpc-web+json", frame(0, good) + frame(0x80, "x: y\r\n"), nil},
	} {
		for _, chunked := range []bool{false, true} {
			if _, answer := send(t, s, x.kind, x.content, chunked, x.headers...); !strings.Contains(string(answer), `"workbench_id":"wb1"`) {
				t.Errorf("%s: %q", name, answer)
			}
		}
	}
}

// Invariant 5.
func TestMessagesShareTheBudget(t *testing.T) {
	const size = 1 << 20
	inside, leave := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle(stat, connect.NewUnaryHandlerSimple(stat, func(context.Context, *workbenchv1.StatRequest) (*workbenchv1.StatResponse, error) {
		inside <- struct{}{}
		<-leave
		return &workbenchv1.StatResponse{}, nil
	}, connectapi.HandlerOptions(2*size, connectapi.Detailed)[1:]...))
	intake := connectapi.NewIntake(body.NewBudget(3*size/2), 2*size, connectapi.Detailed)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { intake.Serve(w, r, mux) }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	large := `{"id":"` + strings.Repeat("a", size) + `"}`
	for _, x := range []struct{ kind, content, header, value string }{
		{"application/json", large, "X-None", "x"},
		{"application/json", zip(t, []byte(large)), "Content-Encoding", "gzip"},
		{"application/grpc+json", frame(1, zip(t, []byte(large))), "Grpc-Encoding", "gzip"},
	} {
		first := make(chan []byte, 1)
		go func() {
			_, answer := send(t, s, x.kind, x.content, false, x.header, x.value)
			first <- answer
		}()
		<-inside
		resp, answer := send(t, s, x.kind, x.content, false, x.header, x.value)
		if got := refusalOf(t, resp, answer); got.code != "unavailable" || got.detail.GetReason() != "UNAVAILABLE" || !got.detail.GetRetryable() {
			t.Errorf("%s beside another: %+v", x.kind, got)
		}
		leave <- struct{}{}
		if answer := <-first; bytes.Contains(answer, []byte("code")) {
			t.Errorf("%s: %q", x.kind, answer)
		}
	}
}
