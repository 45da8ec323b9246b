// Command pebble measures the engine alone, without any protocol: a get of 1 KiB, and a synced set of 1 KiB to a random key by one and by many writers.
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/peers"
)

// figure is one line of the answer; latencies in nanoseconds.
type figure struct {
	Name     string  `json:"name"`
	Rate     float64 `json:"rate"`
	P50, P99 int64
}

func main() {
	dir := flag.String("data", "", "directory of the store")
	d := flag.Duration("duration", 2*time.Second, "how long each figure is measured")
	keys := flag.Int("keys", 50000, "how many values of 1 KiB to store first")
	flag.Parse()
	db, err := peers.Open(*dir)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	value := make([]byte, 1024)
	for i := range *keys {
		if err := db.Set(key(uint64(i)), value, pebble.NoSync); err != nil {
			log.Fatal(err)
		}
	}
	get := func() error {
		_, c, err := db.Get(key(rand.Uint64N(uint64(*keys))))
		if err != nil {
			return err
		}
		return c.Close()
	}
	set := func() error { return db.Set(key(rand.Uint64()), value, pebble.Sync) }
	out := []figure{
		measure("get 1 KiB, 1 reader", 1, *d, get),
		measure("get 1 KiB, 2 readers", 2, *d, get),
		measure("set 1 KiB synced, 1 writer", 1, *d, set),
		measure("set 1 KiB synced, 64 writers", 64, *d, set),
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}

func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n*0x9E3779B97F4A7C15) }

func measure(name string, workers int, d time.Duration, f func() error) figure {
	lat := make([][]int64, workers)
	var wg sync.WaitGroup
	start := time.Now()
	for w := range workers {
		wg.Go(func() {
			for t := time.Now(); t.Sub(start) < d; {
				if err := f(); err != nil {
					log.Fatal(err)
				}
				n := time.Now()
				lat[w] = append(lat[w], n.Sub(t).Nanoseconds())
				t = n
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	all := slices.Concat(lat...)
	slices.Sort(all)
	return figure{Name: name, Rate: float64(len(all)) / took.Seconds(), P50: all[len(all)/2], P99: all[len(all)*99/100]}
}
