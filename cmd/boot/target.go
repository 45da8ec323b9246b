package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/mcpapi"
	"github.com/sawhorse-dev/sawhorse/server/remote"
)

// Target is where the calls of a command go: into an owned directory, through its owner, or to a server by URL.
type Target struct {
	// Pipeline carries the calls.
	Pipeline *call.Pipeline
	// MCP speaks MCP over Pipeline.
	MCP *mcpapi.Runtime
	// Files carries bodies that do not belong in JSON.
	Files op.Files
	// close ends what was begun for the target.
	close func() error
}

// Close lets go of the target.
func (t *Target) Close() error { return t.close() }

// The roles that a process may own a directory in.
const (
	RoleServe   = "serve"
	RoleMCP     = "mcp"
	RoleCall    = "workbench"
	RoleCheck   = "check"
	RoleFiles   = "local files"
	RoleBackup  = "backup"
	RoleRestore = "restore-backup"
)

// arrival is how long a command waits for another process that is just opening the directory, or just closing it.
const arrival = 10 * time.Second

// Reach opens c.Dir, or works through the process that has it open. server is the URL of a server instead of a
// directory; then c.Dir is not looked at.
func Reach(ctx context.Context, c Config, server string) (*Target, error) {
	if server != "" {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("--server %s is not a URL such as http://127.0.0.1:8080", server)
		}
		return through(remote.New(server, nil))
	}
	deadline := time.Now().Add(arrival)
	var unfit error // why the owner's socket cannot be spoken to
	for {
		n, err := Own(ctx, c)
		var held *datadir.HeldError
		if err == nil {
			return owned(c, n)
		}
		if !errors.As(err, &held) {
			return nil, err
		}
		// The owner may not have published yet, or may be about to end, as the one-shot commands are: until it is one that
		// stays and can be reached, this process has not become one of those that work through it (invariant 1).
		if role := held.Holder.Role; role == RoleServe || role == RoleMCP {
			conn, derr := datadir.Dial(ctx, c.Dir)
			if derr == nil {
				conn.Close()
				return attached(c)
			}
			if !errors.Is(derr, datadir.ErrNoOwner) {
				unfit = derr
			}
		}
		if time.Now().After(deadline) {
			return nil, &deafError{held, unfit}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// deafError says that the directory has an owner who cannot be worked through; why is nil when it does not answer.
type deafError struct {
	held *datadir.HeldError
	why  error
}

// Error names no path.
func (e *deafError) Error() string {
	var no syscall.Errno
	switch {
	case e.why == nil:
		return e.held.Error() + ", which does not answer"
	case errors.As(e.why, &no):
		return e.held.Error() + ", whose socket cannot be spoken to: " + words.Short(e.why)
	}
	return e.held.Error() + ", which cannot be spoken to: " + e.why.Error()
}

func (e *deafError) Unwrap() []error { return []error{e.held, e.why} }

// attached works through the owner.
func attached(c Config) (*Target, error) {
	e, err := datadir.Read(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := sameRoot(c, e.WorkbenchRoot); err != nil {
		return nil, err
	}
	client := remote.New("http://localhost", func(ctx context.Context) (net.Conn, error) { return datadir.Dial(ctx, c.Dir) })
	client.SayAbsent("Nobody has the data directory open at the moment: start sawhorse serve or mcp on it, or try again shortly.")
	return through(client)
}

// sameRoot refuses another root than the stored one, in the words of who opens the directory.
func sameRoot(c Config, stored string) error {
	if c.WorkbenchRoot == "" {
		return nil
	}
	wanted, err := jail.ParseRoot(c.WorkbenchRoot)
	switch {
	case err != nil:
		return core.NoRoot(c.WorkbenchRoot, err)
	case string(wanted) != stored:
		return core.OtherRoot(stored, string(wanted))
	}
	return nil
}

func through(client *remote.Client) (*Target, error) {
	p, err := call.New(call.Options{Invoke: client.Call})
	if err != nil {
		return nil, err
	}
	m, err := mcpapi.New(mcpapi.Workbench(p, ReadBuild().Version), mcpapi.Options{})
	if err != nil {
		return nil, err
	}
	return &Target{Pipeline: p, MCP: m, Files: client, close: func() error { client.Close(); return nil }}, nil
}

// owned serves the directory to others while it is used here.
func owned(c Config, n *Node) (*Target, error) {
	if err := n.Publish(""); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx) }()
	return &Target{Pipeline: n.Server.Pipeline(), MCP: n.Server.MCP(), Files: n.core.API().Files, close: func() error {
		cancel()
		err := errors.Join(<-served, n.Close())
		if err != nil {
			c.Logger.LogAttrs(ctx, slog.LevelError, "close", slog.String("cause", err.Error()))
		}
		return err
	}}, nil
}
