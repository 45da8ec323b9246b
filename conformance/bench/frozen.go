package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// old is how many files a directory has when its snapshot is taken; a page shows a tenth of them.
const old = 1000

// firstLooks is how many snapshots of the same state have pages that are looked at once.
const firstLooks = 40

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
	// Pages of one snapshot are looked at over and over; those of each other one once.
	for i := range firstLooks + 1 {
		if _, _, err := c.call("snapshot", object{"id": "bench", "name": fmt.Sprint("s", i), "ttl_days": 1}); err != nil {
			return nil, err
		}
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
	pages := func(dir, snapshot string, each func(took time.Duration)) (p load.Plan, err error) {
		p = load.Plan{Conns: 1, Status: 200, Expect: `"entry_count":100`}
		arguments := object{"id": "bench", "section": "outputs", "path": dir, "limit": 100, "at_snapshot": snapshot}
		for {
			p.Requests = append(p.Requests, load.Request("POST", "/v1/workbench/list", jsonBody(arguments), contentJSON))
			answer, took, err := c.call("list", arguments)
			if err != nil {
				return p, err
			}
			each(took)
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
	var out []line
	for _, shape := range shapes[1:] {
		plan := map[string]load.Plan{}
		looks := map[string][]time.Duration{}
		for i := range firstLooks + 1 {
			for _, dir := range []string{shape.dir, "alone"} {
				p, err := pages(dir, fmt.Sprint("s", i), func(took time.Duration) { looks[dir] = append(looks[dir], took) })
				if err != nil {
					return nil, err
				}
				if i == 0 {
					// What was read from the disk does not count.
					plan[dir], looks[dir] = p, nil
				}
			}
		}
		what := fmt.Sprintf("%d newer %s", b.big, shape.dir)
		first := compared(r.name+"-first", "the same of pages that nobody has looked at before", r.target, middle(looks[shape.dir]), middle(looks["alone"]), what+", no newer")
		l, err := b.duel(ctx, r, side{what, s, plan[shape.dir]}, side{"no newer", s, plan["alone"]})
		if err != nil {
			return nil, err
		}
		l[0].ratio = 1 / l[0].ratio // of times, not of rates
		out = append(append(out, l...), first)
	}
	return out, nil
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
