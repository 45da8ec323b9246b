package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server"
)

const (
	memoryURL  = "http://127.0.0.1:8080"
	memoryRoot = "/agents/default/wb"
)

// breakage is what a test does to the server before the judge sees it; the zero value does nothing.
type breakage struct {
	options func(*core.Options)
	api     func(*op.API)
	handler func(http.Handler) http.Handler
}

// inMemory is a target whose stores, servers and connections are all in memory: core on a crashable file system, with
// a fake clock and seeded ids, behind the server on a listener without a port.
func inMemory(b breakage) Target {
	return Target{Fresh: func(ctx context.Context, start Start) (*Target, error) {
		m := &memory{
			breakage: b, fs: kvtest.NewCrashFS(), clock: clock.NewFake(start.Clock), ids: kvtest.IDs(byte(start.Seed)),
			rng: rand.New(rand.NewPCG(start.Seed, 0xC0F)), network: newNetwork(),
		}
		if err := m.open(ctx); err != nil {
			return nil, err
		}
		return &Target{
			URL: memoryURL, Root: memoryRoot, Dial: m.network.dial, Stdio: m.stdio, Advance: m.clock.Advance,
			Crash: m.crash, Check: m.check, Close: m.shut,
		}, nil
	}}
}

// memory is one running server.
type memory struct {
	breakage breakage
	fs       kv.FS
	clock    *clock.Fake
	ids      io.Reader
	rng      *rand.Rand
	network  *network

	core    *core.Core
	server  *server.Server
	stop    context.CancelFunc
	stopped chan error
	dying   chan error // what the store would have ended the process for
	log     lockedBuffer
	stdios  sync.WaitGroup
}

func (m *memory) open(ctx context.Context) error {
	logger := slog.New(slog.NewTextHandler(&m.log, &slog.HandlerOptions{Level: slog.LevelError}))
	m.dying = make(chan error, 1)
	options := core.Options{
		Dir: "data", FS: m.fs, Clock: m.clock, IDs: m.ids, Logger: logger, Version: "judged", Revision: "0123456789ab",
		CacheBytes: 1 << 20, MemTableBytes: 1 << 20,
		Fatal: func(err error) {
			select {
			case m.dying <- err:
			default:
			}
		},
	}
	if m.breakage.options != nil {
		m.breakage.options(&options)
	}
	c, err := core.Open(ctx, options)
	if err != nil {
		return err
	}
	m.core = c
	api := *c.API()
	if m.breakage.api != nil {
		m.breakage.api(&api)
	}
	m.server, err = server.New(server.Options{API: &api, Principal: c.Principal(), Version: "judged", Clock: m.clock, Logger: logger})
	if err != nil {
		return errors.Join(err, c.Close())
	}
	serving, stop := context.WithCancel(context.Background())
	m.stop, m.stopped = stop, make(chan error, 1)
	listener := m.network.listen()
	go func() { m.stopped <- m.serve(serving, listener) }()
	return nil
}

// serve is the server's own loop, or one of its own around a handler that was broken.
func (m *memory) serve(ctx context.Context, l net.Listener) error {
	if m.breakage.handler == nil {
		return m.server.Serve(ctx, l)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	hs := &http.Server{Handler: m.breakage.handler(m.server.Handler()), Protocols: &protocols}
	go func() {
		<-ctx.Done()
		_ = hs.Close()
	}()
	if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (m *memory) stdio(context.Context) (io.ReadWriteCloser, error) {
	client, served := net.Pipe()
	m.stdios.Go(func() {
		defer served.Close()
		// The client closes the conversation, which ends it here.
		_ = m.server.MCP().ServeStdio(context.Background(), served, served)
	})
	return client, nil
}

// halt ends the server, but not the store.
func (m *memory) halt() error {
	m.stop()
	err := <-m.stopped
	m.stdios.Wait()
	return err
}

// crash cuts the power and opens what is left.
func (m *memory) crash(ctx context.Context) error {
	left := kvtest.CrashClone(m.fs, m.rng.Uint64())
	if err := errors.Join(m.halt(), m.core.Close()); err != nil {
		return err
	}
	m.fs = left
	return m.open(ctx)
}

// check examines the store and whether anything went wrong inside that no answer showed.
func (m *memory) check(ctx context.Context) error {
	report, err := m.core.Check(ctx)
	if err = errors.Join(err, report.Err()); err != nil {
		return err
	}
	select {
	case err := <-m.dying:
		return fmt.Errorf("the store would have ended the process: %w", err)
	default:
	}
	if logged := m.log.String(); logged != "" {
		return fmt.Errorf("the server logged errors: %s", logged[:min(len(logged), 1500)])
	}
	return nil
}

func (m *memory) shut() error { return errors.Join(m.halt(), m.core.Close()) }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// network connects dialers with whoever listens at the moment.
type network struct {
	mu sync.Mutex
	l  *memoryListener
}

func newNetwork() *network { return &network{} }

func (n *network) listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.l = &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return n.l
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	l := n.l
	n.mu.Unlock()
	client, served := net.Pipe()
	select {
	case l.conns <- served:
		return client, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// untilDone bounds a whole test run.
const untilDone = 5 * time.Minute
