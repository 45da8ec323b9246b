package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// caller makes single calls and takes their time.
type caller struct{ conn *load.Conn }

// call makes one call of a tool, demands success and returns the answer and its time.
func (c caller) call(tool string, arguments object) (answer map[string]any, took time.Duration, err error) {
	start := time.Now()
	status, body, err := c.conn.Do(load.Request("POST", "/v1/workbench/"+tool, jsonBody(arguments), contentJSON))
	took = time.Since(start)
	if err != nil {
		return nil, took, fmt.Errorf("%s: %w", tool, err)
	}
	if status != 200 {
		return nil, took, fmt.Errorf("%s: %d %.300s", tool, status, body)
	}
	return answer, took, json.Unmarshal(body, &answer)
}

// alternate takes the median times of two calls that are made in turn, n times each.
func alternate(n int, a, b func(i int) (time.Duration, error)) (ta, tb time.Duration, err error) {
	var as, bs []time.Duration
	for i := range n {
		t, err := a(i)
		if err != nil {
			return 0, 0, err
		}
		as = append(as, t)
		if t, err = b(i); err != nil {
			return 0, 0, err
		}
		bs = append(bs, t)
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[n/2], bs[n/2], nil
}

func compared(name, what string, target float64, a, b time.Duration, sides string) line {
	return line{row: row{name: name, what: what, target: target, less: true}, ratio: float64(a) / float64(b),
		plain: fmt.Sprintf("%s: %s, %s", sides, short(a), short(b))}
}

// appendLarge compares an append of 1 KiB to a large file with one to an empty file.
func appendLarge(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := load.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := caller{conn}
	if _, err := upload(ctx, s.addr, "large.bin", b.bodyMiB<<20); err != nil {
		return nil, err
	}
	const n = 200
	for i := range n {
		if _, _, err := c.call("put_file", object{"id": "bench", "section": "outputs", "path": fmt.Sprintf("empty/%d", i), "text": ""}); err != nil {
			return nil, err
		}
	}
	to := func(path string) (time.Duration, error) {
		_, took, err := c.call("append", object{"id": "bench", "section": "outputs", "path": path, "text": text1K()})
		return took, err
	}
	large, empty, err := alternate(n, func(int) (time.Duration, error) { return to("large.bin") },
		func(i int) (time.Duration, error) { return to(fmt.Sprintf("empty/%d", i)) })
	if err != nil {
		return nil, err
	}
	return []line{compared(r.name, r.what, r.target, large, empty, fmt.Sprintf("%d MiB, empty", b.bodyMiB))}, nil
}

// million stores a million files, and measures on them what has to cost the same as on a thousand.
func million(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	pid := s.cmd.Process.Pid
	before, err := writtenBytes(pid)
	if err != nil {
		return nil, err
	}
	p, err := put(64, "d", text1K())
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, s, p, b.big); err != nil {
		return nil, err
	}
	written, err := settled(ctx, pid)
	if err != nil {
		return nil, err
	}
	out := []line{{row: row{name: "write-bytes", what: "bytes written to the disk per byte of body, new files of 1 KiB, 64 clients, after compaction", target: 12, less: true},
		ratio: float64(written-before) / float64(b.big<<10), plain: fmt.Sprintf("%d files", b.big)}}
	conn, err := load.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := caller{conn}
	for i := range 1000 {
		if _, _, err := c.call("put_file", object{"id": "small", "section": "outputs", "path": fmt.Sprintf("d/%d", i), "text": text1K()}); err != nil {
			return nil, err
		}
	}
	if _, _, err := c.call("commit", committing("small", "first", false)); err != nil {
		return nil, err
	}
	peakBefore, err := peakMiB(pid)
	if err != nil {
		return nil, err
	}
	quiet, during, took, err := b.commitBeside(ctx, s, c)
	if err != nil {
		return nil, err
	}
	peak, err := peakMiB(pid)
	if err != nil {
		return nil, err
	}
	out = append(out, compared("commit-p99", fmt.Sprintf("p99 of other clients' puts while %d members are committed : before", b.big), 3, during, quiet,
		fmt.Sprintf("the commit took %.1f s, VmHWM %.0f MiB after it and %.0f MiB before; during, before", took.Seconds(), peak, peakBefore)))
	snapshot := func(id string) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) {
			_, took, err := c.call("snapshot", object{"id": id, "ttl_days": 1})
			return took, err
		}
	}
	large, small, err := alternate(200, snapshot("bench"), snapshot("small"))
	if err != nil {
		return nil, err
	}
	out = append(out, compared("snapshot", fmt.Sprintf("time of a snapshot of a workbench with %d files : with 1,000", b.big), 3, large, small, "large, small"))
	return out, nil
}

