//go:build ignore

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	suite "github.com/sawhorse-dev/sawhorse/conformance/suites/connect/testdata/gen/connectrpc/conformance/v1"
	"github.com/sawhorse-dev/sawhorse/conformance/suites/connect/testdata/gen/connectrpc/conformance/v1/conformancev1connect"
)

// service does what each request asks for: it echoes what it saw, and answers with the asked data, headers, trailers, delay and error.
// Unimplemented stays as the embedded handler answers it.
type service struct {
	conformancev1connect.UnimplementedConformanceServiceHandler
}

func (service) Unary(ctx context.Context, req *suite.UnaryRequest) (*suite.UnaryResponse, error) {
	p, err := unary(ctx, req.GetResponseDefinition(), req)
	if err != nil {
		return nil, err
	}
	return &suite.UnaryResponse{Payload: p}, nil
}

func (service) IdempotentUnary(ctx context.Context, req *suite.IdempotentUnaryRequest) (*suite.IdempotentUnaryResponse, error) {
	p, err := unary(ctx, req.GetResponseDefinition(), req)
	if err != nil {
		return nil, err
	}
	return &suite.IdempotentUnaryResponse{Payload: p}, nil
}

func (service) ClientStream(ctx context.Context, stream *connect.ClientStream[suite.ClientStreamRequest]) (*suite.ClientStreamResponse, error) {
	var def *suite.UnaryResponseDefinition
	var seen []proto.Message
	for stream.Receive() {
		if len(seen) == 0 {
			def = stream.Msg().GetResponseDefinition()
		}
		seen = append(seen, proto.Clone(stream.Msg()))
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	p, err := unary(ctx, def, seen...)
	if err != nil {
		return nil, err
	}
	return &suite.ClientStreamResponse{Payload: p}, nil
}

func (service) ServerStream(ctx context.Context, req *suite.ServerStreamRequest, stream *connect.ServerStream[suite.ServerStreamResponse]) error {
	def := req.GetResponseDefinition()
	setHeaders(def, stream.ResponseHeader(), stream.ResponseTrailer())
	info, err := requestInfo(ctx, req)
	if err != nil {
		return err
	}
	if len(def.GetResponseData()) > 0 {
		if err := stream.Send(nil); err != nil { // the headers leave before the first delay
			return err
		}
	}
	for i, data := range def.GetResponseData() {
		if err := wait(ctx, def.GetResponseDelayMs()); err != nil {
			return err
		}
		p := &suite.ConformancePayload{Data: data}
		if i == 0 {
			p.RequestInfo = info
		}
		if err := stream.Send(&suite.ServerStreamResponse{Payload: p}); err != nil {
			return err
		}
	}
	return failure(def.GetError(), info, len(def.GetResponseData()) == 0)
}

func (service) BidiStream(ctx context.Context, stream *connect.BidiStream[suite.BidiStreamRequest, suite.BidiStreamResponse]) error {
	var def *suite.StreamResponseDefinition
	var seen []proto.Message
	sent, duplex := 0, false
	send := func() error {
		if err := wait(ctx, def.GetResponseDelayMs()); err != nil {
			return err
		}
		p := &suite.ConformancePayload{Data: def.GetResponseData()[sent]}
		switch {
		case sent == 0:
			info, err := requestInfo(ctx, seen...)
			if err != nil {
				return err
			}
			p.RequestInfo = info
		case duplex:
			requests, err := anys(seen)
			if err != nil {
				return err
			}
			p.RequestInfo = &suite.ConformancePayload_RequestInfo{Requests: requests}
		}
		sent++
		return stream.Send(&suite.BidiStreamResponse{Payload: p})
	}
	first := true
	for {
		req, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		seen = append(seen, req)
		if first {
			first = false
			def, duplex = req.GetResponseDefinition(), req.GetFullDuplex()
			setHeaders(def, stream.ResponseHeader(), stream.ResponseTrailer())
			if duplex && len(def.GetResponseData()) > 0 {
				if err := stream.Send(nil); err != nil {
					return err
				}
			}
		}
		if duplex {
			if sent >= len(def.GetResponseData()) {
				break
			}
			if err := send(); err != nil {
				return err
			}
			seen = nil
		}
	}
	if !duplex && len(def.GetResponseData()) > 0 {
		if err := stream.Send(nil); err != nil {
			return err
		}
	}
	for sent < len(def.GetResponseData()) {
		if err := send(); err != nil {
			return err
		}
		seen = nil
	}
	info, err := requestInfo(ctx, seen...)
	if err != nil {
		return err
	}
	return failure(def.GetError(), info, sent == 0)
}

// unary answers the calls that have one answer.
func unary(ctx context.Context, def *suite.UnaryResponseDefinition, seen ...proto.Message) (*suite.ConformancePayload, error) {
	info, err := requestInfo(ctx, seen...)
	if err != nil {
		return nil, err
	}
	call, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return nil, errors.New("no call in the handler's context")
	}
	setHeaders(def, call.ResponseHeader(), call.ResponseTrailer())
	if err := wait(ctx, def.GetResponseDelayMs()); err != nil {
		return nil, err
	}
	if err := failure(def.GetError(), info, true); err != nil {
		return nil, err
	}
	return &suite.ConformancePayload{Data: def.GetResponseData(), RequestInfo: info}, nil
}

