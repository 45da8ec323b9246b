package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// What lies beside the spot: half of it in files of 1 MiB, half in files of 1 KiB.
const liveMiB = 1024

// The server's history window, and how long the background has after it.
const (
	historyWindow  = 6 * time.Minute
	backgroundWork = 10 * time.Minute
)

// retention replaces one file of 1 KiB over and over beside other live data, waits until its old versions are to be gone, and looks at what
// the store takes of the disk and at how long a page of the file's directory takes, before and after.
func retention(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	for i := range liveMiB / 2 {
		if _, err := upload(ctx, s.addr, fmt.Sprintf("large/%d.bin", i), 1<<20); err != nil {
			return nil, err
		}
	}
	p, err := put(64, "d", text1K())
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, s, p, liveMiB<<10/2); err != nil {
		return nil, err
	}
	if err := b.fillDirectory(ctx, s, "spot", 200); err != nil {
		return nil, err
	}
	if _, err := settled(ctx, s.cmd.Process.Pid); err != nil {
		return nil, err
	}
	before, err := b.pageOf(ctx, s, "spot")
	if err != nil {
		return nil, err
	}
	empty, err := diskUse(s.dir)
	if err != nil {
		return nil, err
	}
	tell := func(what string, page time.Duration, used int64) {
		fmt.Fprintf(os.Stderr, "%s %s: %d MiB on disk, a page takes %s\n", time.Now().UTC().Format("15:04:05"), what, used>>20, short(page))
	}
	tell("before", before, empty)
	t := load.Request("POST", "/v1/workbench/put_file", jsonBody(object{
		"id": "bench", "section": "outputs", "path": "spot/f0000050.txt", "text": "#######" + text1K()[7:], "replace": true,
	}), contentJSON)
	holes, err := load.Punch(t, []int64{1}, []int64{10_000_000})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := b.fill(ctx, s, load.Plan{Conns: 64, Template: t, Holes: holes, Status: 200, Expect: "sha256:"}, b.big); err != nil {
		return nil, err
	}
	took := time.Since(start)
	var most int64
	var slowest time.Duration
	var after time.Duration
	var used int64
	for ended := time.Now().Add(historyWindow + backgroundWork); ; {
		if after, err = b.pageOf(ctx, s, "spot"); err != nil {
			return nil, err
		}
		if used, err = diskUse(s.dir); err != nil {
			return nil, err
		}
		tell("after", after, used)
		most, slowest = max(most, used), max(slowest, after)
		left := time.Until(ended)
		if left <= 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(left, 30*time.Second)):
		}
	}
	const limit = liveMiB*3/2 + 512
	out := []line{
		{row: row{name: r.name, what: fmt.Sprintf("MiB on disk beside %d MiB of live data, after %d replaces of one file of 1 KiB and %s", liveMiB, b.big, historyWindow+backgroundWork),
			target: limit, less: true}, ratio: float64(used >> 20), plain: fmt.Sprintf("%d before the replaces, which took %.0f s, %d at most", empty>>20, took.Seconds(), most>>20)},
		compared("retention-list", "time of a page over the spot, afterwards : before", 2, after, before, fmt.Sprintf("at most %s meanwhile; after, before", short(slowest))),
	}
	return out, nil
}

// pageOf is the median time of the first page of a directory.
func (b *bench) pageOf(ctx context.Context, s *server, dir string) (time.Duration, error) {
	conn, err := load.Dial(ctx, s.addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var all []time.Duration
	for range 500 {
		_, took, err := caller{conn}.call("list", object{"id": "bench", "section": "outputs", "path": dir, "limit": 100})
		if err != nil {
			return 0, err
		}
		all = append(all, took)
	}
	return middle(all), nil
}

// diskUse is what the files below a folder take of the disk, as du counts.
func diskUse(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		info, err := d.Info()
		if err != nil {
			return gone(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum, err
}

// gone forgives that a file of a running server has gone between two looks.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
