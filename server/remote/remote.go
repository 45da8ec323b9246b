// Package remote calls the operations of another Sawhorse server, over its JSON face.
//
// Invariants, cited by number in the tests:
//
//  1. An error of the server comes back word for word: code, message, retryable, details.
//  2. Whatever keeps an answer from coming is UNAVAILABLE, which is retryable: the caller cannot know whether the
//     call was carried out, and the operations are made so that a repeat shows.
//  3. A connection is dialled anew when the old one has died, so that a client outlives the server that it began with.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// maxAnswer bounds an answer: the largest page of base64 is far below.
const maxAnswer = 64 << 20

// dialTimeout bounds how long a call waits for a connection.
const dialTimeout = 5 * time.Second

// Client calls one server. It is safe for concurrent use.
type Client struct {
	base   string
	http   *http.Client
	absent string
}

// New returns a client of the server at base, such as http://127.0.0.1:8080. A dial that is not nil replaces the
// network's; it is called for every new connection.
func New(base string, dial func(ctx context.Context) (net.Conn, error)) *Client {
	t := &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, DisableCompression: true,
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext}
	if dial != nil {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return dial(ctx)
		}
	}
	return &Client{base: strings.TrimRight(base, "/"), absent: "No server answers at the moment; try again shortly.", http: &http.Client{Transport: t,
		// The operations answer themselves; whoever redirects is not a Sawhorse server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// SayAbsent sets the public sentence for the time when nobody answers. It is called before the first call.
func (c *Client) SayAbsent(text string) { c.absent = text }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// do sends a request as part of the trace that its context belongs to.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return c.http.Do(r)
}

// Call carries out one operation at the server. It is a call.Invoker. The error carries a reason.
func (c *Client) Call(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error) {
	if d.HTTPPath == "" || d.Decode == nil {
		return nil, fault.New(op.ReasonUnimplemented, "")
	}
	var send io.Reader
	if d.HTTPMethod != http.MethodGet {
		send = bytes.NewReader(req.AppendJSON(nil))
	}
	r, err := http.NewRequestWithContext(ctx, d.HTTPMethod, c.base+d.HTTPPath, send)
	if err != nil {
		return nil, fault.New(op.ReasonInternal, "").Because(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if id := call.RequestID(ctx); id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	resp, err := c.do(r)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	if len(answer) > maxAnswer {
		return nil, notOurs(fmt.Errorf("an answer of more than %d bytes", maxAnswer))
	}
	if resp.StatusCode == http.StatusOK {
		res, inv := d.DecodeResult(answer)
		if inv != nil {
			return nil, notOurs(inv)
		}
		return res, nil
	}
	return nil, refusal(d, resp.StatusCode, answer)
}

// unanswered gives a failure of the connection its reason (invariant 2).
func (c *Client) unanswered(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fault.From(cause)
	}
	return fault.New(op.ReasonUnavailable, c.absent).Because(err)
}

func notOurs(err error) error {
	return fault.New(op.ReasonUnavailable, "What answered is not a Sawhorse server of this version.").Because(err)
}

// envelope is the union of the areas' error envelopes.
type envelope struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details"`
	Error     *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// refusal reads an error envelope (invariant 1).
func refusal(d *op.Descriptor, status int, answer []byte) error {
	var e envelope
	if err := json.Unmarshal(answer, &e); err != nil {
		return notOurs(err)
	}
	p := call.Public{Code: e.Code, Message: e.Message, Retryable: e.Retryable, Details: e.Details, HTTPStatus: status}
	if e.Error != nil {
		p.Code, p.Message = e.Error.Code, e.Error.Message
	}
	if p.Code == "" {
		return notOurs(errors.New("an answer without a code"))
	}
	if len(p.Details) == 0 || p.Details[0] != '{' {
		p.Details = []byte("{}")
	}
	p.Reason, p.Connect = reasonFor(d.Area, p.Code, status)
	return &call.Remote{Public: p}
}

// reasonFor guesses the reason behind a public word; INTERNAL when this build does not know it.
func reasonFor(area op.Area, code string, status int) (op.Reason, string) {
	for _, r := range op.Reasons {
		if f := r.Face(); f.Code[area] == code && f.HTTPStatus == status {
			return r, f.Connect
		}
	}
	return op.ReasonInternal, op.ReasonInternal.Face().Connect
}