// failure is the asked error, with what the server saw among its details where the suite wants it there; nil when none is asked for.
func failure(want *suite.Error, info *suite.ConformancePayload_RequestInfo, withInfo bool) error {
	if want == nil {
		return nil
	}
	e := connect.NewError(connect.Code(want.GetCode()), errors.New(want.GetMessage()))
	for _, d := range want.GetDetails() {
		detail, err := connect.NewErrorDetail(d)
		if err != nil {
			return err
		}
		e.AddDetail(detail)
	}
	if withInfo {
		detail, err := connect.NewErrorDetail(info)
		if err != nil {
			return err
		}
		e.AddDetail(detail)
	}
	return e
}

// requestInfo tells what arrived: headers, messages, the time allowed, and the query of a call made with GET.
func requestInfo(ctx context.Context, seen ...proto.Message) (*suite.ConformancePayload_RequestInfo, error) {
	call, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return nil, errors.New("no call in the handler's context")
	}
	requests, err := anys(seen)
	if err != nil {
		return nil, err
	}
	info := &suite.ConformancePayload_RequestInfo{RequestHeaders: headers(call.RequestHeader()), Requests: requests}
	if deadline, ok := ctx.Deadline(); ok {
		info.TimeoutMs = proto.Int64(time.Until(deadline).Milliseconds())
	}
	if q := call.Peer().Query; len(q) > 0 {
		info.ConnectGetInfo = &suite.ConformancePayload_ConnectGetInfo{QueryParams: headers(http.Header(q))}
	}
	return info, nil
}

func anys(seen []proto.Message) ([]*anypb.Any, error) {
	var out []*anypb.Any
	for _, m := range seen {
		a, err := anypb.New(m)
		if err != nil {
			return nil, fmt.Errorf("wrapping a message: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}

func headers(h http.Header) []*suite.Header {
	var out []*suite.Header
	for name, values := range h {
		out = append(out, &suite.Header{Name: name, Value: values})
	}
	return out
}

func setHeaders(def interface {
	GetResponseHeaders() []*suite.Header
	GetResponseTrailers() []*suite.Header
}, header, trailer http.Header) {
	for _, h := range def.GetResponseHeaders() {
		for _, v := range h.GetValue() {
			header.Add(h.GetName(), v)
		}
	}
	for _, h := range def.GetResponseTrailers() {
		for _, v := range h.GetValue() {
			trailer.Add(h.GetName(), v)
		}
	}
}

// wait delays an answer by the whole of the asked time, also beyond the call's deadline, as the suite describes its service. An answer made at
// the deadline would race with the client, which stops at the same moment: the suite's client then judges the body of an error of which it has
// read the headers alone.
func wait(ctx context.Context, ms uint32) error {
	if ms == 0 {
		return nil
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	return ctx.Err()
}
