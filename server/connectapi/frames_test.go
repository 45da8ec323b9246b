package connectapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// rawly sends bytes over a socket and returns the answer as it lies on the wire, read to the connection's end.
func rawly(t *testing.T, address, kind, content string) (head string, fields http.Header, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", stat, kind, len(content), content); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(all), "\r\n\r\n")
	if !ok {
		t.Fatalf("%q is no answer", all)
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(all))), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return head, resp.Header, string(b)
}

// Invariant 4, byte by byte: what is wrong with the frames of a call is told as each protocol tells an error that comes
// before any message.
//
// gRPC-Web over HTTP/1.1 is 200 with the status among the headers and nothing in the body: a trailers-only answer, which a
// frame of trailers beside it would tell a second time. gRPC has it in the trailers of HTTP/2, without DATA. Connect's unary
// calls have no frames; what lies in place of a message is told by a status and JSON.
func TestFramingErrorsOnTheWire(t *testing.T) {
	s, _ := serve(t)
	address := strings.TrimPrefix(s.URL, "http://")
	const good = `{"id":"wb1"}`
	for _, x := range []struct {
		name, content string
		code          string // of gRPC
	}{
		{"nothing", "", "12"},
		{"one byte", "\x00", "3"},
		{"four bytes", "\x00\x00\x00\x00", "3"},
		{"a head alone", "\x00\x00\x00\x00\x0c", "3"},
		{"half a message", "\x00\x00\x00\x00\x0c" + good[:6], "3"},
		{"less than a frame announces by one", "\x00\x00\x00\x00\x0d" + good, "3"},
		{"a byte more", "\x00\x00\x00\x00\x0c" + good + "x", "12"},
		{"two messages", frame(0, good) + frame(0, good), "12"},
		{"a message and half a head", frame(0, good) + "\x00\x00", "12"},
		{"a message and half a frame of trailers", frame(0, good) + "\x80\x00\x00\x00\x09a: b", "12"},
		{"two frames of trailers", frame(0, good) + frame(0x80, "a: b\r\n") + frame(0x80, "a: b\r\n"), "12"},
		{"trailers alone", frame(0x80, "a: b\r\n"), "3"},
		{"trailers before the message", frame(0x80, "a: b\r\n") + frame(0, good), "3"},
		{"an unknown flag", frame(2, good), "3"},
		{"all flags", frame(0xff, good), "3"},
		{"compressed by nothing", frame(1, good), "13"},
		{"the longest length", "\x00\xff\xff\xff\xff" + good, "8"},
		{"a length with its highest bit", "\x00\x80\x00\x00\x0c" + good, "8"},
		{"text in place of a frame", good, "3"},
	} {
		for _, kind := range []string{"application/grpc-web+json", "application/grpc-web+proto", "application/grpc-web"} {
			code := x.code
			if x.name == "text in place of a frame" {
				code = "8" // read as a frame, its length is four letters
			}
			head, fields, body := rawly(t, address, kind, x.content)
			status, _, _ := strings.Cut(head, "\r\n")
			if status != "HTTP/1.1 200 OK" || fields.Get("Content-Type") != kind || fields.Get("Grpc-Status") != code {
				t.Errorf("%s, %s: %q, want status %s", kind, x.name, head, code)
			}
			if body != "" || strings.Count(strings.ToLower(head), "grpc-status:") != 1 || fields.Get("Content-Length") != "0" || fields.Get("Trailer") != "" {
				t.Errorf("%s, %s: the status is told otherwise than once: %q and %q", kind, x.name, head, body)
			}
			if got := refusalOf(t, &http.Response{Header: fields}, []byte(body)); got.detail == nil || got.message != got.detail.GetMessage() {
				t.Errorf("%s, %s: %+v", kind, x.name, got)
			}
		}
		// gRPC is HTTP/2; here are the bytes that its DATA frames carry.
		code := x.code
		if x.name == "text in place of a frame" {
			code = "8"
		}
		resp, answer := send(t, s, "application/grpc+json", x.content, false)
		if len(answer) != 0 || resp.StatusCode != 200 || resp.Trailer.Get("Grpc-Status")+resp.Header.Get("Grpc-Status") != code {
			t.Errorf("gRPC, %s: %d %v %v %q, want %s", x.name, resp.StatusCode, resp.Header, resp.Trailer, answer, code)
		}
		if got := refusalOf(t, resp, answer); got.detail == nil {
			t.Errorf("gRPC, %s: %+v", x.name, got)
		}
		// The same bytes in place of a message of Connect.
		if x.content == good {
			continue
		}
		head, fields, body := rawly(t, address, "application/json", x.content)
		if !strings.HasPrefix(head, "HTTP/1.1 400 ") || fields.Get("Content-Type") != "application/json" || fields.Get("Grpc-Status") != "" {
			t.Errorf("Connect, %s: %q", x.name, head)
		}
		if got := connectRefusal(t, []byte(body)); got.code != "invalid_argument" || got.detail == nil {
			t.Errorf("Connect, %s: %+v", x.name, got)
		}
	}
	// An answer that has a message is followed by one frame of trailers, and nothing else.
	head, fields, body := rawly(t, address, "application/grpc-web+json", frame(0, good))
	if !strings.HasPrefix(head, "HTTP/1.1 200 ") || len(fields["Grpc-Status"]) != 0 || body == "" || body[0] != 0 {
		t.Fatalf("%q %q", head, body)
	}
	size := int(body[1])<<24 | int(body[2])<<16 | int(body[3])<<8 | int(body[4])
	trailer := body[5+size:]
	if trailer[0] != 0x80 || int(trailer[3])<<8|int(trailer[4]) != len(trailer)-5 || strings.Count(trailer, "grpc-status: 0\r\n") != 1 || strings.Contains(trailer, "Grpc") {
		t.Errorf("trailers %q", trailer)
	}
	// Types that are none of these are told by HTTP, whatever is in the body.
	for _, kind := range []string{"application/grpc-web-text", "application/grpc-webx", "application/grpcx", "application/connect+json", "text/plain"} {
		if head, _, body := rawly(t, address, kind, frame(0, good)[:7]); !strings.HasPrefix(head, "HTTP/1.1 415 ") {
			t.Errorf("%s: %q %q", kind, head, body)
		}
	}
}
