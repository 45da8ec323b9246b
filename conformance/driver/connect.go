package driver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/common/v1"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// connectDriver speaks Connect (JSON or protobuf), gRPC or gRPC-Web. The framing is that of the Connect client;
// messages pass through it as bytes.
type connectDriver struct {
	protocol  Protocol
	end       Endpoint
	client    *http.Client
	recorder  *recorder
	transport *http.Transport
}

func newConnect(p Protocol, e Endpoint) *connectDriver {
	d := &connectDriver{protocol: p, end: e}
	d.client, d.recorder, d.transport = e.client(p == GRPC)
	return d
}

// bytesCodec lets messages through as they are. The client itself uses it for the status of gRPC, a real message.
type bytesCodec string

func (c bytesCodec) Name() string { return string(c) }

func (bytesCodec) Marshal(m any) ([]byte, error) {
	switch m := m.(type) {
	case *[]byte:
		return *m, nil
	case proto.Message:
		return proto.Marshal(m)
	}
	return nil, fmt.Errorf("neither bytes nor a message but %T", m)
}

func (bytesCodec) Unmarshal(data []byte, m any) error {
	switch m := m.(type) {
	case *[]byte:
		*m = append([]byte{}, data...)
		return nil
	case proto.Message:
		return proto.Unmarshal(data, m)
	}
	return fmt.Errorf("neither bytes nor a message but %T", m)
}

func (d *connectDriver) json() bool { return d.protocol == ConnectJSON }

func (d *connectDriver) Call(ctx context.Context, op *contract.Operation, args any) (*Answer, error) {
	m, err := method(op)
	if err != nil {
		return nil, err
	}
	msg, err := say(args, m.Input())
	switch {
	case err == nil:
		// What arrives is what the encoding says, not what was meant: when that satisfies the schema and the
		// arguments do not, the protocol has no way to be wrong in this way.
		heard, err := hear(msg)
		if err != nil {
			return nil, err
		}
		if op.Check(args) != nil && op.Check(heard) == nil {
			return nil, ErrInexpressible
		}
	case !errors.Is(err, ErrInexpressible) || !d.json():
		return nil, err
	}
	if d.json() {
		return d.Send(ctx, op, value.Encode(lower(args, m.Input())))
	}
	data, err := proto.Marshal(msg)
	if err != nil {
		return nil, err
	}
	return d.send(ctx, op, data)
}

func (d *connectDriver) Send(ctx context.Context, op *contract.Operation, raw []byte) (*Answer, error) {
	if !d.json() {
		return nil, ErrInexpressible
	}
	return d.send(ctx, op, raw)
}

func (d *connectDriver) send(ctx context.Context, op *contract.Operation, message []byte) (*Answer, error) {
	m, err := method(op)
	if err != nil {
		return nil, err
	}
	codec := "proto"
	if d.json() {
		codec = "json"
	}
	options := []connect.ClientOption{connect.WithCodec(bytesCodec(codec))}
	switch d.protocol {
	case GRPC:
		options = append(options, connect.WithGRPC())
	case GRPCWeb:
		options = append(options, connect.WithGRPCWeb())
	}
	client := connect.NewClient[[]byte, []byte](d.client, d.end.URL+"/"+op.RPC, options...)
	resp, err := client.CallUnary(ctx, connect.NewRequest(&message))
	a := &Answer{}
	if err != nil {
		return a, d.refused(a, op, err)
	}
	if d.json() {
		v, err := value.Decode(*resp.Msg)
		if err != nil {
			a.breach("the body is no JSON value: %v: %s", err, clip(*resp.Msg))
			return a, nil
		}
		a.result(op, op.Settle(lift(v, m.Output(), "$", a.breach)))
	} else {
		msg, err := newMessage(m.Output())
		if err != nil {
			return nil, err
		}
		if err := proto.Unmarshal(*resp.Msg, msg); err != nil {
			a.breach("the message is no %s: %v", m.Output().FullName(), err)
			return a, nil
		}
		if unknown := msg.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			a.breach("the message has fields that %s does not", m.Output().FullName())
		}
		v, err := hear(msg)
		if err != nil {
			a.breach("%v", err)
		}
		a.result(op, op.Settle(v))
	}
	d.checkExchange(a, false)
	return a, nil
}

