package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// listPage stores a large and a small directory in one workbench and compares the time of one page at the start and of one deep in the large.
func listPage(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.fillDirectory(ctx, s, "small", 1000); err != nil {
		return nil, err
	}
	if err := b.fillDirectory(ctx, s, "large", b.big); err != nil {
		return nil, err
	}
	page := func(dir, cursor string) load.Plan {
		arguments := object{"id": "bench", "section": "outputs", "path": dir, "limit": 100}
		if cursor != "" {
			arguments["cursor"] = cursor
		}
		return load.Plan{Conns: 1, Status: 200, Expect: `"entry_count":100`, Requests: [][]byte{
			load.Request("POST", "/v1/workbench/list", jsonBody(arguments), contentJSON),
		}}
	}
	deep, err := walk(ctx, s.addr, "large", min(500, int(b.big/200)))
	if err != nil {
		return nil, err
	}
	var out []line
	for _, at := range []struct{ name, cursor string }{{"first page", ""}, {"deep page", deep}} {
		l, err := b.duel(ctx, r,
			side{fmt.Sprintf("%s of %d", at.name, b.big), s, page("large", at.cursor)},
			side{"first page of 1000", s, page("small", "")})
		if err != nil {
			return nil, err
		}
		for i := range l {
			l[i].ratio = 1 / l[i].ratio // of times, not of rates
		}
		out = append(out, l...)
	}
	return out, nil
}

// fillDirectory puts n small files f0000000.txt and so on into one directory.
func (b *bench) fillDirectory(ctx context.Context, s *server, dir string, n int64) error {
	t := load.Request("POST", "/v1/workbench/put_file", jsonBody(object{
		"id": "bench", "section": "outputs", "path": dir + "/f#######.txt", "text": "x",
	}), contentJSON)
	holes, err := load.Punch(t, []int64{1}, []int64{10_000_000})
	if err != nil {
		return err
	}
	return b.fill(ctx, s, load.Plan{Conns: 64, Template: t, Holes: holes, Status: 200, Expect: "sha256:"}, n)
}

// walk follows the cursors of a directory for n pages and returns the next one.
func walk(ctx context.Context, addr, dir string, n int) (string, error) {
	c, err := load.Dial(ctx, addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	cursor := ""
	for range n {
		arguments := object{"id": "bench", "section": "outputs", "path": dir, "limit": 100}
		if cursor != "" {
			arguments["cursor"] = cursor
		}
		status, body, err := c.Do(load.Request("POST", "/v1/workbench/list", jsonBody(arguments), contentJSON))
		if err != nil {
			return "", err
		}
		var page struct {
			Next string `json:"next_cursor"`
		}
		if err := json.Unmarshal(body, &page); err != nil || status != 200 || page.Next == "" {
			return "", fmt.Errorf("a page without a next one: %d %.300s", status, body)
		}
		cursor = page.Next
	}
	return cursor, nil
}

// bodyMemory streams one body in, then out, then in and out at once, checks every byte that comes back, and reads the most memory that
// the server ever held.
func bodyMemory(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	idle, err := peakMiB(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	size := b.bodyMiB << 20
	start := time.Now()
	sum, err := upload(ctx, s.addr, "body-1.bin", size)
	if err != nil {
		return nil, err
	}
	in := time.Since(start)
	start = time.Now()
	if err := download(ctx, s.addr, "body-1.bin", size, sum); err != nil {
		return nil, err
	}
	out := time.Since(start)
	both := make(chan error, 2)
	go func() { _, err := upload(ctx, s.addr, "body-2.bin", size); both <- err }()
	go func() { both <- download(ctx, s.addr, "body-1.bin", size, sum) }()
	if err := errors.Join(<-both, <-both); err != nil {
		return nil, err
	}
	peak, err := peakMiB(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	mib := float64(b.bodyMiB)
	return []line{{row: r, ratio: peak, plain: fmt.Sprintf("%.0f MiB in at %.0f MiB/s, out at %.0f MiB/s, then both at once; idle %.0f MiB",
		mib, mib/in.Seconds(), mib/out.Seconds(), idle)}}, nil
}

const bodyPath = "/v1/workbenches/bench/files/outputs/"

// upload sends size bytes that do not compress and returns their sum.
func upload(ctx context.Context, addr, name string, size int64) (uint64, error) {
	return uploadFrom(ctx, addr, name, size, noise(size))
}

// uploadFrom sends the first size bytes that a source gives.
func uploadFrom(ctx context.Context, addr, name string, size int64, source io.Reader) (uint64, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	sum := fnv.New64a()
	body := io.TeeReader(io.LimitReader(source, size), sum)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+addr+bodyPath+name, body)
	if err != nil {
		return 0, err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return 0, fmt.Errorf("PUT %s: %s %s", name, resp.Status, text)
	}
	return sum.Sum64(), nil
}

// download reads the body back and compares its length and sum.
func download(ctx context.Context, addr, name string, size int64, want uint64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+bodyPath+name, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var sum hash.Hash64 = fnv.New64a()
	n, err := io.Copy(sum, resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || n != size || sum.Sum64() != want {
		return fmt.Errorf("GET %s: %s, %d bytes of %d, sums equal: %t", name, resp.Status, n, size, sum.Sum64() == want)
	}
	return nil
}

// noise is an endless stream of bytes that do not compress, the same for the same seed.
func noise(seed int64) io.Reader {
	var key [32]byte
	key[0] = byte(seed >> 20)
	return rand.NewChaCha8(key)
}
