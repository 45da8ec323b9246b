// Command bench measures the server beside bare peers, in one run and in alternating rounds, and prints the ratios with the machine's facts.
//
//	go run ./conformance/bench [--bin bin/sawhorse] [--only stat-http,put-64] [--strict]
//
// It exits 0 whatever it measured, unless --strict is given: then a ratio that misses its target is exit status 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// config is what the flags say.
type config struct {
	bin      string
	work     string
	rounds   int
	duration time.Duration
	only     []string
	strict   bool
	big      int64
	bodyMiB  int64
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "load" {
		exit(generate(context.Background()))
	}
	var c config
	var only string
	flag.StringVar(&c.bin, "bin", "bin/sawhorse", "the server to measure")
	flag.StringVar(&c.work, "work", ".cache/bench", "where peers are built and stores are laid; on the disk to be measured")
	flag.IntVar(&c.rounds, "rounds", 5, "rounds of each pair")
	flag.DurationVar(&c.duration, "duration", 2*time.Second, "counted time of one side of one round")
	flag.StringVar(&only, "only", "", "rows to run, by name, separated by commas: "+strings.Join(rowNames(), ","))
	flag.BoolVar(&c.strict, "strict", false, "exit 1 when a target is missed")
	flag.Int64Var(&c.big, "big", 1_000_000, "files in the large directory")
	flag.Int64Var(&c.bodyMiB, "body-mib", 1024, "size of the streamed body")
	flag.Parse()
	if flag.NArg() > 0 {
		exit(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	if only != "" {
		c.only = strings.Split(only, ",")
		for _, name := range c.only {
			if !slices.Contains(rowNames(), name) {
				exit(fmt.Errorf("no row is named %q; there are %s", name, strings.Join(rowNames(), ", ")))
			}
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, c))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// generate is the load generator's process: a plan on standard input, a result on standard output.
func generate(ctx context.Context) error {
	var p load.Plan
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return err
	}
	r, err := load.Run(ctx, p)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func run(ctx context.Context, c config) (err error) {
	if _, err := os.Stat(c.bin); err != nil {
		return fmt.Errorf("%w (build it first: make build)", err)
	}
	if err := os.MkdirAll(c.work, 0o755); err != nil {
		return err
	}
	stores, err := os.MkdirTemp(c.work, "stores-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stores)) }()
	b := &bench{config: c, stores: stores}
	defer b.stopAll()
	if err := b.build(ctx); err != nil {
		return err
	}
	fmt.Println(machine(stores, b.bin))
	fmt.Printf("\n%s\n", header)
	missed := 0
	for _, r := range rows {
		if len(c.only) == 0 && r.named || len(c.only) > 0 && !slices.Contains(c.only, r.name) {
			continue
		}
		out, err := r.measure(ctx, b, r)
		b.stopAll()
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for _, l := range out {
			if l.verdict() == miss {
				missed++
			}
			fmt.Println(l)
		}
	}
	fmt.Printf("\n%s\n", legend)
	if c.strict && missed > 0 {
		return fmt.Errorf("%d of the targets were missed", missed)
	}
	return nil
}

// build compiles the peers into the work folder.
func (b *bench) build(ctx context.Context) error {
	out := filepath.Join(b.work, "bin")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return command(ctx, "go", "build", "-o", out+string(filepath.Separator), "./conformance/bench/peers/...")
}
