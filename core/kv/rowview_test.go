package kv_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

// Several keys are counted up while Views read them, most of the time from the
// rows that other Views have left: no View may miss what was acknowledged before
// it began, and no key may run backwards (KV-4).
func TestViewsThatShareRowsMissNothing(t *testing.T) {
	e := kvtest.New(t)
	s, root := e.Store, e.Root("workbench", "rows")
	const names, rounds = 4, 300
	var acked [names]atomic.Int64
	read := func(name int) (got int64) {
		err := s.View(ctx, root, func(v *kv.View) error {
			value, ok, err := v.Get(rowKey(root, strconv.Itoa(name)))
			if err == nil && ok {
				_, err = fmt.Sscan(string(value.Bytes), &got)
				clear(value.Bytes) // they are the View's own
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for name := range names {
		writers.Go(func() {
			for n := range int64(rounds) {
				put(t, s, root, strconv.Itoa(name), fmt.Sprint(n+1))
				acked[name].Store(n + 1)
			}
		})
	}
	for r := range 2 * names {
		readers.Go(func() {
			var last int64
			for name := r % names; ; {
				least := acked[name].Load()
				got := read(name)
				if got < least || got < last {
					t.Errorf("key %d reads %d; %d was acknowledged and %d read before", name, got, least, last)
					return
				}
				last = got
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for name := range names {
		if got := read(name); got != rounds {
			t.Errorf("key %d ends at %d", name, got)
		}
	}
	del(t, s, root, "0")
	if got := read(0); got != 0 {
		t.Errorf("a deleted key reads %d", got)
	}
}
