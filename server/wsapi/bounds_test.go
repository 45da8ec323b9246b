package wsapi_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/wsapi"
)

// raw is a client that says what no library says.
type raw struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (f *fixture) raw() *raw {
	f.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close() })
	r := &raw{f.t, c, bufio.NewReader(c)}
	r.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	resp, err := http.ReadResponse(r.in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		f.t.Fatalf("%v, %v", resp, err)
	}
	return r
}

func (r *raw) send(s string) {
	r.t.Helper()
	if _, err := io.WriteString(r, s); err != nil {
		r.t.Fatal(err)
	}
}

// begin sends the head of a masked text frame of size bytes, masked with zeros.
func (r *raw) begin(size uint64) {
	r.t.Helper()
	r.send("\x81\xff" + string(binary.BigEndian.AppendUint64(nil, size)) + "\x00\x00\x00\x00")
}

// frame reads one small frame of the server.
func (r *raw) frame() (opcode byte, payload string) {
	r.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		r.t.Fatal(err)
	}
	size := int(head[1])
	if size == 126 {
		var long [2]byte
		if _, err := io.ReadFull(r.in, long[:]); err != nil {
			r.t.Fatal(err)
		}
		size = int(binary.BigEndian.Uint16(long[:]))
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r.in, b); err != nil {
		r.t.Fatal(err)
	}
	return head[0] & 15, string(b)
}

// wantClose reads up to the frame that closes.
func (r *raw) wantClose(want websocket.StatusCode) {
	r.t.Helper()
	for {
		opcode, payload := r.frame()
		if opcode != 8 {
			continue
		}
		if len(payload) < 2 || websocket.StatusCode(binary.BigEndian.Uint16([]byte(payload))) != want {
			r.t.Errorf("closed with %q, want %v", payload, want)
		}
		return
	}
}

func TestUnmaskedFramesAreABreachOfTheProtocol(t *testing.T) {
	r := serve(t, capable, nil).raw()
	r.send("\x81\x02{}")
	r.wantClose(websocket.StatusProtocolError)
}

// Invariant 6: within a frame a peer has to keep a least rate, also with one that is passed over; between two it is
// idle as long as it likes.
func TestTricklingFramesAreClosed(t *testing.T) {
	const ping = "\x81\x8f\x00\x00\x00\x00" + `{"type":"ping"}`
	for name, x := range map[string]struct {
		limit  int64
		sent   int
		within time.Duration
	}{
		"held":        {32 << 20, 2 << 20, 50 * time.Second},
		"passed over": {1 << 20, 2 << 20, 50 * time.Second},
		"far ahead":   {32 << 20, 30 << 20, 50 * time.Second}, // at the least rate alone it could stand still for longer
	} {
		f := serve(t, capable, func(o *wsapi.Options) { o.MaxFrameBytes = x.limit })
		r := f.raw()
		f.settle()
		for range 12 { // two minutes without a frame
			f.clock.Advance(10 * time.Second)
			f.settle()
		}
		r.send(ping)
		for {
			opcode, payload := r.frame()
			if opcode == 8 {
				t.Fatalf("%s: closed while idle: %q", name, payload)
			}
			if opcode != 9 && strings.Contains(payload, "pong") {
				break
			}
		}
		// The first part of a message, and a ping whose answer says that the part has been read.
		r.send("\x01\xff" + string(binary.BigEndian.AppendUint64(nil, uint64(x.sent))) + "\x00\x00\x00\x00" + strings.Repeat(" ", x.sent))
		r.send("\x89\x81\x00\x00\x00\x00!")
		for {
			if opcode, payload := r.frame(); opcode == 10 && payload == "!" {
				break
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.wantClose(websocket.StatusPolicyViolation)
		}()
		from := f.clock.Now()
		for closed := false; !closed; {
			f.clock.Advance(10 * time.Second)
			if f.clock.Now().Sub(from) > x.within {
				t.Fatalf("%s: not closed within %v", name, x.within)
			}
			// The watch looks again, or it has closed. The heart waits for an answer to its ping all the while.
			for armed := false; !armed && !closed; {
				select {
				case <-done:
					closed = true
				default:
					armed = f.clock.Armed() > 0
					runtime.Gosched()
				}
			}
		}
	}
}

// settle waits until the timers of one connection are armed.
func (f *fixture) settle() {
	for f.clock.Armed() < 1 {
		runtime.Gosched()
	}
}

// Invariant 6.
func TestFramesShareTheBudget(t *testing.T) {
	f := serve(t, capable, func(o *wsapi.Options) { o.Budget = body.NewBudget(3 << 20) })
	first := f.raw()
	first.begin(4 << 20)
	first.send(strings.Repeat(" ", 2<<20-1))
	// As soon as that is held, another of its size is not.
	for {
		second := f.raw()
		second.begin(3 << 19)
		second.send(strings.Repeat(" ", 3<<19))
		opcode, payload := second.frame()
		if opcode == 8 {
			if got := websocket.StatusCode(binary.BigEndian.Uint16([]byte(payload))); got != websocket.StatusTryAgainLater {
				t.Errorf("closed with %q", payload)
			}
			break
		}
	}
	first.Close()
	for {
		again := f.raw()
		again.begin(3 << 19)
		again.send(strings.Repeat(" ", 3<<19))
		if opcode, _ := again.frame(); opcode != 8 {
			return
		}
	}
}
