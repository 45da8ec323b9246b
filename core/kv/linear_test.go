package kv_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

// The history of many goroutines on one root must be one that a single machine,
// doing one thing at a time, could have produced (KV-3, KV-4, KV-5): a root with
// three registers and a revision.
type registers struct {
	rev    kv.Revision
	values [3]uint64
}

type linearInput struct {
	kind     string // cas, swap or view
	register int
	expect   uint64
	value    uint64
}

type linearOutput struct {
	refused bool
	seen    uint64 // of the register, by cas
	state   registers
}

var registerModel = porcupine.Model{
	Init: func() any { return registers{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(registers), input.(linearInput), output.(linearOutput)
		switch in.kind {
		case "view":
			return out.state == s, s
		case "cas":
			if s.values[in.register] != in.expect {
				return out.refused && out.seen == s.values[in.register], s
			}
			if out.refused {
				return false, s
			}
		}
		s.values[in.register] = in.value
		s.rev++
		return out.state.rev == s.rev, s
	},
}

func registerName(i int) string { return fmt.Sprintf("r%d", i) }

func readRegisters(r kv.Reader, root kv.Root) (state registers, err error) {
	for i := range state.values {
		got, _, err := r.Get(rowKey(root, registerName(i)))
		if err != nil {
			return state, err
		}
		state.values[i] = number(got)
	}
	state.rev = r.Revision()
	return state, nil
}

func runLinear(s *kv.Store, root kv.Root, in linearInput) (out linearOutput, err error) {
	if in.kind == "view" {
		err = s.View(ctx, root, func(v *kv.View) error {
			out.state, err = readRegisters(v, root)
			return err
		})
		return out, err
	}
	err = s.Update(ctx, root, func(tx *kv.Tx) error {
		key := rowKey(root, registerName(in.register))
		got, _, err := tx.Get(key)
		if err != nil {
			return err
		}
		out = linearOutput{seen: number(got)}
		if in.kind == "cas" && out.seen != in.expect {
			out.refused = true
			return errTaken
		}
		tx.Put(key, binary.BigEndian.AppendUint64(nil, in.value))
		out.state.rev = tx.Revision()
		return nil
	})
	if out.refused && errors.Is(err, errTaken) {
		err = nil
	}
	return out, err
}

func TestHistoriesAreLinearizable(t *testing.T) {
	for seed := range uint64(10) {
		e := kvtest.New(t, func(o *kv.Options) { o.HistoryWindow = -1 })
		root := e.Root("test", "a")
		var (
			now     atomic.Int64
			mu      sync.Mutex
			history []porcupine.Operation
			wg      sync.WaitGroup
		)
		for client := range 6 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(client)))
				for n := range 40 {
					in := linearInput{kind: []string{"cas", "cas", "swap", "view"}[rng.IntN(4)], register: rng.IntN(3),
						expect: uint64(rng.IntN(4)), value: uint64(rng.IntN(4))}
					call := now.Add(1)
					out, err := runLinear(e.Store, root, in)
					back := now.Add(1)
					if err != nil {
						t.Errorf("seed %d, client %d, step %d: %v", seed, client, n, err)
						return
					}
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: back})
					mu.Unlock()
					if n%16 == 15 {
						if _, err := e.Reap(ctx); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		if got := porcupine.CheckOperationsTimeout(registerModel, history, time.Minute); got != porcupine.Ok {
			t.Fatalf("seed %d: the history of %d operations is %v", seed, len(history), got)
		}
	}
}

// The model itself must be able to say no.
func TestTheModelRefusesAStaleRead(t *testing.T) {
	history := []porcupine.Operation{
		{ClientId: 0, Input: linearInput{kind: "swap", value: 1}, Output: linearOutput{state: registers{rev: 1}}, Call: 1, Return: 2},
		{ClientId: 1, Input: linearInput{kind: "view"}, Output: linearOutput{}, Call: 3, Return: 4},
	}
	if porcupine.CheckOperations(registerModel, history) {
		t.Fatal("a view after an acknowledged swap that does not show it was accepted")
	}
}
