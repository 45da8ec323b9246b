package wsapi_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/ugorji/go/codec"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/wsapi"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lifecycle answers get_capabilities as the test says.
type lifecycle struct {
	do func(context.Context) (*op.JobsGetCapabilitiesResult, error)
}

func (l lifecycle) GetCapabilities(ctx context.Context, _ *op.JobsGetCapabilitiesRequest) (*op.JobsGetCapabilitiesResult, error) {
	return l.do(ctx)
}

func capable(context.Context) (*op.JobsGetCapabilitiesResult, error) {
	return &op.JobsGetCapabilitiesResult{ProtocolVersion: "1", NodetoolVersion: "test", RegistryRevision: 5368709120, SupportedEncodings: []string{"messagepack"}}, nil
}

type fixture struct {
	t       *testing.T
	handler *wsapi.Handler
	clock   *clock.Fake
	url     string
}

func serve(t *testing.T, do func(context.Context) (*op.JobsGetCapabilitiesResult, error), change func(*wsapi.Options)) *fixture {
	t.Helper()
	p, err := call.New(call.Options{API: &op.API{Jobs: lifecycle{do}}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, clock: clock.NewFake(begin)}
	o := wsapi.Options{Pipeline: p, Clock: f.clock}
	if change != nil {
		change(&o)
	}
	f.handler = wsapi.New(o)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f.handler.ServeHTTP(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// client is a peer that reads whatever encoding comes.
type client struct {
	t *testing.T
	*websocket.Conn
}

func (f *fixture) dial() *client {
	f.t.Helper()
	c, _, err := websocket.Dial(context.Background(), f.url, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	f.t.Cleanup(func() { c.CloseNow() })
	return &client{f.t, c}
}

func (c *client) text(s string) {
	c.t.Helper()
	if err := c.Write(context.Background(), websocket.MessageText, []byte(s)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) binary(h string) {
	c.t.Helper()
	b, err := hex.DecodeString(h)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.Write(context.Background(), websocket.MessageBinary, b); err != nil {
		c.t.Fatal(err)
	}
}

// next reads one frame and says in which encoding it came.
func (c *client) next() (map[string]any, websocket.MessageType) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	kind, data, err := c.Read(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	var v map[string]any
	var h codec.Handle = &codec.JsonHandle{}
	if kind == websocket.MessageBinary {
		m := &codec.MsgpackHandle{}
		m.WriteExt, m.RawToString = true, true
		h = m
	}
	if err := codec.NewDecoderBytes(data, h).Decode(&v); err != nil {
		c.t.Fatalf("%x: %v", data, err)
	}
	return v, kind
}

func (c *client) want(want string) {
	c.t.Helper()
	v, _ := c.next()
	got := fmt.Sprint(v)
	if !strings.Contains(got, want) {
		c.t.Errorf("frame %s, want it to hold %s", got, want)
	}
}

const (
	ask = `{"command":"get_capabilities","request_id":"r1","data":{}}`
	// askBinary is ask as a JavaScript client packs it.
	askBinary = "de0003a7636f6d6d616e64b06765745f6361706162696c6974696573aa726571756573745f6964a27231a464617461de0000"
)

// Invariants 2 and 4: commands in both encodings, answers in the connection's one.
func TestCommandsInBothEncodings(t *testing.T) {
	c := serve(t, capable, nil).dial()
	for _, send := range []func(){func() { c.text(ask) }, func() { c.binary(askBinary) }} {
		send()
		v, kind := c.next()
		if kind != websocket.MessageBinary || v["type"] != "rpc_response" || v["request_id"] != "r1" || v["command"] != "get_capabilities" {
			t.Errorf("frame %v, kind %v", v, kind)
		}
		res, _ := v["result"].(map[any]any)
		if res["registry_revision"] != 5368709120.0 {
			t.Errorf("registry_revision %T %v: a number above 32 bits travels as a double", res["registry_revision"], res["registry_revision"])
		}
	}
	c.text(`{"command":"set_mode","data":{"mode":"text"}}`)
	if v, kind := c.next(); kind != websocket.MessageText || v["mode"] != "text" || v["message"] == nil {
		t.Errorf("acknowledgement %v, kind %v: it comes in the new mode", v, kind)
	}
	c.binary(askBinary)
	if _, kind := c.next(); kind != websocket.MessageText {
		t.Error("an answer in the old mode")
	}
	c.text(`{"command":"set_mode","request_id":null,"data":{"mode":"binary"}}`)
	if _, kind := c.next(); kind != websocket.MessageBinary {
		t.Error("an acknowledgement in the old mode")
	}
	c.text(`{"type":"ping"}`)
	c.want("map[ts:1767323045 type:pong]")
	c.text(`{"type":"pong","ts":5}`)
	c.text(ask)
	c.want("rpc_response") // and nothing for the pong
}

// Invariant 1: hostile frames are answered, and the connection serves on.
func TestHostileFrames(t *testing.T) {
	f := serve(t, capable, func(o *wsapi.Options) { o.MaxFrameBytes = 1 << 10 })
	c := f.dial()
	c.text(`{"command":"set_mode","data":{"mode":"text"}}`)
	c.next()
	for name, x := range map[string]struct{ text, hex, want string }{
		"no JSON":                  {text: `{"command":`, want: "invalid_frame"},
		"an array":                 {text: `[]`, want: "invalid_frame"},
		"a number":                 {text: `5`, want: "invalid_frame"},
		"two values":               {text: `{} {}`, want: "invalid_frame"},
		"a doubled member":         {text: `{"command":"a","command":"b"}`, want: "invalid_frame"},
		"invalid UTF-8":            {hex: "81a7636f6d6d616e64a1ff", want: "invalid_frame"},
		"no MessagePack":           {hex: "c1", want: "invalid_frame"},
		"a hostile length":         {hex: "dd7fffffff", want: "invalid_frame"},
		"an extension":             {hex: "d6ff00000000", want: "invalid_frame"},
		"too deep":                 {hex: strings.Repeat("91", 500) + "00", want: "invalid_frame"},
		"too large":                {text: `{"x":"` + strings.Repeat("y", 3<<10) + `"}`, want: "invalid_frame"},
		"a command nobody knows":   {text: `{"command":"dance"}`, want: "error:Unknown command"},
		"nothing to do":            {text: `{}`, want: "error:Unknown command"},
		"the same, with an id":     {text: `{"command":"dance","request_id":"q","data":{}}`, want: "code:INVALID_REQUEST"},
		"no request_id":            {text: `{"command":"get_capabilities","data":{}}`, want: "request_id is required"},
		"a null request_id":        {text: `{"command":"get_capabilities","request_id":null,"data":{}}`, want: "request_id is required"},
		"a numeric request_id":     {text: `{"command":"get_capabilities","request_id":5,"data":{}}`, want: "request_id is required"},
		"no data":                  {text: `{"command":"get_capabilities","request_id":"q"}`, want: "code:INVALID_REQUEST"},
		"unknown data":             {text: `{"command":"get_capabilities","request_id":"q","data":{"x":1}}`, want: "code:INVALID_REQUEST"},
		"an unknown member":        {text: `{"command":"get_capabilities","request_id":"q","data":{},"x":1}`, want: "code:INVALID_REQUEST"},
		"doubled data":             {hex: "83" + "a7636f6d6d616e64b06765745f6361706162696c6974696573" + "aa726571756573745f6964a17a" + "a464617461" + "82a16101a16101", want: "invalid_frame"},
		"a mode that is none":      {text: `{"command":"set_mode","data":{"mode":"morse"}}`, want: "error:mode must be binary or text"},
		"a mode that is not there": {text: `{"command":"set_mode","data":{}}`, want: "error:mode must be binary or text"},
	} {
		if x.hex != "" {
			c.binary(x.hex)
		} else {
			c.text(x.text)
		}
		v, _ := c.next()
		if got := fmt.Sprint(v); !strings.Contains(got, x.want) {
			t.Errorf("%s: frame %s, want %s", name, got, x.want)
		}
	}
	c.text(ask)
	c.want("request_id:r1")
}

func TestRefusalsAndPanicsAreAnswered(t *testing.T) {
	for want, do := range map[string]func(context.Context) (*op.JobsGetCapabilitiesResult, error){
		"code:SERVICE_UNAVAILABLE": func(context.Context) (*op.JobsGetCapabilitiesResult, error) {
			return nil, fault.New(op.ReasonUnavailable, "")
		},
		"code:INTERNAL_ERROR": func(context.Context) (*op.JobsGetCapabilitiesResult, error) { panic("secret") },
	} {
		c := serve(t, do, nil).dial()
		c.text(ask)
		v, _ := c.next()
		if got := fmt.Sprint(v); !strings.Contains(got, want) || !strings.Contains(got, "request_id:r1") || strings.Contains(got, "secret") || strings.Contains(got, "detail") {
			t.Errorf("frame %s, want %s", got, want)
		}
	}
}

func closed(t *testing.T, c *client) websocket.CloseError {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			var why websocket.CloseError
			if !errors.As(err, &why) {
				t.Fatalf("the connection broke without a close frame: %v", err)
			}
			return why
		}
	}
}

func TestFloodsAreClosed(t *testing.T) {
	f := serve(t, capable, nil)
	c := f.dial()
	go func() {
		for range 300 {
			if c.Write(context.Background(), websocket.MessageText, []byte(`{"type":"pong"}`)) != nil {
				return
			}
		}
	}()
	if why := closed(t, c); why.Code != websocket.StatusPolicyViolation || why.Reason == "" {
		t.Errorf("closed with %v", why)
	}
	// The window moves on with the clock: as many frames in the next second are fine.
	c = f.dial()
	for range 3 {
		for range 150 {
			c.text(`{"type":"pong"}`)
		}
		c.text(ask)
		c.want("rpc_response")
		f.clock.Advance(time.Second)
	}
}

func TestAbsurdFramesAreClosed(t *testing.T) {
	f := serve(t, capable, func(o *wsapi.Options) { o.MaxFrameBytes = 1 << 10 })
	c := f.dial()
	go c.Write(context.Background(), websocket.MessageBinary, make([]byte, 64<<10))
	if why := closed(t, c); why.Code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v", why)
	}
}

func TestServerPings(t *testing.T) {
	f := serve(t, capable, nil)
	c := f.dial()
	for i := 1; i <= 2; i++ {
		for f.clock.Armed() < 2 {
			runtime.Gosched()
		}
		f.clock.Advance(25 * time.Second)
		v, _ := c.next()
		if v["type"] != "ping" || fmt.Sprint(v["ts"]) != fmt.Sprint(begin.Add(time.Duration(i)*25*time.Second).Unix()) {
			t.Errorf("frame %v", v)
		}
	}
}

// Invariant 5: what was begun is answered, and then the client hears why.
func TestDrain(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	f := serve(t, func(ctx context.Context) (*op.JobsGetCapabilitiesResult, error) {
		close(began)
		<-let
		return capable(ctx)
	}, nil)
	c, idle := f.dial(), f.dial()
	idle.text(`{"type":"ping"}`)
	idle.want("pong")
	c.text(ask)
	<-began
	drained := make(chan struct{})
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		f.handler.Drain(ctx)
		close(drained)
	}()
	if why := closed(t, idle); why.Code != websocket.StatusServiceRestart || why.Reason != "the server is stopping" {
		t.Errorf("the idle connection closed with %v", why)
	}
	close(let)
	c.want("request_id:r1")
	if why := closed(t, c); why.Code != websocket.StatusServiceRestart {
		t.Errorf("the busy connection closed with %v", why)
	}
	<-drained
	if _, resp, err := websocket.Dial(context.Background(), f.url, nil); err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a connection during the drain: %v", err)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	f := serve(t, capable, func(o *wsapi.Options) { o.MaxConnections = 1 })
	c := f.dial()
	c.text(`{"type":"ping"}`)
	c.want("pong")
	if _, resp, err := websocket.Dial(context.Background(), f.url, nil); err == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second connection: %v", err)
	}
}
