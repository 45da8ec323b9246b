package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/server"
)

// Config says how to open a data directory and how to serve it.
type Config struct {
	// Dir is the data directory.
	Dir string
	// WorkbenchRoot is the presentation root; "" means the stored one, or the default for a new directory.
	WorkbenchRoot string
	// Role is the command that opens: serve, mcp, workbench.
	Role   string
	Logger *slog.Logger
	// Clock is the time of everything that is owned; nil means the machine's.
	Clock clock.Clock
	// SnapshotGrace: see core.Options.
	SnapshotGrace time.Duration
	// AllowedHosts, MaxBodyBytes, DrainTimeout: see server.Options.
	AllowedHosts []string
	MaxBodyBytes int64
	DrainTimeout time.Duration
	// LifecycleDisabled switches the SDK lifecycle off.
	LifecycleDisabled bool
}

// Node is an owned data directory with its server.
type Node struct {
	Server *server.Server
	core   *core.Core
	owner  *datadir.Owner
	local  net.Listener // the owner's Unix socket
	tele   *telemetry
	log    *slog.Logger
	clock  clock.Clock
}

// Own opens the data directory and builds its server, which nobody can reach before Publish. The error is
// *datadir.HeldError when another process owns the directory.
func Own(ctx context.Context, c Config) (n *Node, err error) {
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	owner, err := datadir.Acquire(c.Dir, c.Role, c.Clock.Now())
	if err != nil {
		return nil, err
	}
	n = &Node{owner: owner, log: c.Logger, clock: c.Clock}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
			n = nil
		}
	}()
	build := ReadBuild()
	if n.tele, err = newTelemetry(ctx, build.Version, c.Logger); err != nil {
		return n, err
	}
	n.core, err = core.Open(ctx, core.Options{Dir: owner.Dir(), WorkbenchRoot: c.WorkbenchRoot, Clock: c.Clock, Logger: c.Logger, MaxBodyBytes: c.MaxBodyBytes,
		SnapshotGrace: c.SnapshotGrace, Version: "sawhorse " + build.Version, Revision: Revision, LifecycleDisabled: c.LifecycleDisabled})
	if err != nil {
		return n, &openError{err}
	}
	if err = n.tele.observeStore(n.core); err != nil {
		return n, err
	}
	n.Server, err = server.New(server.Options{API: n.core.API(), Principal: n.core.Principal(), Version: build.Version, Clock: c.Clock, Logger: c.Logger,
		MeterProvider: n.tele.meters, TracerProvider: n.tele.traces, Metrics: n.tele.page, AllowedHosts: c.AllowedHosts,
		MaxBodyBytes: c.MaxBodyBytes, DrainTimeout: c.DrainTimeout, OwnerRoutes: n.ownerRoutes()})
	if err != nil {
		return n, err
	}
	n.local, err = owner.Listen()
	return n, err
}

// WorkbenchRoot is the presentation root of the directory.
func (n *Node) WorkbenchRoot() string { return n.core.WorkbenchRoot() }

// Check verifies the store.
func (n *Node) Check(ctx context.Context) (core.Report, error) { return n.core.Check(ctx) }

// Publish lets other processes find this one. url is empty unless TCP is served as well.
func (n *Node) Publish(url string) error {
	return n.owner.Publish(url, n.core.WorkbenchRoot(), ReadBuild().Version)
}

// Serve answers on the owner's socket and on the listeners given, until ctx ends; see server.Server.Serve.
func (n *Node) Serve(ctx context.Context, listeners ...net.Listener) error {
	// Newcomers are not sent here any longer once the end has begun.
	stop := context.AfterFunc(ctx, func() {
		if err := n.owner.Withdraw(); err != nil {
			n.log.LogAttrs(ctx, slog.LevelWarn, "endpoint", slog.String("cause", err.Error()))
		}
	})
	defer stop()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go n.watchEndpoint(watching)
	go GiveBack(watching, n.clock)
	return n.Server.Serve(ctx, append(listeners, n.local)...)
}

// renewEvery is how long a deleted or changed endpoint file stays so.
const renewEvery = 2 * time.Second

// watchEndpoint keeps DIR/endpoint what it was published as: without it nobody finds the owner.
func (n *Node) watchEndpoint(ctx context.Context) {
	t := n.clock.NewTimer(renewEvery)
	defer t.Stop()
	var failing, changed clock.Spaced
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C():
		}
		t.Reset(renewEvery)
		renewed, err := n.owner.Renew()
		say, text := &changed, "the endpoint file was gone or changed, and is written again"
		attrs := []slog.Attr{}
		if err != nil {
			say, text, attrs = &failing, "endpoint", []slog.Attr{slog.String("cause", err.Error())}
		}
		if err == nil && !renewed {
			failing.Over()
			continue
		}
		if unsaid, ok := say.Say(n.clock.Now()); ok {
			n.log.LogAttrs(ctx, slog.LevelWarn, text, append(attrs, slog.Int("like_it", unsaid))...)
		}
	}
}

// Close sends what was measured, closes the store and gives the directory up, in this order (invariant 3): the last figures
// are read from the store.
func (n *Node) Close() error {
	if n.tele != nil {
		ctx, cancel := context.WithTimeout(context.Background(), teleWithin)
		defer cancel()
		// Also what does not look at its context is left behind: figures of a store whose disk stands still.
		terr := within(n.clock, teleWithin+time.Second, func() error { return n.tele.stop(ctx) })
		if errors.Is(terr, errSlowClose) {
			terr = errors.New("the last figures were not to be had in time")
		}
		if terr != nil {
			n.log.LogAttrs(ctx, slog.LevelWarn, "telemetry", slog.String("cause", terr.Error()))
		}
	}
	var err error
	if n.core != nil {
		if err = within(n.clock, closeWithin, n.core.Close); errors.Is(err, errSlowClose) {
			// The store has its files open still: the directory stays owned until the process has ended.
			return err
		}
	}
	return errors.Join(err, n.owner.Close())
}

// teleWithin is how long a collector is waited for in the end.
const teleWithin = 2 * time.Second

// closeWithin is how long the store may take to close. On a disk that stands still it would take as long as the disk.
const closeWithin = 10 * time.Second

var errSlowClose = errors.New("the disk has not answered in time, and the store is left as a kill would leave it: what was acknowledged is safe")

// within returns what fn returns, or errSlowClose when that takes longer.
func within(clk clock.Clock, d time.Duration, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C():
		return errSlowClose
	}
}

// CheckListen refuses addresses that cannot be meant, and, unless nonlocal is set, those that other machines can reach:
// the server asks nobody for a password.
func CheckListen(address string, nonlocal bool) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("--listen %s is not HOST:PORT", address)
	}
	if !nonlocal && !server.LoopbackOnly(address) {
		return fmt.Errorf("--listen %s can be reached from other machines, and nobody is asked for a password; add --allow-nonlocal-bind if that is what you want", address)
	}
	return nil
}

// Listen opens the TCP address of serve.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		var sys *os.SyscallError
		if errors.As(err, &sys) {
			return nil, fmt.Errorf("--listen %s: %w", address, sys.Err)
		}
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	return l, nil
}
