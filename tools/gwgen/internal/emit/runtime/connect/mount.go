//go:build gwgen_template

package bindconnect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Caller does a call: what stands between every protocol and the meaning.
type Caller interface {
	Call(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error)
}

// binding says how the messages of an operation are read and written.
type binding struct {
	op            *op.Descriptor
	method        protoreflect.MethodDescriptor
	newRequest    func() proto.Message
	newResponse   func() proto.Message
	decodeRequest func(s *scanner) op.Request
	requestFrom   func(m proto.Message) (op.Request, *Invalid)
	requestTo     func(r op.Request) proto.Message
	resultFrom    func(m proto.Message) (op.Result, *Invalid)
	resultTo      func(r op.Result) proto.Message
	appendResult  func(dst []byte, r op.Result) []byte
}

func bound(d *op.Descriptor) *binding {
	if d == nil || d.Index >= len(bindings) {
		return nil
	}
	return bindings[d.Index]
}

// Request is what a handler of this package receives: the arguments, or why they were refused.
type Request struct {
	binding *binding
	value   op.Request
	refused *Invalid
}

// Response is what a handler of this package answers.
type Response struct {
	binding *binding
	value   op.Result
}

// emptyBody reads a body of no bytes, with which the runtime does not trouble a codec: in the binary form that is the
// message without members, in JSON it is no value at all.
func (b *binding) emptyBody(ctx context.Context) (op.Request, *Invalid) {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok && strings.Contains(info.RequestHeader().Get("Content-Type"), "json") {
		_, refused := b.op.Decode(nil)
		return nil, refused
	}
	return b.requestFrom(b.newRequest())
}

// Mount registers every operation that Connect carries, one handler a service, with handle. opts come after the codecs,
// which Mount sets. fail turns an error, also an *op.Invalid, into the one that the client gets; the arguments have
// been validated when c is called.
func Mount(handle func(pattern string, h http.Handler), c Caller, fail func(ctx context.Context, d *op.Descriptor, err error) error, opts ...connect.HandlerOption) {
	services := map[string]map[string]http.Handler{}
	for _, b := range bindings {
		if b == nil {
			continue
		}
		serve := func(ctx context.Context, in *Request) (*Response, error) {
			if in.value == nil && in.refused == nil {
				in.value, in.refused = b.emptyBody(ctx)
			}
			if in.refused == nil {
				in.refused = in.value.Validate()
			}
			if in.refused != nil {
				return nil, fail(ctx, b.op, in.refused)
			}
			res, err := c.Call(ctx, b.op, in.value)
			if err != nil {
				return nil, fail(ctx, b.op, err)
			}
			return &Response{b, res}, nil
		}
		all := append([]connect.HandlerOption{
			Options(),
			connect.WithSchema(b.method),
			connect.WithRequestInitializer(func(_ connect.Spec, message any) error {
				if in, ok := message.(*Request); ok {
					in.binding = b
				}
				return nil
			}),
		}, opts...)
		service := b.op.ConnectProcedure[:strings.LastIndexByte(b.op.ConnectProcedure, '/')+1]
		if services[service] == nil {
			services[service] = map[string]http.Handler{}
		}
		services[service][b.op.ConnectProcedure] = connect.NewUnaryHandlerSimple(b.op.ConnectProcedure, serve, all...)
	}
	for service, procedures := range services {
		handle(service, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h := procedures[r.URL.Path]; h != nil {
				h.ServeHTTP(w, r)
				return
			}
			http.NotFound(w, r)
		}))
	}
}

