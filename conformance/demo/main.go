// Command demo runs the main job of the product on real input, against the
// real binary: it puts a whole source tree into a workbench over MCP, edits
// and appends over Connect, kills the server with SIGKILL in the middle of
// both, lists and reads everything back over HTTP and gRPC-Web, and compares
// every byte and every generation. It exits with 1 at the first difference.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"
)

// maxAttempts bounds the repeats of one call across restarts of the server.
const maxAttempts = 100

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type demo struct {
	server  *server
	files   []*file
	workers int
	seed    int
}

func run() error {
	binary := flag.String("binary", "bin/sawhorse", "the binary to demonstrate")
	tree := flag.String("tree", "", "source tree to put (default: the sources of the Go standard library)")
	limit := flag.Int("files", 0, "put at most this many files, spread over the tree (0: all)")
	workers := flag.Int("workers", 8, "clients at a time")
	flag.Parse()

	root := *tree
	if root == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("find the Go sources: %w", err)
		}
		root = filepath.Join(strings.TrimSpace(string(out)), "src")
	}
	files, err := loadTree(root, *limit)
	if err != nil {
		return err
	}
	var total, binaries int
	for _, f := range files {
		total += len(f.body)
		if !f.isText() {
			binaries++
		}
	}
	fmt.Printf("tree: %d files, %.1f MB, %d binary, %d with odd names\n", len(files), float64(total)/1e6, binaries, len(oddNames))

	data, err := os.MkdirTemp("", "sawhorse-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	log, err := os.Create(filepath.Join(data, "server.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	d := &demo{server: newServer(*binary, filepath.Join(data, "store"), log), files: files, workers: *workers}
	if err := d.server.start(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{d.put, d.change, d.readBack} {
		if err := step(context.Background()); err != nil {
			d.server.stop()
			return err
		}
	}
	if err := d.server.stop(); err != nil {
		return err
	}
	check := exec.Command(*binary, "check", "--data", filepath.Join(data, "store"))
	check.Stderr = os.Stderr
	if out, err := check.Output(); err != nil {
		return fmt.Errorf("check of the store: %w: %s", err, out)
	}
	fmt.Printf("every byte and every generation agree after %d kills; the store's own check is clean\n", d.server.kills)
	return nil
}

// each runs work for every file with d.workers at a time, shows progress, and
// kills the server once, when a little under half is done, while calls are
// under way.
func (d *demo) each(ctx context.Context, what string, files []*file, kill bool, newWorker func() func(context.Context, *file) error) error {
	bar := progressbar.NewOptions(len(files), progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionThrottle(500*time.Millisecond), progressbar.OptionSetWidth(30))
	began := time.Now()
	var restart time.Duration
	var killer sync.WaitGroup
	var killed error
	queue := make(chan *file)
	group, ctx := errgroup.WithContext(ctx)
	for range d.workers {
		work := newWorker()
		group.Go(func() error {
			for f := range queue {
				if err := work(ctx, f); err != nil {
					return err
				}
				bar.Add(1)
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(queue)
		for i, f := range files {
			if kill && i == len(files)*2/5 {
				killer.Go(func() { restart, killed = d.server.killAndRestart() })
			}
			select {
			case queue <- f:
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	})
	err := group.Wait()
	killer.Wait()
	bar.Finish()
	fmt.Fprintln(os.Stderr)
	if err = errors.Join(err, killed); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("%s: %d in %.1f s (%.0f a second)", what, len(files), took.Seconds(), float64(len(files))/took.Seconds())
	if kill {
		fmt.Printf(", killed with SIGKILL on the way and serving again after %.2f s", restart.Seconds())
	}
	fmt.Println()
	return nil
}

func (d *demo) put(ctx context.Context) error {
	var repeats atomic.Int64
	err := d.each(ctx, "put over MCP", d.files, true, func() func(context.Context, *file) error {
		a := &agent{server: d.server, http: &http.Client{Transport: &http.Transport{}}}
		return func(ctx context.Context, f *file) error {
			repeated, err := a.put(ctx, f)
			if repeated {
				repeats.Add(1)
			}
			return err
		}
	})
	if err == nil {
		fmt.Printf("  %d puts had taken effect although the kill swallowed their answer; the refusal of the repeat showed it\n", repeats.Load())
	}
	return err
}

func (d *demo) change(ctx context.Context) error {
	var edited, appended []*file
	for i, f := range d.files {
		switch {
		case i%15 == 7:
			appended = append(appended, f)
		case i%20 == 3 && f.isText():
			if _, ok := uniqueLine(string(f.body)); ok {
				edited = append(edited, f)
			}
		}
	}
	var looked atomic.Int64
	worker := func(change func(context.Context, *program, *file) (bool, error)) func() func(context.Context, *file) error {
		return func() func(context.Context, *file) error {
			p := &program{server: d.server, http: &http.Client{Transport: &http.Transport{}}, options: []connect.ClientOption{connect.WithProtoJSON()}}
			return func(ctx context.Context, f *file) error {
				settled, err := change(ctx, p, f)
				if settled {
					looked.Add(1)
				}
				return err
			}
		}
	}
	err := d.each(ctx, "edit over Connect", edited, true, worker(func(ctx context.Context, p *program, f *file) (bool, error) {
		line, _ := uniqueLine(string(f.body))
		return p.edit(ctx, f, line, line+" (edited)")
	}))
	if err != nil {
		return err
	}
	err = d.each(ctx, "append over Connect", appended, true, worker(func(ctx context.Context, p *program, f *file) (bool, error) {
		return p.append(ctx, f, "\nappended by the demonstration\n")
	}))
	if err == nil {
		fmt.Printf("  %d changes were settled by looking after a kill\n", looked.Load())
	}
	return err
}

func (d *demo) readBack(ctx context.Context) error {
	byPath := make(map[string]*file, len(d.files))
	for _, f := range d.files {
		byPath[f.path] = f
	}
	plain := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: d.workers}}
	seen := 0
	b := &browser{server: d.server, http: plain}
	began := time.Now()
	err := b.walk(ctx, func(path string, size int64) error {
		f, ok := byPath[path]
		if !ok {
			return fmt.Errorf("the listing shows %q, which was never put", path)
		}
		if size != int64(len(f.body)) {
			return fmt.Errorf("the listing shows %d bytes for %s, which has %d", size, path, len(f.body))
		}
		seen++
		return nil
	})
	if err != nil {
		return err
	}
	if seen != len(d.files) {
		return fmt.Errorf("the listing shows %d of %d files", seen, len(d.files))
	}
	fmt.Printf("list over HTTP: %d files in %.1f s\n", seen, time.Since(began).Seconds())

	err = d.each(ctx, "read over HTTP", d.files, false, func() func(context.Context, *file) error { return b.compare })
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	web := &http.Client{Transport: &http.Transport{Protocols: protocols, DialContext: (&net.Dialer{}).DialContext}}
	return d.each(ctx, "stat and read over gRPC-Web", d.files, false, func() func(context.Context, *file) error {
		p := &program{server: d.server, http: web, options: []connect.ClientOption{connect.WithGRPCWeb()}}
		return func(ctx context.Context, f *file) error {
			if err := p.compareCard(ctx, f); err != nil {
				return err
			}
			// The small text files that are read as lines; the rest was compared whole over HTTP.
			if name := strings.ToLower(f.path); f.isText() && len(f.body) < 64<<10 && !strings.HasSuffix(name, ".json") &&
				!strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".ndjson") {
				return p.compareLines(ctx, f)
			}
			return nil
		}
	})
}
