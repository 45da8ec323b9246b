// Package peers holds what the small reference servers of the benchmark share: how they listen and how they say so.
//
// A peer does one thing in the plainest way that its library offers. It validates nothing, names nothing, measures nothing:
// it marks how fast the machine and the library are when nobody asks for more.
package peers

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// Serve listens on a free loopback port, prints "ready http://HOST:PORT" on standard output, as the product does, and serves h until
// SIGTERM or an interrupt. It returns when the listener is closed.
func Serve(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	srv := &http.Server{Handler: h}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	fmt.Printf("ready http://%s\n", l.Addr())
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// Open opens a Pebble store in dir with the memtable and cache sizes that the product uses, so that the engine under both is the same.
func Open(dir string) (*pebble.DB, error) {
	o := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       64 << 20,
		Cache:              pebble.NewCache(256 << 20),
		Logger:             quiet{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return pebble.Open(dir, o)
}

// quiet drops Pebble's progress lines and keeps its promise that Fatalf does not return.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