// Services names the services that Mount registers, fully qualified; for reflection and health.
func Services() []string {
	var out []string
	seen := map[string]bool{}
	for _, b := range bindings {
		if b != nil {
			if name := string(b.method.Parent().FullName()); !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// NewRequest gives an empty request message of an operation, nil when Connect does not carry it.
func NewRequest(d *op.Descriptor) proto.Message {
	if b := bound(d); b != nil {
		return b.newRequest()
	}
	return nil
}

// NewResponse gives an empty response message of an operation, nil when Connect does not carry it.
func NewResponse(d *op.Descriptor) proto.Message {
	if b := bound(d); b != nil {
		return b.newResponse()
	}
	return nil
}

// RequestToProto makes the message of a request; nil when Connect does not carry the operation.
func RequestToProto(d *op.Descriptor, r op.Request) proto.Message {
	if b := bound(d); b != nil {
		return b.requestTo(r)
	}
	return nil
}

// RequestFromProto reads a request message. It does not validate beyond what the message cannot say: fields that must
// be there, fields that nobody knows.
func RequestFromProto(d *op.Descriptor, m proto.Message) (op.Request, *Invalid) {
	b := bound(d)
	if b == nil {
		return nil, refuse("$", "type", "has no message on Connect")
	}
	return b.requestFrom(m)
}

// ResultToProto makes the message of a result; nil when Connect does not carry the operation.
func ResultToProto(d *op.Descriptor, r op.Result) proto.Message {
	if b := bound(d); b != nil {
		return b.resultTo(r)
	}
	return nil
}

// ResultFromProto reads a response message, constants held to their value; the judge and Go clients use it.
func ResultFromProto(d *op.Descriptor, m proto.Message) (op.Result, *Invalid) {
	b := bound(d)
	if b == nil {
		return nil, refuse("$", "type", "has no message on Connect")
	}
	return b.resultFrom(m)
}

// DecodeRequest reads a request in the proto3 JSON mapping, strictly. It does not validate beyond what the text itself
// shows; a field that is left out has its zero value, as in every protobuf message.
func DecodeRequest(d *op.Descriptor, data []byte) (op.Request, *Invalid) {
	b := bound(d)
	if b == nil {
		return nil, refuse("$", "type", "has no message on Connect")
	}
	s := scanner{b: data}
	s.share()
	v := b.decodeRequest(&s)
	s.end()
	if s.err != nil {
		return nil, s.err
	}
	return v, nil
}

// AppendResult writes a result in the proto3 JSON mapping, zero values present. Connect must carry the operation.
func AppendResult(dst []byte, d *op.Descriptor, r op.Result) []byte {
	return bound(d).appendResult(dst, r)
}

// Options gives the codecs of this package: JSON under both its names, and binary.
func Options() connect.Option {
	return connect.WithOptions(
		connect.WithCodec(&JSONCodec{name: "json"}),
		connect.WithCodec(&JSONCodec{name: "json; charset=utf-8"}),
		connect.WithCodec(&BinaryCodec{}),
	)
}

// JSONCodec is the proto3 JSON mapping. Messages of this package's operations are read and written by generated code;
// all others by protojson, as Connect itself does. The zero value is named "json".
type JSONCodec struct{ name string }

// Name is the codec's part of the content type.
func (c *JSONCodec) Name() string {
	if c.name == "" {
		return "json"
	}
	return c.name
}

// IsBinary says that the output is text.
func (c *JSONCodec) IsBinary() bool { return false }

// Marshal writes a message.
func (c *JSONCodec) Marshal(message any) ([]byte, error) {
	return c.MarshalAppend(nil, message)
}

// MarshalStable writes a message with members in a fixed order.
func (c *JSONCodec) MarshalStable(message any) ([]byte, error) {
	if _, ok := message.(*Response); ok {
		return c.MarshalAppend(nil, message)
	}
	return foreignStable(message)
}

// MarshalAppend appends a message to dst.
func (c *JSONCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	switch m := message.(type) {
	case *Response:
		return m.binding.appendResult(dst, m.value), nil
	case proto.Message:
		return protojson.MarshalOptions{}.MarshalAppend(dst, m)
	}
	return nil, fmt.Errorf("%T is not a message", message)
}

// Unmarshal reads a message. A request that does not fit its schema is not an error here: the handler refuses it with
// the area's own words, which Connect's envelope for codec errors could not carry.
func (c *JSONCodec) Unmarshal(data []byte, message any) error {
	switch m := message.(type) {
	case *Request:
		m.value, m.refused = DecodeRequest(m.binding.op, data)
		return nil
	case proto.Message:
		if len(data) == 0 {
			return fmt.Errorf("zero-length payload is not a valid JSON object")
		}
		// Connect clients may be newer than a foreign service, so unknown members pass there.
		return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
	}
	return fmt.Errorf("%T is not a message", message)
}

// BinaryCodec is the protobuf encoding.
type BinaryCodec struct{}

// Name is the codec's part of the content type.
func (BinaryCodec) Name() string { return "proto" }

// IsBinary says that the output is not text.
func (BinaryCodec) IsBinary() bool { return true }

// Marshal writes a message.
func (c BinaryCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends a message to dst.
func (BinaryCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	switch m := message.(type) {
	case *Response:
		return proto.MarshalOptions{}.MarshalAppend(dst, m.binding.resultTo(m.value))
	case proto.Message:
		return proto.MarshalOptions{}.MarshalAppend(dst, m)
	}
	return nil, fmt.Errorf("%T is not a message", message)
}

// MarshalStable writes a message with fields in a fixed order.
func (BinaryCodec) MarshalStable(message any) ([]byte, error) {
	switch m := message.(type) {
	case *Response:
		return proto.MarshalOptions{Deterministic: true}.Marshal(m.binding.resultTo(m.value))
	case proto.Message:
		return proto.MarshalOptions{Deterministic: true}.Marshal(m)
	}
	return nil, fmt.Errorf("%T is not a message", message)
}

// Unmarshal reads a message; for requests as JSONCodec's.
func (BinaryCodec) Unmarshal(data []byte, message any) error {
	switch m := message.(type) {
	case *Request:
		pb := m.binding.newRequest()
		if err := proto.Unmarshal(data, pb); err != nil {
			m.refused = refuse("$", "syntax", "is not a protobuf message of type "+string(pb.ProtoReflect().Descriptor().Name()))
			return nil
		}
		m.value, m.refused = m.binding.requestFrom(pb)
		return nil
	case proto.Message:
		return proto.Unmarshal(data, m)
	}
	return fmt.Errorf("%T is not a message", message)
}

func foreignStable(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", message)
	}
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	return compact(b)
}

// compact removes the white space that protojson puts in at random.
func compact(b []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
