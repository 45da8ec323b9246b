package kv

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// dedicated is the other way to admit one closure at a time: a goroutine runs them all, and a caller waits for it, then for
// the sync. It runs the product's own turn, so that nothing but the hand-over differs.
type dedicated struct {
	s  *Store
	in chan *handedOver
}

type handedOver struct {
	fn  func(tx *Tx) error
	tx  *Tx
	own commit
	err error
	ran chan struct{}
}

func (d *dedicated) run() {
	for j := range d.in {
		j.own, j.err = d.s.turn(context.Background(), foreground, j.tx, j.fn)
		j.ran <- struct{}{}
	}
}

var handOvers = sync.Pool{New: func() any { return &handedOver{ran: make(chan struct{}, 1)} }}

func (d *dedicated) update(root Root, fn func(tx *Tx) error) error {
	if err := d.s.enter(); err != nil {
		return err
	}
	defer d.s.leave()
	j := handOvers.Get().(*handedOver)
	j.fn, j.tx = fn, newTx(d.s, root.state)
	d.in <- j
	<-j.ran
	err := j.err
	if err == nil {
		err = d.s.syncWait(&j.own)
	}
	j.tx.recycle()
	handOvers.Put(j)
	return err
}

// BenchmarkTurn compares the caller that runs its closure itself, which is what Update does, with a dedicated goroutine:
// puts of 1 KiB on a disk, from 1 client and from 64.
func BenchmarkTurn(b *testing.B) {
	for _, clients := range []int{1, 64} {
		for _, way := range []string{"caller", "goroutine"} {
			b.Run(fmt.Sprintf("%s/%d", way, clients), func(b *testing.B) {
				s, err := Open(Options{Dir: b.TempDir(), NoBackground: true})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				root, err := s.Root(context.Background(), "bench", "tenant", "root")
				if err != nil {
					b.Fatal(err)
				}
				update := func(fn func(tx *Tx) error) error { return s.Update(context.Background(), root, fn) }
				if way == "goroutine" {
					d := &dedicated{s, make(chan *handedOver, 64)}
					go d.run()
					defer close(d.in)
					update = func(fn func(tx *Tx) error) error { return d.update(root, fn) }
				}
				body := make([]byte, 1024)
				var last atomic.Int64
				var group sync.WaitGroup
				b.ResetTimer()
				for range clients {
					group.Go(func() {
						for n := last.Add(1); n <= int64(b.N); n = last.Add(1) {
							err := update(func(tx *Tx) error {
								key := keys.AppendPrefix(make([]byte, 0, 32), keys.SpacePathRecord, root.ID())
								tx.Insert(keys.AppendUint64(key, uint64(n)*0x9E3779B97F4A7C15), body)
								return nil
							})
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
			})
		}
	}
}
