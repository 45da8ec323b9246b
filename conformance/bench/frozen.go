package main

import (
	"context"
	"fmt"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// old is how many files a directory has when its snapshot is taken; a page shows a tenth of them.
const old = 1000

// frozenList compares the pages of a directory at a snapshot with those of one that got many files after the snapshot: their names lie between
// any two of the snapshot's, in equal numbers, or all of them apart from the snapshot's. It measures when compactions have mixed both.
func frozenList(ctx context.Context, b *bench, r row) ([]line, error) {
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
	shapes := []struct{ dir, name string }{{"alone", "f%07do"}, {"between", "f%07do"}, {"apart", "o%07d"}}
	for i := range int64(old) {
		for _, shape := range shapes {
			path := shape.dir + "/" + fmt.Sprintf(shape.name, i*(b.big/old))
			if _, _, err := c.call("put_file", object{"id": "bench", "section": "outputs", "path": path, "text": "x"}); err != nil {
				return nil, err
			}
		}
	}
	if _, _, err := c.call("commit", committing("bench", "first", false)); err != nil {
		return nil, err
	}
	if _, _, err := c.call("snapshot", object{"id": "bench", "name": "s", "ttl_days": 1}); err != nil {
		return nil, err
	}
	for _, shape := range shapes[1:] {
		if err := b.fillDirectory(ctx, s, shape.dir, b.big); err != nil {
			return nil, err
		}
	}
	if _, err := settled(ctx, s.cmd.Process.Pid); err != nil {
		return nil, err
	}
	// The server has closed the idle connection meanwhile.
	conn, err = load.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c = caller{conn}
	pages := func(dir string) (load.Plan, error) {
		p := load.Plan{Conns: 1, Status: 200, Expect: `"entry_count":100`}
		arguments := object{"id": "bench", "section": "outputs", "path": dir, "limit": 100, "at_snapshot": "s"}
		for {
			p.Requests = append(p.Requests, load.Request("POST", "/v1/workbench/list", jsonBody(arguments), contentJSON))
			answer, _, err := c.call("list", arguments)
			if err != nil {
				return p, err
			}
			if answer["next_cursor"] == nil {
				break
			}
			arguments["cursor"] = answer["next_cursor"]
		}
		if len(p.Requests) != old/100 {
			return p, fmt.Errorf("%s has %d pages at the snapshot", dir, len(p.Requests))
		}
		return p, nil
	}
	alone, err := pages("alone")
	if err != nil {
		return nil, err
	}
	var out []line
	for _, shape := range shapes[1:] {
		p, err := pages(shape.dir)
		if err != nil {
			return nil, err
		}
		l, err := b.duel(ctx, r, side{fmt.Sprintf("%d newer %s", b.big, shape.dir), s, p}, side{"no newer", s, alone})
		if err != nil {
			return nil, err
		}
		l[0].ratio = 1 / l[0].ratio // of times, not of rates
		out = append(out, l...)
	}
	return out, nil
}
