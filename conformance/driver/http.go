package driver

import (
	"context"
	"net/http"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// httpDriver speaks plain HTTP with JSON bodies, as the OpenAPI documents describe it.
type httpDriver struct {
	end       Endpoint
	client    *http.Client
	recorder  *recorder
	transport *http.Transport
}

func newHTTP(e Endpoint) *httpDriver {
	d := &httpDriver{end: e}
	d.client, d.recorder, d.transport = e.client(false)
	return d
}

func (d *httpDriver) Call(ctx context.Context, op *contract.Operation, args any) (*Answer, error) {
	if op.Method == http.MethodGet {
		if object, ok := args.(map[string]any); !ok || len(object) > 0 {
			return nil, ErrInexpressible
		}
		return d.send(ctx, op, nil)
	}
	return d.send(ctx, op, value.Encode(args))
}

func (d *httpDriver) Send(ctx context.Context, op *contract.Operation, raw []byte) (*Answer, error) {
	if op.Method == http.MethodGet {
		return nil, ErrInexpressible
	}
	if raw == nil {
		raw = []byte{}
	}
	return d.send(ctx, op, raw)
}

func (d *httpDriver) send(ctx context.Context, op *contract.Operation, body []byte) (*Answer, error) {
	header := http.Header{}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	resp, data, err := post(ctx, d.client, op.Method, d.end.URL+op.Path, header, body)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	if err := op.CheckHTTP(resp.StatusCode, resp.Header.Get("Content-Type"), data); err != nil {
		a.breach("%v", err)
	}
	if resp.Header.Get("X-Request-Id") == "" {
		a.breach("the answer has no X-Request-Id")
	}
	v, err := value.Decode(data)
	if err != nil {
		a.breach("the body is no JSON value: %v: %s", err, clip(data))
		a.Refusal = &Refusal{Status: resp.StatusCode}
		return a, nil
	}
	if resp.StatusCode == http.StatusOK {
		a.result(op, v)
		return a, nil
	}
	a.refusal(d.end.Contract, op.Area, v)
	a.Refusal.Status = resp.StatusCode
	return a, nil
}

func (d *httpDriver) Trace() string { return d.recorder.exchange().String() }

func (d *httpDriver) Close() error {
	d.transport.CloseIdleConnections()
	return nil
}
