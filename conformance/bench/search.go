package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// searchEqual compares a search by equality that finds ten files among many with one that finds ten among a thousand.
func searchEqual(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
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
	conn, err := load.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := caller{conn}
	store := func(id, path, kind string) error {
		_, _, err := c.call("put_file", object{"id": id, "section": "outputs", "path": path, "text": text1K(), "content_type": kind})
		return err
	}
	for i := range 1000 {
		if err := store("small", fmt.Sprintf("d/%d", i), "text/plain"); err != nil {
			return nil, err
		}
	}
	for i := range 10 {
		for _, id := range []string{"bench", "small"} {
			if err := store(id, fmt.Sprintf("rare/%d", i), "application/x-rare"); err != nil {
				return nil, err
			}
		}
	}
	search := func(id string) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) {
			got, took, err := c.call("search", object{"id": id, "fields": []string{"path", "logical_size"},
				"predicates": []object{{"field": "content_type", "op": "eq", "value": "application/x-rare"}}})
			if err == nil && got["match_count"] != 10.0 {
				err = fmt.Errorf("%v matches, want 10", got["match_count"])
			}
			return took, err
		}
	}
	large, small, err := alternate(200, search("bench"), search("small"))
	if err != nil {
		return nil, err
	}
	return []line{compared(r.name, r.what, r.target, large, small, fmt.Sprintf("ten among %d, among 1,000", b.big))}, nil
}
