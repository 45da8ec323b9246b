package body_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
)

func request(r io.Reader, length int64) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/", r)
	req.ContentLength = length
	return req
}

// Invariant 1, with and without an announced length, over the border of the pooled size.
func TestReadIsExact(t *testing.T) {
	b := body.NewBudget(0)
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 3 << 20} {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		for _, length := range []int64{int64(size), -1} {
			buf, err := b.Read(httptest.NewRecorder(), request(iotest.HalfReader(bytes.NewReader(want)), length), int64(size))
			if err != nil {
				t.Fatalf("%d bytes announced as %d: %v", size, length, err)
			}
			if !bytes.Equal(buf.Bytes(), want) {
				t.Errorf("%d bytes announced as %d came out changed", size, length)
			}
			buf.Release()
			if size == 0 {
				continue
			}
			_, err = b.Read(httptest.NewRecorder(), request(bytes.NewReader(want), length), int64(size)-1)
			if !fault.Is(err, op.ReasonBodyTooLarge) {
				t.Errorf("%d bytes announced as %d under a limit one smaller: %v", size, length, err)
			}
		}
	}
}

// Invariant 2: a spent budget refuses at once, and comes back with Release and with every failure.
func TestBudget(t *testing.T) {
	const size = 1 << 20
	b := body.NewBudget(3 * size / 2)
	large := func(length int64) (body.Buffer, error) {
		return b.Read(httptest.NewRecorder(), request(bytes.NewReader(make([]byte, size)), length), 4*size)
	}
	first, err := large(size)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int64{size, -1} {
		_, err := large(length)
		if !fault.Is(err, op.ReasonUnavailable) || !op.ReasonUnavailable.Face().Retryable {
			t.Errorf("a second large body: %v", err)
		}
	}
	if small, err := b.Read(httptest.NewRecorder(), request(strings.NewReader("{}"), 2), size); err != nil {
		t.Errorf("a small body beside a spent budget: %v", err)
	} else {
		small.Release()
	}
	first.Release()
	if _, err := b.Read(httptest.NewRecorder(), request(strings.NewReader("short"), size), 4*size); !fault.Is(err, op.ReasonCancelled) {
		t.Errorf("a body that ends early: %v", err)
	}
	for range 3 {
		again, err := large(size)
		if err != nil {
			t.Fatalf("the budget did not come back: %v", err)
		}
		// Whoever abandons a body may go on reading it, and no longer holds a share.
		data := again.Bytes()
		again.Abandon()
		if len(data) != size {
			t.Errorf("%d bytes after Abandon", len(data))
		}
	}
}

func TestReaderRemembersWhoseErrorItWas(t *testing.T) {
	own := fault.New(op.ReasonBodyTooLarge, "")
	for err, want := range map[error]op.Reason{
		io.ErrUnexpectedEOF:    op.ReasonCancelled,
		os.ErrDeadlineExceeded: op.ReasonDeadlineExceeded,
		own:                    op.ReasonBodyTooLarge,
	} {
		r := body.NewReader(httptest.NewRecorder(), iotest.ErrReader(err))
		if _, got := io.ReadAll(r); !errors.Is(got, err) {
			t.Errorf("read error %v came out as %v", err, got)
		}
		if !fault.Is(r.Failure(), want) {
			t.Errorf("failure for %v: %v, want %s", err, r.Failure(), want)
		}
	}
	r := body.NewReader(httptest.NewRecorder(), strings.NewReader("abc"))
	if _, err := io.ReadAll(r); err != nil || r.Failure() != nil || r.Count() != 3 {
		t.Errorf("a good body: %v, %v, %d bytes", err, r.Failure(), r.Count())
	}
}

// Invariant 2: an announcement takes nothing from the budget; what has arrived does.
func TestAnAnnouncementReservesNothing(t *testing.T) {
	const size = 1 << 20
	b := body.NewBudget(2 * size)
	stalled, peer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := b.Read(httptest.NewRecorder(), request(stalled, 40*size), 40*size)
		done <- err
	}()
	peer.Write([]byte("x")) // it is being read, and has announced twenty times the budget
	buf, err := b.Read(httptest.NewRecorder(), request(bytes.NewReader(make([]byte, size)), size), size)
	if err != nil {
		t.Errorf("a body beside one that was only announced: %v", err)
	}
	buf.Release()
	peer.Close()
	if err := <-done; !fault.Is(err, op.ReasonCancelled) {
		t.Errorf("a body shorter than announced: %v", err)
	}
	if buf, err = b.Read(httptest.NewRecorder(), request(bytes.NewReader(make([]byte, 2*size)), 2*size), 2*size); err != nil {
		t.Errorf("the broken body kept a share of the budget: %v", err)
	}
	buf.Release()
}

// Invariant 3: a held body that moves, but only just, is given up too, with a length announced and without.
func TestTricklingBodiesAreGivenUp(t *testing.T) {
	for _, head := range []string{"Content-Length: 104857600\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			b := body.NewBudget(0)
			failures := make(chan error, 1)
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := b.Read(w, r, 200<<20)
				failures <- err
			}))
			piece := "x"
			if strings.Contains(head, "chunked") {
				piece = "1\r\nx\r\n"
			}
			client.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\n" + head))
			written := make(chan struct{})
			go func() {
				defer close(written)
				for range 20 {
					if _, err := client.Write([]byte(piece)); err != nil {
						return
					}
					time.Sleep(10 * time.Second)
				}
			}()
			start := time.Now()
			if err := <-failures; !fault.Is(err, op.ReasonDeadlineExceeded) || time.Since(start) > 2*body.Patience {
				t.Errorf("%v after %v", err, time.Since(start))
			}
			client.Close()
			<-written
			time.Sleep(time.Second) // of fake time: the server lingers on the connection
		})
	}
}

