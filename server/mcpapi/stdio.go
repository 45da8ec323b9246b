package mcpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/server/call"
)

// queueSize is how many calls may wait on stdio before reading waits for them.
const queueSize = 64

// ServeStdio serves one client over newline-delimited JSON-RPC until in ends or ctx does. Calls are carried out one
// after the other, in their order (invariant 5); everything else is the SDK's and may overtake them. A client need not
// initialize before it calls. It returns nil after the end of in, when all that was asked has been answered.
//
// When ctx ends first, the call in progress is answered, and a read of in may stay blocked in a goroutine: the process
// is about to end.
func (rt *Runtime) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &stdio{rt: rt, ctx: ctx, out: bufio.NewWriter(out), queue: make(chan *job, queueSize), pending: map[string]*job{}, awaited: map[jsonrpc.ID]struct{}{},
		toSDK: make(chan jsonrpc.Message, queueSize), gone: make(chan struct{})}
	if rt.short == nil {
		short, err := newShortPath(rt)
		if err != nil {
			return err
		}
		s.short = short
	} else {
		s.short = rt.short
	}
	// The session's context outlives ctx: what was begun is answered.
	session, err := rt.newServer(call.MCPStdio).Connect(context.WithoutCancel(ctx), s, nil)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	var worker sync.WaitGroup
	worker.Go(func() {
		for j := range s.queue {
			s.run(j)
		}
	})
	read := make(chan error, 1)
	go func() { read <- s.read(in) }()
	select {
	case err = <-read:
	case <-ctx.Done():
	}
	s.finish()
	worker.Wait()
	s.atSDK.Wait()
	close(s.toSDK)
	_ = session.Wait() // ends because there is nothing left to read
	return err
}

// stdio is one conversation. It is the SDK's transport and connection for what it does not answer itself.
type stdio struct {
	rt    *Runtime
	ctx   context.Context // once it has ended, nothing more is begun
	short *shortPath

	outMu sync.Mutex
	out   *bufio.Writer

	mu       sync.Mutex
	queue    chan *job
	pending  map[string]*job // by id, as written
	stopped  bool            // nothing more is queued
	sending  sync.WaitGroup  // senders to queue
	gone     chan struct{}   // closed when the SDK has closed the connection
	goneOnce sync.Once
	toSDK    chan jsonrpc.Message
	atSDK    sync.WaitGroup // requests that the SDK still has to answer
	awaited  map[jsonrpc.ID]struct{}
}

// job is one message that is answered here.
type job struct {
	m      message
	data   []byte // what m points into
	wrong  string // what is wrong with its form; "" when nothing is
	ctx    context.Context
	cancel context.CancelFunc
}

// read takes lines until the end of in.
func (s *stdio) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(r, s.rt.limit)
		if tooLong {
			s.replyError([]byte("null"), codeInvalidRequest, "the message is larger than "+strconv.FormatInt(s.rt.limit, 10)+" bytes")
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			s.accept(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("mcp: read: %w", err)
		}
	}
}

// readLine reads up to a newline. What is over the limit is passed over.
func readLine(r *bufio.Reader, limit int64) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
			if int64(len(line)) > limit {
				line, tooLong = nil, true
			}
		}
		if err != bufio.ErrBufferFull {
			return line, tooLong, err
		}
	}
}

// accept sorts one message: here, to the SDK, or back with an error.
func (s *stdio) accept(data []byte) {
	m, serr := scan(data)
	switch {
	case serr != nil:
		s.replyError(m.echo(), serr.code, serr.text)
		return
	case m.batch:
		s.replyError(m.echo(), codeInvalidRequest, noBatches)
		return
	}
	switch string(m.method) {
	case methodCall, methodList:
		wrong := ""
		if !m.params.plain() {
			wrong = misshapen(&m, data, saidInside)
		}
		if wrong != "" || s.ours(&m) {
			s.enqueue(&m, data, wrong)
			return
		}
	case "notifications/cancelled":
		if s.cancelled(m, data) {
			return
		}
	}
	method := string(m.method)
	switch {
	case m.idKind == idNull && method == "ping":
		s.reply([]byte(`{"jsonrpc":"2.0","id":null,"result":{}}`))
		return
	case m.idKind == idNull && m.hasMethod:
		s.replyError(m.echo(), codeInvalidRequest, unfitID)
		return
	case m.called() && m.hasMethod && m.method != nil && !s.rt.serves(method):
		// The SDK would say the same, but only to clients that have initialized.
		s.replyError(m.echo(), codeMethodNotFound, noMethod)
		return
	}
	if wrong := misshapen(&m, data, saidInside); wrong != "" {
		if m.called() { // a notification is never answered
			s.replyError(m.echo(), codeInvalidParams, wrong)
		}
		return
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		s.replyError(m.echo(), codeInvalidRequest, "the message is not a JSON-RPC request")
		return
	}
	req, ok := msg.(*jsonrpc.Request)
	counted := ok && req.IsCall() && req.Method != methodListen
	if counted {
		s.await(req.ID)
	}
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.sending.Add(1)
	}
	s.mu.Unlock()
	if !stopped {
		defer s.sending.Done()
		select {
		case s.toSDK <- msg:
			return
		case <-s.gone:
		}
	}
	if counted {
		s.answered(req.ID)
	}
}

