package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Run sends p and returns what it saw. The first answer that is not as the plan expects ends the run with an error that shows it: a
// benchmark of failures is no benchmark.
func Run(ctx context.Context, p Plan) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, total atomic.Int64
	next.Store(p.Next)
	lat := make([][]int64, p.Conns)
	start := time.Now()
	count := start.Add(p.Warmup)
	end := count.Add(p.Duration)
	var wg sync.WaitGroup
	for w := range p.Conns {
		wg.Go(func() {
			var err error
			if lat[w], err = worker(ctx, p, w, &next, &total, count, end); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	all := slices.Concat(lat...)
	if len(all) == 0 {
		return Result{}, errors.New("no request was answered in the counted time")
	}
	slices.Sort(all)
	took := min(time.Since(count), p.Duration)
	return Result{
		Count: int64(len(all)),
		Rate:  float64(len(all)) / took.Seconds(),
		P50:   all[len(all)/2],
		P99:   all[len(all)*99/100],
		Max:   all[len(all)-1],
		Bytes: total.Load(),
		Next:  next.Load(),
	}, nil
}

// worker runs one connection and returns the latencies of the answers that came between count and end.
func worker(ctx context.Context, p Plan, w int, next, total *atomic.Int64, count, end time.Time) ([]int64, error) {
	c, err := Dial(ctx, p.Addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request := slices.Clone(p.Template)
	at := w * len(p.Requests) / p.Conns
	expect := []byte(p.Expect)
	lat := make([]int64, 0, 1<<16)
	var bodies int64
	for t := time.Now(); t.Before(end) && ctx.Err() == nil; {
		if p.Template != nil {
			n := next.Add(1) - 1
			if p.Limit > 0 && n >= p.Next+p.Limit {
				break
			}
			fill(request, p.Holes, n)
		} else {
			request = p.Requests[at]
			if at++; at == len(p.Requests) {
				at = 0
			}
		}
		status, body, err := c.Do(request)
		if err != nil {
			return nil, err
		}
		if status != p.Status || !bytes.Contains(body, expect) {
			return nil, fmt.Errorf("answer %d %.600q, wanted %d with %q in it; the request was %.600q", status, body, p.Status, p.Expect, request)
		}
		bodies += int64(len(body))
		n := time.Now()
		if n.After(count) && n.Before(end) {
			lat = append(lat, n.Sub(t).Nanoseconds())
		}
		t = n
	}
	total.Add(bodies)
	return lat, nil
}

// Conn is one keep-alive HTTP/1.1 connection. Not safe for concurrent use.
type Conn struct {
	net.Conn
	r    *bufio.Reader
	body []byte
}

// Dial connects to addr; the connection dies with ctx.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { c.Close() })
	return &Conn{Conn: c, r: bufio.NewReaderSize(c, 32<<10)}, nil
}

// Do sends one whole request and reads one whole answer. The body is valid until the next call. It understands a Content-Length and chunked
// bodies, and no more of HTTP than that.
func (c *Conn) Do(request []byte) (status int, body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	status, length, err := c.Head()
	if err != nil {
		return 0, nil, err
	}
	c.body = c.body[:0]
	if length < 0 {
		err = c.chunks()
	} else {
		err = c.take(length)
	}
	return status, c.body, err
}

// Head reads a status line and the header; length is -1 for a chunked body.
func (c *Conn) Head() (status, length int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, 0, fmt.Errorf("bad status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if len(line) <= 2 {
			return status, length, nil
		}
		switch {
		case hasField(line, "content-length:"):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[15:]))); err != nil {
				return 0, 0, err
			}
		case hasField(line, "transfer-encoding:"):
			length = -1
		}
	}
}

// Discard reads and drops n bytes of a body.
func (c *Conn) Discard(n int) error {
	_, err := io.CopyN(io.Discard, c.r, int64(n))
	return err
}

// take appends n bytes to the body.
func (c *Conn) take(n int) error {
	at := len(c.body)
	c.body = slices.Grow(c.body, n)[:at+n]
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}

func (c *Conn) chunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := c.take(int(n)); err != nil {
			return err
		}
		if _, err := c.r.Discard(2); err != nil || n == 0 {
			return err
		}
	}
}

// hasField reports whether line begins with field, which is in lower case.
func hasField(line []byte, field string) bool {
	return len(line) >= len(field) && bytes.EqualFold(line[:len(field)], []byte(field))
}
