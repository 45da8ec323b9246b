package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server"
)

// fullStore has one file, and takes no other.
type fullStore struct{ op.Files }

type oneFile struct{ op.File }

func (oneFile) Card() op.FileCard { return op.FileCard{Generation: 7, DigestURI: "sha256:00"} }
func (oneFile) Close() error      { return nil }

func (fullStore) OpenFile(_ context.Context, ref op.FileRef) (op.File, error) {
	if ref.Path == "there" {
		return oneFile{}, nil
	}
	return nil, fault.New(op.ReasonWBNotFound, "")
}

func (fullStore) StoreFile(_ context.Context, _ op.FileRef, _ op.FileCondition, _ string, in io.Reader, _ int64) (op.FileCard, error) {
	if _, err := io.ReadFull(in, make([]byte, 1000)); err != nil {
		return op.FileCard{}, err
	}
	return op.FileCard{}, fault.New(op.ReasonResourceExhausted, "")
}

// A client that sends all of its body before it looks for an answer gets the answer that came early, and no reset.
func TestEarlyRefusalsReachClientsThatKeepSending(t *testing.T) {
	const sent = 24 << 20
	dir := t.TempDir()
	s := newServer(t, nil, func(o *server.Options) {
		o.API.Files = fullStore{}
		o.MaxBodyBytes = 1 << 30
		o.MaxCallBytes = 1 << 20
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var listeners []net.Listener
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, "s")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	go func() { done <- s.Serve(ctx, listeners...) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	file := "PUT /v1/workbenches/wb1/files/outputs/"
	for _, x := range []struct {
		name, request string
		length        int64 // announced; -1 for chunks
		status        int
	}{
		{"larger than the server stores", file + "new", 2 << 30, 413},
		{"on a full disk", file + "new", sent, 507},
		{"on a full disk, in chunks", file + "new", -1, 507},
		{"where something is", file + "there", sent, 409},
		{"where something is, in chunks", file + "there", -1, 409},
		{"where something is, of a client that comes once", file + "there HTTP/1.1\r\nConnection: close", sent, 409},
		{"in chunks, of a client that comes once", file + "there HTTP/1.1\r\nConnection: close", -1, 409},
		{"larger than the server stores, of HTTP/1.0", file + "new HTTP/1.0\r\nX-Old: yes", 2 << 30, 413},
		{"with a malformed header", file + "new HTTP/1.1\r\nbroken", sent, 400},
		{"under another section", "PUT /v1/workbenches/wb1/files/outputs/../x", sent, 400},
		{"a call", "POST " + createPath, sent, 413},
		{"a call, in chunks", "POST " + createPath, -1, 413},
		{"a call of Connect", "POST " + createConnect, sent, 429},
		{"to no route", "POST /v1/nothing", sent, 404},
		{"with a wrong method", "DELETE " + createPath, sent, 405},
		{"to another host", "POST " + createPath, sent, 403},
	} {
		for _, l := range listeners {
			t.Run(x.name+" by "+l.Addr().Network(), func(t *testing.T) {
				t.Parallel()
				conn, err := net.Dial(l.Addr().Network(), l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				host, framing := "localhost", fmt.Sprintf("Content-Length: %d", x.length)
				if x.status == 403 {
					host = "example.com"
				}
				piece := strings.Repeat("x", 1<<20)
				if x.length < 0 {
					framing = "Transfer-Encoding: chunked"
					piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
				}
				request := x.request
				if !strings.Contains(request, " HTTP/") {
					request += " HTTP/1.1"
				}
				if _, err := fmt.Fprintf(conn, "%s\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", request, host, framing); err != nil {
					t.Fatal(err)
				}
				for n := 0; n < sent; n += 1 << 20 {
					if _, err := io.WriteString(conn, piece); err != nil {
						t.Fatalf("after %d MiB: %v", n>>20, err)
					}
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != x.status || len(answer) == 0 {
					t.Errorf("status %d, want %d: %q, %v", resp.StatusCode, x.status, answer, err)
				}
			})
		}
	}
}

// Over HTTP/2 the answer arrives before the stream is reset, and the connection goes on.
func TestEarlyRefusalsOverHTTP2(t *testing.T) {
	r := run(t, nil, func(o *server.Options) { o.API.Files = fullStore{} })
	client := h2c()
	for range 3 {
		req, err := http.NewRequest(http.MethodPut, r.url+"/v1/workbenches/wb1/files/outputs/there", io.LimitReader(endless{}, 16<<20))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 409 || len(answer) == 0 {
			t.Errorf("%d %q %v", resp.StatusCode, answer, err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A peer that neither closes nor sends does not keep anybody: the end of its connection is nobody's wait.
func TestLingeringKeepsNobody(t *testing.T) {
	r := run(t, nil, func(o *server.Options) { o.API.Files = fullStore{} })
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PUT /v1/workbenches/wb1/files/outputs/there HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// The whole answer and the end of it come, while the body does not.
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 409 ") {
		t.Fatalf("%q, %v", answer, err)
	}
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}
