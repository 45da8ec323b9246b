package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What is no HTTP request never reaches a handler: net/http refuses it by itself, in plain text, and hangs up. This is a limit,
// and the test says where it ends: whatever the parser lets through is answered in the envelope.
func TestWhatIsNoRequestIsRefusedInPlainText(t *testing.T) {
	address := strings.TrimPrefix(run(t, nil, nil).url, "http://")
	for name, c := range map[string]struct {
		raw      string
		status   int
		envelope bool
	}{
		"a broken escape":         {"GET /v1/workbenches/wb1/files/outputs/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, false},
		"a header without a name": {"GET /health HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n", 400, false},
		"no host":                 {"GET /health HTTP/1.1\r\n\r\n", 400, false},
		"two hosts":               {"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400, false},
		"headers without end":     {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431, false},
		"an unknown coding":       {"POST /v1/workbench/create HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, false},
		"a broken query":          {"GET /v1/workbenches/wb1/files/outputs/a?%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 0, true},
		"an escaped separator":    {"GET /v1/workbenches/wb1/files/outputs/%2f HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 0, true},
		"another host":            {"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403, true},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan struct{})
		go func() {
			_, _ = io.WriteString(conn, c.raw) // the server may hang up before it has read everything
			close(sent)
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
		<-sent
		isJSON := strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
		if c.status != 0 && resp.StatusCode != c.status || isJSON != c.envelope || resp.StatusCode < 400 || !resp.Close {
			t.Errorf("%s: %d %v %s", name, resp.StatusCode, resp.Header, body)
		}
	}
}
