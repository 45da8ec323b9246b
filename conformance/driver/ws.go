package driver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// mostFrame is the largest frame that is read.
const mostFrame = 64 << 20

// DialWS opens a WebSocket of the endpoint. The connection speaks binary until it is told otherwise.
func (e Endpoint) DialWS(ctx context.Context, path string) (*websocket.Conn, error) {
	url := "ws" + strings.TrimPrefix(e.URL, "http") + path
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient:      &http.Client{Transport: e.Transport(false)},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(mostFrame)
	return conn, nil
}

// wsDriver speaks commands over a WebSocket, as MessagePack or as JSON text.
type wsDriver struct {
	protocol Protocol
	end      Endpoint
	conn     *websocket.Conn
	next     int
	sent     []byte
	got      []byte
}

func newWS(ctx context.Context, p Protocol, e Endpoint) (Driver, error) {
	conn, err := e.DialWS(ctx, "/ws")
	if err != nil {
		return nil, err
	}
	d := &wsDriver{protocol: p, end: e, conn: conn}
	if p == WSText {
		if err := d.chooseText(ctx); err != nil {
			return nil, errors.Join(err, conn.CloseNow())
		}
	}
	return d, nil
}

// chooseText asks for JSON; the answer comes in JSON already.
func (d *wsDriver) chooseText(ctx context.Context) error {
	if err := d.write(ctx, websocket.MessageText, []byte(`{"command":"set_mode","data":{"mode":"text"}}`)); err != nil {
		return err
	}
	a := &Answer{}
	v, err := d.read(ctx, a)
	if err != nil {
		return err
	}
	if mode, _ := value.At(v, "mode"); mode != "text" || len(a.Breaches) > 0 {
		return fmt.Errorf("set_mode was answered %s %v", value.Shorten(v), a.Breaches)
	}
	return nil
}

func (d *wsDriver) write(ctx context.Context, kind websocket.MessageType, data []byte) error {
	d.sent, d.got = data, nil
	return d.conn.Write(ctx, kind, data)
}

// read gives the next frame that is not a ping.
func (d *wsDriver) read(ctx context.Context, a *Answer) (any, error) {
	for {
		kind, data, err := d.conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		d.got = data
		v, err := DecodeFrame(kind, data)
		if err != nil {
			a.breach("%v", err)
			return nil, nil
		}
		if text := d.protocol == WSText; text != (kind == websocket.MessageText) {
			a.breach("a %v frame on a connection in the other mode", kind)
		}
		if err := d.end.Contract.CheckFrame(v); err != nil {
			a.breach("the AsyncAPI document lets the server send no such frame: %s", value.Shorten(v))
		}
		if what, _ := value.At(v, "type"); what != "ping" {
			return v, nil
		}
	}
}

// DecodeFrame reads the one value in a frame.
func DecodeFrame(kind websocket.MessageType, data []byte) (any, error) {
	if kind == websocket.MessageText {
		return value.Decode(data)
	}
	return DecodeMsgpack(data)
}

func (d *wsDriver) Call(ctx context.Context, op *contract.Operation, args any) (*Answer, error) {
	d.next++
	id := strconv.Itoa(d.next)
	frame := map[string]any{"command": op.Command, "request_id": id, "data": args}
	if d.protocol == WSText {
		return d.send(ctx, op, id, websocket.MessageText, value.Encode(frame))
	}
	return d.send(ctx, op, id, websocket.MessageBinary, EncodeMsgpack(frame))
}

func (d *wsDriver) Send(ctx context.Context, op *contract.Operation, raw []byte) (*Answer, error) {
	if d.protocol != WSText {
		return nil, ErrInexpressible
	}
	d.next++
	id := strconv.Itoa(d.next)
	frame := fmt.Appendf(nil, `{"command":%q,"request_id":%q,"data":%s}`, op.Command, id, raw)
	return d.send(ctx, op, id, websocket.MessageText, frame)
}

func (d *wsDriver) send(ctx context.Context, op *contract.Operation, id string, kind websocket.MessageType, frame []byte) (*Answer, error) {
	if err := d.write(ctx, kind, frame); err != nil {
		return nil, err
	}
	a := &Answer{}
	v, err := d.read(ctx, a)
	if err != nil {
		return nil, err
	}
	object, _ := v.(map[string]any)
	if object["type"] != "rpc_response" {
		message, _ := object["error"].(string)
		if message == "" {
			a.breach("neither an answer nor an error: %s", value.Shorten(v))
		}
		a.Fault = &Fault{Message: message}
		return a, nil
	}
	if object["request_id"] != id || object["command"] != op.Command {
		a.breach("the frame answers %v %v, want %s %s", object["command"], object["request_id"], op.Command, id)
	}
	if failure, failed := object["error"]; failed {
		a.refusal(d.end.Contract, op.Area, failure)
		return a, nil
	}
	a.result(op, object["result"])
	return a, nil
}

func (d *wsDriver) Trace() string { return fmt.Sprintf("> %s\n< %s\n", clip(d.sent), clip(d.got)) }

func (d *wsDriver) Close() error { return d.conn.Close(websocket.StatusNormalClosure, "") }
