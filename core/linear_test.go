package core_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// fileState is one file of the model: generation 0 means that there is none.
type fileState struct {
	generation int64
	body       string
}

// call is what a client asks of a file.
type call struct {
	path, verb string
	a, b       string
}

// answer is what it was told: a reason, or facts.
type answer struct {
	reason     op.Reason
	generation int64
	body       string // of a read
	n          int64  // size of an append, replacements of an edit
}

// step is the contract of one file, said as a function.
func (s fileState) step(c call) (fileState, answer) {
	switch c.verb {
	case "put":
		if s.generation > 0 {
			return s, answer{reason: op.ReasonWBAlreadyExists, generation: s.generation}
		}
		return fileState{1, c.a}, answer{generation: 1}
	case "replace":
		if s.generation == 0 {
			return s, answer{reason: op.ReasonWBNotFound}
		}
		return fileState{s.generation + 1, c.a}, answer{generation: s.generation + 1}
	case "append":
		next := fileState{s.generation + 1, s.body + c.a}
		return next, answer{generation: next.generation, n: int64(len(next.body))}
	case "edit":
		n := strings.Count(s.body, c.a)
		switch {
		case s.generation == 0:
			return s, answer{reason: op.ReasonWBNotFound}
		case n == 0:
			return s, answer{reason: op.ReasonWBNoMatch}
		case c.a == c.b:
			return s, answer{generation: s.generation, n: int64(n)}
		}
		return fileState{s.generation + 1, strings.ReplaceAll(s.body, c.a, c.b)}, answer{generation: s.generation + 1, n: int64(n)}
	}
	if s.generation == 0 {
		return s, answer{reason: op.ReasonWBNotFound}
	}
	return s, answer{generation: s.generation, body: s.body}
}

var fileModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byPath := map[string][]porcupine.Operation{}
		for _, o := range history {
			path := o.Input.(call).path
			byPath[path] = append(byPath[path], o)
		}
		var parts [][]porcupine.Operation
		for _, p := range byPath {
			parts = append(parts, p)
		}
		return parts
	},
	Init: func() any { return fileState{} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(fileState).step(input.(call))
		return output.(answer) == want, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// perform makes a call through the tools.
func perform(api *op.API, c call) (answer, error) {
	wb, section := api.Workbench, "outputs"
	var a answer
	var err error
	switch c.verb {
	case "put", "replace":
		var res *op.WorkbenchPutFileResult
		if res, err = wb.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: section, Path: c.path, Text: &c.a, Replace: ptr(c.verb == "replace")}); err == nil {
			a.generation = res.Generation
		}
	case "append":
		var res *op.WorkbenchAppendResult
		if res, err = wb.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: section, Path: c.path, Text: &c.a}); err == nil {
			a.generation, a.n = res.Generation, res.SizeBytes
		}
	case "edit":
		var res *op.WorkbenchEditResult
		if res, err = wb.Edit(ctx, &op.WorkbenchEditRequest{ID: "wb1", Section: section, Path: c.path, OldString: c.a, NewString: c.b, ReplaceAll: ptr(true)}); err == nil {
			a.generation, a.n = res.Generation, res.Replacements
		}
	default:
		var res *op.WorkbenchReadResult
		if res, err = wb.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: section, Path: c.path, Limit: ptr(int32(300))}); err == nil {
			a.generation = res.Generation
			for _, item := range res.Items {
				a.body += strings.Trim(string(item.Value), `"`)
			}
		}
	}
	var f *fault.Error
	if errors.As(err, &f) {
		a.reason = f.Reason
		if g, ok := f.Detail("generation"); ok {
			a.generation = g.(int64)
		}
		err = nil
	}
	return a, err
}

// Clients on a few files at once: whatever they were told, there is one order of
// their calls that explains all of it.
func TestTheToolsAreLinearizable(t *testing.T) {
	o := options(kvtest.NewCrashFS())
	o.NoBackground = false
	c := open(t, o)
	const clients, rounds = 32, 40
	begin := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(client)))
			for round := range rounds {
				in := call{path: fmt.Sprintf("f%d", rng.IntN(6))}
				word := fmt.Sprintf("[%d.%d]", client, round)
				switch rng.IntN(12) {
				case 0, 1:
					in.verb, in.a = "put", word
				case 2:
					in.verb, in.a = "replace", word
				case 3, 4, 5:
					in.verb, in.a = "append", word
				case 6:
					in.verb, in.a, in.b = "edit", "[", "[+"
				case 7:
					in.verb, in.a, in.b = "edit", "+", ""
				case 8:
					in.verb, in.a, in.b = "edit", "]", "]"
				default:
					in.verb = "read"
				}
				from := time.Since(begin)
				out, err := perform(c.API(), in)
				to := time.Since(begin)
				if err != nil {
					t.Errorf("%+v: %v", in, err)
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Call: int64(from), Output: out, Return: int64(to)})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if result := porcupine.CheckOperationsTimeout(fileModel, history, time.Minute); result != porcupine.Ok {
		t.Errorf("the history of %d calls is %s", len(history), result)
	}
	shut(t, c)
}

// The model refuses histories that it must refuse: a lost append and a stale
// read.
func TestTheModelRefusesWhatIsWrong(t *testing.T) {
	do := func(at int64, in call, out answer) porcupine.Operation {
		return porcupine.Operation{Input: in, Output: out, Call: at, Return: at + 1}
	}
	for name, history := range map[string][]porcupine.Operation{
		"lost append": {
			do(0, call{"f", "append", "a", ""}, answer{generation: 1, n: 1}),
			do(2, call{"f", "append", "b", ""}, answer{generation: 2, n: 2}),
			do(4, call{"f", "read", "", ""}, answer{generation: 2, body: "b"}),
		},
		"stale read": {
			do(0, call{"f", "put", "a", ""}, answer{generation: 1}),
			do(2, call{"f", "replace", "b", ""}, answer{generation: 2}),
			do(4, call{"f", "read", "", ""}, answer{generation: 1, body: "a"}),
		},
	} {
		if porcupine.CheckOperations(fileModel, history) {
			t.Errorf("%s is accepted", name)
		}
	}
}
