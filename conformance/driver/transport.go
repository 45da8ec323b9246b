package driver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

// exchange is one HTTP conversation as it went over the wire.
type exchange struct {
	method, url    string
	sent           http.Header
	request        []byte
	status         int
	proto          string
	header         http.Header
	response       []byte
	responseLength int64
}

// recorder keeps the last exchange of a client.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	last *exchange
}

const mostRecorded = 1 << 20

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{method: req.Method, url: req.URL.String(), sent: req.Header.Clone()}
	r.mu.Lock()
	r.last = x
	r.mu.Unlock()
	if req.Body != nil && req.Body != http.NoBody {
		req = req.Clone(req.Context())
		req.Body = &tee{from: req.Body, keep: func(p []byte) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(x.request) < mostRecorded {
				x.request = append(x.request, p...)
			}
		}}
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	x.status, x.proto, x.header, x.responseLength = resp.StatusCode, resp.Proto, resp.Header.Clone(), resp.ContentLength
	r.mu.Unlock()
	resp.Body = &tee{from: resp.Body, keep: func(p []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(x.response) < mostRecorded {
			x.response = append(x.response, p...)
		}
	}}
	return resp, nil
}

// exchange returns the last conversation as far as it went.
func (r *recorder) exchange() *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return &exchange{}
	}
	x := *r.last
	x.request, x.response = bytes.Clone(x.request), bytes.Clone(x.response)
	return &x
}

type tee struct {
	from io.ReadCloser
	keep func([]byte)
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		t.keep(p[:n])
	}
	return n, err
}

func (t *tee) Close() error { return t.from.Close() }

func (x *exchange) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s %s\n", x.method, x.url)
	headers(&b, "> ", x.sent)
	fmt.Fprintf(&b, "> %s\n", clip(x.request))
	fmt.Fprintf(&b, "< %s %d\n", x.proto, x.status)
	headers(&b, "< ", x.header)
	fmt.Fprintf(&b, "< %s\n", clip(x.response))
	return b.String()
}

func headers(b *strings.Builder, prefix string, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, v := range h[name] {
			fmt.Fprintf(b, "%s%s: %s\n", prefix, name, v)
		}
	}
}

func clip(p []byte) string {
	const most = 2000
	if len(p) <= most {
		return fmt.Sprintf("%q", p)
	}
	return fmt.Sprintf("%q… (%d bytes)", p[:most], len(p))
}

// Transport makes a connection pool of its own, for HTTP/1.1 or for HTTP/2.
func (e Endpoint) Transport(http2 bool) *http.Transport {
	t := &http.Transport{
		DialContext:         e.Dial,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
	}
	if http2 {
		p := new(http.Protocols)
		if strings.HasPrefix(e.URL, "https:") {
			p.SetHTTP2(true)
		} else {
			p.SetUnencryptedHTTP2(true)
		}
		t.Protocols = p
	}
	return t
}

// client makes an HTTP client that follows no redirects and records.
func (e Endpoint) client(http2 bool) (*http.Client, *recorder, *http.Transport) {
	t := e.Transport(http2)
	rec := &recorder{next: t}
	return &http.Client{
		Transport: rec,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}, rec, t
}

// post sends one request and reads the whole answer.
func post(ctx context.Context, client *http.Client, method, url string, header http.Header, body []byte) (*http.Response, []byte, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		return nil, nil, err
	}
	for name, v := range header {
		req.Header[name] = v
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}