func committing(id, run string, replace bool) object {
	return object{"id": id, "manifest": object{"run": run}, "content_digest_uri": "sha256:" + strings.Repeat("00", 32), "replace": replace}
}

// commitBeside commits the large workbench while other clients put files into another one.
func (b *bench) commitBeside(ctx context.Context, s *server, c caller) (quiet, during, took time.Duration, err error) {
	return b.beside(ctx, s, 5*time.Second, func(i int) (time.Duration, error) {
		_, took, err := c.call("commit", committing("bench", fmt.Sprint("run ", i), true))
		return took, err
	})
}

// beside does some work over and over while other clients put files, for as long as given, and returns the p99 of their puts before and
// during, and how long the work took the first time.
func (b *bench) beside(ctx context.Context, s *server, length time.Duration, work func(i int) (time.Duration, error)) (quiet, during, took time.Duration, err error) {
	plan := func(dir string, d time.Duration) (load.Plan, error) {
		t := load.Request("POST", "/v1/workbench/put_file", jsonBody(object{
			"id": "others", "section": "outputs", "path": dir + "/f#######.txt", "text": text1K(),
		}), contentJSON)
		holes, err := load.Punch(t, []int64{1}, []int64{10_000_000})
		return load.Plan{Conns: 16, Template: t, Holes: holes, Status: 200, Expect: "sha256:", Duration: d}, err
	}
	p, err := plan("before", length)
	if err != nil {
		return 0, 0, 0, err
	}
	before, err := b.drive(ctx, s, p)
	if err != nil {
		return 0, 0, 0, err
	}
	type ended struct {
		took time.Duration
		err  error
	}
	done := make(chan ended, 1)
	beside := make(chan error, 1)
	var beneath sample
	if p, err = plan("during", length); err != nil {
		return 0, 0, 0, err
	}
	go func() {
		var err error
		beneath, err = b.drive(ctx, s, p)
		beside <- err
	}()
	// The puts are under way when the work begins, and it goes on for as long as they do: one time follows the other.
	go func() {
		var first time.Duration
		for i := 0; ; i++ {
			took, err := work(i)
			if first == 0 {
				first = took
			}
			select {
			case berr := <-beside:
				done <- ended{first, errors.Join(err, berr)}
				return
			default:
			}
			if err != nil {
				done <- ended{first, errors.Join(err, <-beside)}
				return
			}
		}
	}()
	e := <-done
	return time.Duration(before.P99), time.Duration(beneath.P99), e.took, e.err
}

// writtenBytes is what a process had the disk write.
func writtenBytes(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes:"); ok {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, errors.New("no write_bytes")
}

// settled waits until a process writes nothing any more but its heartbeat, and returns what it had written.
func settled(ctx context.Context, pid int) (int64, error) {
	last := int64(-1)
	for calm := 0; calm < 5; {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(2 * time.Second):
		}
		now, err := writtenBytes(pid)
		if err != nil {
			return 0, err
		}
		if now-last < 1<<20 {
			calm++
		} else {
			calm = 0
		}
		last = now
	}
	return last, nil
}
