package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// restored is how many files are brought back.
const restored = 100_000

// restoreBeside restores a commit of many files into one new workbench after the other while other clients put files, and takes the rate of
// members and the p99 of the puts.
func restoreBeside(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	p, err := put(64, "d", text1K())
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, s, p, restored); err != nil {
		return nil, err
	}
	conn, err := load.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := caller{conn}
	answer, _, err := c.call("commit", committing("bench", "first", false))
	if err != nil {
		return nil, err
	}
	restore := func(name string) func(i int) (time.Duration, error) {
		return func(i int) (time.Duration, error) {
			_, took, err := c.call("restore", object{"id": "bench", "destination_id": fmt.Sprint(name, i), "at_commit": answer["commit_identity"]})
			return took, err
		}
	}
	alone, err := restore("alone")(0)
	if err != nil {
		return nil, err
	}
	quiet, during, took, err := b.beside(ctx, s, 10*time.Second, restore("beside"))
	if err != nil {
		return nil, err
	}
	return []line{
		{row: r, ratio: restored / took.Seconds() / 1000, plain: fmt.Sprintf("%.1f s beside puts, %.1f s alone", took.Seconds(), alone.Seconds())},
		compared("restore-p99", fmt.Sprintf("p99 of other clients' puts while %d members are restored : before", restored), 3, during, quiet, "during, before"),
	}, nil
}