// Invariant 3 over a real server on a connection in memory, in fake time.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := make(chan error, 1)
		read := make(chan int64, 1)
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			in := body.NewReader(w, r.Body)
			io.Copy(io.Discard, in)
			failures <- in.Failure()
			read <- in.Count()
		})
		client := serve(t, handler)
		// One byte per 20 seconds is slow, but it moves.
		client.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n"))
		for range 6 {
			client.Write([]byte("x"))
			time.Sleep(20 * time.Second)
		}
		synctest.Wait()
		select {
		case err := <-failures:
			t.Fatalf("a moving peer was given up: %v", err)
		default:
		}
		// Now it stands still.
		start := time.Now()
		err := <-failures
		if !fault.Is(err, op.ReasonDeadlineExceeded) || time.Since(start) > body.Patience {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if n := <-read; n != 6 {
			t.Errorf("%d bytes were read", n)
		}
	})
}

// A body that takes longer than the server gives an answer is answered all the same.
func TestLongBodiesAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serveWith(t, &http.Server{ReadTimeout: time.Minute, WriteTimeout: 90 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			in := body.NewReader(w, r.Body)
			io.Copy(io.Discard, in)
			if in.Failure() != nil {
				t.Errorf("the body failed after %d bytes: %v", in.Count(), in.Failure())
			}
			io.WriteString(w, "stored")
		})})
		client.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n"))
		for range 20 {
			time.Sleep(20 * time.Second)
			client.Write([]byte("x"))
		}
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatalf("after %d seconds: %v", 20*20, err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "stored" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

func TestPatienceWithAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := make(chan error, 1)
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			out := body.NewWriter(w)
			chunk := make([]byte, 64<<10)
			for {
				if _, err := out.Write(chunk); err != nil {
					failures <- out.Failure()
					return
				}
			}
		}))
		client.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		start := time.Now()
		if err := <-failures; !fault.Is(err, op.ReasonCancelled) || time.Since(start) > body.Patience {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// serve runs h on one connection in memory, which has deadlines, and returns the client's end.
func serve(t *testing.T, h http.Handler) net.Conn { return serveWith(t, &http.Server{Handler: h}) }

func serveWith(t *testing.T, srv *http.Server) net.Conn {
	client, server := net.Pipe()
	l := &oneListener{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conn <- server
	go srv.Serve(l)
	t.Cleanup(func() { client.Close(); srv.Close() })
	return client
}

type oneListener struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneListener) Close() error   { close(l.closed); return nil }
func (l *oneListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func BenchmarkReadSmall(b *testing.B) {
	budget := body.NewBudget(0)
	data := []byte(`{"id":"wb1","section":"outputs","path":"a.txt"}`)
	w := httptest.NewRecorder()
	r := request(nil, int64(len(data)))
	rd := bytes.NewReader(data)
	r.Body = io.NopCloser(rd)
	b.ReportAllocs()
	for b.Loop() {
		rd.Reset(data)
		buf, err := budget.Read(w, r, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		buf.Release()
	}
}

// A body of HTTP/1.1 whose chunks are none is the client's mistake, not its leaving.
func TestMalformedChunksAreRefused(t *testing.T) {
	b := body.NewBudget(0)
	for content, want := range map[string]op.Reason{
		"zz\r\n":                              op.ReasonInvalidArguments,
		"\r\nabc":                             op.ReasonInvalidArguments,
		"11111111111111111\r\n":               op.ReasonInvalidArguments,
		"3\r\nabcd\r\n0\r\n\r\n":              op.ReasonInvalidArguments,
		"3\nabc\r\n0\r\n\r\n":                 op.ReasonInvalidArguments,
		"3;" + strings.Repeat("x", 9<<10):     op.ReasonInvalidArguments,
		"3\r\nabc\r\n0\r\nno trailer\r\n\r\n": op.ReasonInvalidArguments,
		"3\r\nab":                             op.ReasonCancelled,
	} {
		for kind, take := range map[string]func(w http.ResponseWriter, r *http.Request) error{
			"held": func(w http.ResponseWriter, r *http.Request) error {
				buf, err := b.Read(w, r, 1<<20)
				buf.Release()
				return err
			},
			"streamed": func(w http.ResponseWriter, r *http.Request) error {
				in := body.NewReader(w, r.Body)
				_, _ = io.Copy(io.Discard, in) // Failure is what is asked
				return in.Failure()
			},
		} {
			got := make(chan error, 1)
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got <- take(w, r) }))
			go func() {
				// The server need not take all of what is wrong.
				_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+content)
				if want == op.ReasonCancelled {
					c.Close()
				}
			}()
			if err := <-got; !fault.Is(err, want) {
				t.Errorf("%s %.20q: %v, want %s", kind, content, err, want)
			}
			c.Close()
		}
	}
}

// Invariant 2: small bodies are not counted, whether or not their length is announced.
func TestSmallBodiesTakeNoBudget(t *testing.T) {
	b := body.NewBudget(1)
	content := strings.Repeat("x", 64<<10-1)
	for _, length := range []int64{int64(len(content)), -1} {
		buf, err := b.Read(httptest.NewRecorder(), request(strings.NewReader(content), length), 1<<20)
		if err != nil || string(buf.Bytes()) != content {
			t.Errorf("announced as %d: %d bytes, %v", length, len(buf.Bytes()), err)
		}
		buf.Release()
	}
	if _, err := b.Fill(strings.NewReader(content+content), 1<<20); !fault.Is(err, op.ReasonUnavailable) {
		t.Errorf("a large one: %v", err)
	}
	if _, err := b.Fill(iotest.ErrReader(io.ErrNoProgress), 1); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("the source's own error came out as %v", err)
	}
}
