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
				if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", x.request, host, framing); err != nil {
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