// refused turns a Connect error into a refusal.
func (d *connectDriver) refused(a *Answer, op *contract.Operation, err error) error {
	var ce *connect.Error
	if !errors.As(err, &ce) || !connect.IsWireError(err) {
		return err
	}
	r := &Refusal{Connect: ce.Code().String()}
	a.Refusal = r
	d.checkExchange(a, true)
	details := 0
	for _, detail := range ce.Details() {
		if detail.Type() != "sawhorse.common.v1.ErrorDetail" {
			continue
		}
		details++
		var e commonv1.ErrorDetail
		if err := proto.Unmarshal(detail.Bytes(), &e); err != nil {
			a.breach("the error detail cannot be read: %v", err)
			continue
		}
		r.Reason, r.Code, r.Message = e.GetReason(), e.GetCode(), e.GetMessage()
		retryable := e.GetRetryable()
		r.Retryable = &retryable
		v, err := value.Decode([]byte(e.GetDetailsJson()))
		object, ok := v.(map[string]any)
		if err != nil || !ok {
			a.breach("details_json %q is no JSON object", e.GetDetailsJson())
		}
		r.Details = object
	}
	if details != 1 {
		a.breach("the error %v carries %d details of type sawhorse.common.v1.ErrorDetail, want 1", err, details)
	}
	if ce.Message() != r.Message {
		a.breach("the error says %q and its detail %q", ce.Message(), r.Message)
	}
	if r.Reason != "" {
		row, ok := d.end.Contract.Reason(r.Reason)
		if !ok {
			a.breach("the detail names the reason %q, which is not registered", r.Reason)
		} else if row.Connect != r.Connect {
			a.breach("the reason %s came with the code %s, the registry says %s", r.Reason, r.Connect, row.Connect)
		}
	}
	// The areas differ in what their errors have room for on other protocols.
	if op.Area != "workbench" {
		r.Details = nil
	}
	if op.Area == "operator" {
		r.Retryable = nil
	}
	return nil
}

// statusOf is the HTTP status that the Connect protocol prescribes for an error code of a unary call.
var statusOf = map[string]int{
	"canceled": 499, "unknown": 500, "invalid_argument": 400, "deadline_exceeded": 504, "not_found": 404,
	"already_exists": 409, "permission_denied": 403, "resource_exhausted": 429, "failed_precondition": 400,
	"aborted": 409, "out_of_range": 400, "unimplemented": 501, "internal": 500, "unavailable": 503,
	"data_loss": 500, "unauthenticated": 401,
}

// checkExchange compares the raw answer with the rules of its protocol, beyond what the client insists on.
func (d *connectDriver) checkExchange(a *Answer, failed bool) {
	x := d.recorder.exchange()
	media := x.header.Get("Content-Type")
	switch d.protocol {
	case ConnectJSON, ConnectProto:
		want := "application/proto"
		if d.json() || failed {
			want = "application/json"
		}
		if media != want {
			a.breach("the content type is %q, want %q", media, want)
		}
		if !failed {
			if x.status != http.StatusOK {
				a.breach("a result with status %d", x.status)
			}
			return
		}
		if want := statusOf[a.Refusal.Connect]; x.status != want {
			a.breach("the code %s came with status %d, Connect prescribes %d", a.Refusal.Connect, x.status, want)
		}
		checkConnectError(a, x.response)
	case GRPC:
		if x.status != http.StatusOK || !strings.HasPrefix(media, "application/grpc") || strings.HasPrefix(media, "application/grpc-web") {
			a.breach("a gRPC answer with status %d and content type %q", x.status, media)
		}
		if x.proto != "HTTP/2.0" {
			a.breach("a gRPC answer over %s", x.proto)
		}
	case GRPCWeb:
		if x.status != http.StatusOK || !strings.HasPrefix(media, "application/grpc-web") {
			a.breach("a gRPC-Web answer with status %d and content type %q", x.status, media)
		}
	}
}

// checkConnectError checks the shape of an error body: code, message, and details of type and value.
func checkConnectError(a *Answer, body []byte) {
	v, err := value.Decode(body)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		a.breach("the error body is no JSON object: %s", clip(body))
		return
	}
	for name, e := range object {
		switch name {
		case "code", "message":
			if _, ok := e.(string); !ok {
				a.breach("error member %q is no text", name)
			}
		case "details":
			list, ok := e.([]any)
			if !ok {
				a.breach("error details are no array")
			}
			for _, detail := range list {
				m, _ := detail.(map[string]any)
				for name, e := range m {
					_, isText := e.(string)
					if name != "debug" && (!isText || name != "type" && name != "value") {
						a.breach("an error detail has the member %q: %s", name, value.Shorten(e))
					}
				}
			}
		default:
			a.breach("the error body has the member %q", name)
		}
	}
}

func (d *connectDriver) Trace() string { return d.recorder.exchange().String() }

func (d *connectDriver) Close() error {
	d.transport.CloseIdleConnections()
	return nil
}