// await and answered count the requests that the SDK has to answer before the conversation may end.
func (s *stdio) await(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.awaited[id]; !again {
		s.awaited[id] = struct{}{}
		s.atSDK.Add(1)
	}
}

func (s *stdio) answered(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.awaited[id]; ok {
		delete(s.awaited, id)
		s.atSDK.Done()
	}
}

// ours reports whether a call or list is plain enough to be answered without the SDK.
func (s *stdio) ours(m *message) bool {
	p := &m.params
	verdict := s.short.metas.judge(p.meta)
	if m.response || !verdict.usable || verdict.version > version20260728 {
		return false
	}
	if string(m.method) == methodList {
		return true
	}
	if len(p.name) == 0 {
		// The refusal is ours as well, unless the name has to be unescaped.
		return !p.hasName || p.name != nil
	}
	tool := s.rt.toolFor(p.name)
	if tool == nil {
		return s.rt.profile.Pipeline != nil
	}
	return tool.Op != nil
}

func (s *stdio) enqueue(m *message, data []byte, wrong string) {
	j := &job{m: *m, data: data, wrong: wrong}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		j.cancel()
		return
	}
	if m.called() {
		s.pending[string(m.id)] = j
	}
	s.sending.Add(1)
	s.mu.Unlock()
	defer s.sending.Done()
	select {
	case s.queue <- j:
	case <-s.ctx.Done():
		j.cancel()
	}
}

// cancelled ends a call of ours, which gets no answer then. It reports false for calls that are not ours.
func (s *stdio) cancelled(m message, data []byte) bool {
	var params struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(data, &params) != nil || m.idKind != idAbsent {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.pending[string(params.Params.RequestID)]
	if j == nil {
		return false
	}
	j.cancel()
	return true
}

// run carries out one message of ours and answers it, unless it is a notification or has been cancelled.
func (s *stdio) run(j *job) {
	defer j.cancel()
	defer func() {
		s.mu.Lock()
		if s.pending[string(j.m.id)] == j {
			delete(s.pending, string(j.m.id))
		}
		s.mu.Unlock()
	}()
	if j.ctx.Err() != nil || s.ctx.Err() != nil {
		return
	}
	m, p := &j.m, &j.m.params
	family := wireLegacy
	verdict := s.short.metas.judge(p.meta)
	if verdict.version == version20260728 {
		family = wireModern
	}
	var answer []byte
	switch {
	case j.wrong != "":
		if m.idKind != idAbsent {
			s.replyError(m.echo(), codeInvalidParams, j.wrong)
		}
		return
	case string(m.method) == methodList && p.hasCursor:
		if m.idKind != idAbsent {
			s.replyError(m.echo(), codeInvalidParams, onePage)
		}
		return
	case string(m.method) == methodList:
		answer = append(append([]byte(`{"jsonrpc":"2.0","id":`), m.id...), s.short.list[family]...)
	case len(p.name) == 0:
		if m.idKind != idAbsent {
			s.replyError(m.id, codeInvalidParams, noName)
		}
		return
	default:
		var caller call.Caller
		if s.rt.profile.Pipeline != nil {
			caller = s.rt.profile.Pipeline.Via(call.MCPStdio, "")
		}
		a := s.rt.run(under(j.ctx, verdict.parent), caller, s.rt.toolFor(p.name), p.name, p.args, nil)
		answer = s.short.append(nil, m.id, a, family)
	}
	if m.idKind == idAbsent || j.ctx.Err() != nil {
		return
	}
	s.reply(answer)
}

func (s *stdio) replyError(id []byte, code int, text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`)
	}
	s.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted))
}

// reply writes one line. An error of the writer is the client's end, which the reader will notice.
func (s *stdio) reply(data []byte) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_, _ = s.out.Write(data)
	_ = s.out.WriteByte('\n')
	_ = s.out.Flush()
}

// finish lets the worker come to its end. The reader may still be at work when the context has ended.
func (s *stdio) finish() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.sending.Wait()
	close(s.queue)
}

// Connect implements sdk.Transport.
func (s *stdio) Connect(context.Context) (sdk.Connection, error) { return s, nil }

// Read implements sdk.Connection.
func (s *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-s.toSDK:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-s.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements sdk.Connection.
func (s *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		// What the SDK refuses for its session's state has no code of its own; 0 is none of JSON-RPC's.
		var e *jsonrpc.Error
		if errors.As(r.Error, &e) && e.Code == 0 {
			r.Error = &jsonrpc.Error{Code: codeInvalidRequest, Message: e.Message, Data: e.Data}
		} else if r.Error != nil && e == nil {
			r.Error = &jsonrpc.Error{Code: codeInvalidRequest, Message: r.Error.Error()}
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	s.reply(data)
	if r, ok := m.(*jsonrpc.Response); ok {
		s.answered(r.ID)
	}
	return nil
}

// Close implements sdk.Connection.
func (s *stdio) Close() error {
	s.goneOnce.Do(func() { close(s.gone) })
	return nil
}

// SessionID implements sdk.Connection.
func (s *stdio) SessionID() string { return "" }
