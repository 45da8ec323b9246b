package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// BLOB-1 over appends of every size to bodies of every size.
func TestAppendSizes(t *testing.T) {
	e := newEnv(t)
	for _, first := range sizes {
		for _, second := range sizes {
			data := pattern(first, first)
			e.put("a", data)
			for _, n := range []int{second, 0, 3, second} {
				more := pattern(n+1, n)
				e.append("a", more)
				data = append(data, more...)
			}
			e.expect("a", data)
		}
	}
}

// BLOB-3: an append of 1 KiB costs the same rows and bytes, whatever lies before.
func TestAppendCostsTheSame(t *testing.T) {
	type cost struct {
		batchBytes    uint64
		extents, refs int
	}
	measure := func(size int) (total cost) {
		e := newEnv(t)
		e.put("a", pattern(1, size))
		// As many appends as fill and spill the tail several times.
		before := e.Store.Stats().BatchBytes
		extents := e.rows(keys.SpaceBodyExtent)
		for i := range 20 {
			e.append("a", pattern(i, 1<<10))
		}
		total.batchBytes = e.Store.Stats().BatchBytes - before
		total.extents = e.rows(keys.SpaceBodyExtent) - extents
		total.refs = e.rows(keys.SpaceBodyRef)
		return total
	}
	small, large := measure(TailLimit+1), measure(32<<20)
	// Numbers in keys and records are a few bytes longer in the large body.
	if diff := int64(large.batchBytes) - int64(small.batchBytes); diff < 0 || diff > 20*40 {
		t.Errorf("20 appends write %d bytes after 4 KiB, %d after 32 MiB", small.batchBytes, large.batchBytes)
	}
	if small.extents != large.extents || small.refs != large.refs {
		t.Errorf("20 appends: %+v after 4 KiB, %+v after 32 MiB", small, large)
	}
}

// The base of an append is a body of its own, and stays what it is.
func TestAppendKeepsTheBase(t *testing.T) {
	e := newEnv(t)
	data := pattern(1, 10_000)
	e.put("base", data)
	e.copy("base", "copy")
	var versions [][]byte
	for i := range 10 {
		versions = append(versions, bytes.Clone(data))
		more := pattern(i, 3000)
		e.append("copy", more)
		data = append(data, more...)
	}
	e.expect("base", versions[0])
	e.expect("copy", data)
}

// Two branches that go on from one end fork; neither sees the other's bytes.
func TestFork(t *testing.T) {
	e := newEnv(t)
	for _, size := range []int{100, 10_000, MemoryLimit + 1} {
		base := pattern(1, size)
		e.put("trunk", base)
		names := []string{"trunk", "b", "c"}
		want := map[string][]byte{}
		for _, n := range names {
			if n != "trunk" {
				e.copy("trunk", n)
			}
			want[n] = bytes.Clone(base)
		}
		for round := range 4 {
			for i, n := range names {
				more := pattern(10*round+i, 5000)
				e.append(n, more)
				want[n] = append(want[n], more...)
			}
		}
		for _, n := range names {
			e.expect(n, want[n])
		}
		if got := len(e.record("trunk").Spans); got != 1 {
			t.Errorf("%d bytes: the first to go on has %d lists, it extends the one that it had", size, got)
		}
		if got := len(e.record("b").Spans); size > TailLimit && got != 2 {
			t.Errorf("%d bytes: the second to go on has %d lists, want a fork", size, got)
		}
	}
}

// A body goes through at most MaxSpans lists; then it is copied into one.
func TestForksAreBounded(t *testing.T) {
	e := newEnv(t)
	data := pattern(1, 10_000)
	e.put("a", data)
	deepest, copied := 0, false
	for i := range 3 * MaxSpans {
		// Another branch takes the end of the list first.
		e.copy("a", "other")
		e.append("other", pattern(100+i, 5000))
		more := pattern(i, 6000)
		e.append("a", more)
		data = append(data, more...)
		spans := len(e.record("a").Spans)
		copied = copied || spans < deepest
		deepest = max(deepest, spans)
	}
	e.expect("a", data)
	if deepest != MaxSpans || !copied {
		t.Errorf("at most %d lists, copied: %v", deepest, copied)
	}
	e.drop("a")
	e.drop("other")
	e.expire()
	e.expectNothing()
}

// ErrNotReady: the Update does not hash, Prepare does; the base may move on in
// between.
func TestPrepareIsForOneBase(t *testing.T) {
	e := newEnv(t)
	e.put("a", pattern(1, 10_000))
	big := pattern(2, MemoryLimit+1)
	d, err := e.blobs.PutBytes(ctx, e.root, big)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	try := func() error {
		return e.Update(ctx, e.root, func(tx *kv.Tx) error {
			base, err := get(tx, e.root, "a")
			if err != nil {
				return err
			}
			body, err := e.blobs.Append(tx, base, d)
			if err == nil {
				tx.Put(rowKey(e.root, "a"), rowOf(body))
			}
			return err
		})
	}
	read := func(r kv.Reader) (record.Body, error) { return get(r, e.root, "a") }
	if err := try(); !errors.Is(err, ErrNotReady) {
		t.Fatalf("not prepared: %v", err)
	}
	if err := e.blobs.Prepare(ctx, e.root, read, d); err != nil {
		t.Fatal(err)
	}
	e.append("a", []byte("in between"))
	if err := try(); !errors.Is(err, ErrNotReady) {
		t.Fatalf("prepared for an earlier base: %v", err)
	}
	if err := e.blobs.Prepare(ctx, e.root, read, d); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	e.expect("a", append(append(pattern(1, 10_000), "in between"...), big...))
	if err := e.blobs.Prepare(ctx, e.root, func(kv.Reader) (record.Body, error) { return record.Body{}, errNoRow }, d); !errors.Is(err, errNoRow) {
		t.Errorf("Prepare without a base: %v", err)
	}
}

// Many at once append to one body: each append is there whole, once.
func TestConcurrentAppends(t *testing.T) {
	e := newEnv(t)
	e.put("a", nil)
	const workers, each = 6, 15
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				n := 700
				if i == 7 {
					n = MemoryLimit + 1
				}
				if err := tryAppend(e.Store, e.blobs, e.root, "a", bytes.Repeat([]byte{byte(w + 1)}, n)); err != nil {
					t.Errorf("worker %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	got, err := tryRead(e.Store, e.blobs, e.root, "a")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[byte]int{}
	for _, c := range got {
		counts[c]++
	}
	for w := range workers {
		if n := counts[byte(w+1)]; n != (each-1)*700+MemoryLimit+1 {
			t.Errorf("worker %d's bytes: %d", w, n)
		}
	}
}

// BLOB-1, 2 and 5 against a model: any mixture of puts, appends, copies, drops,
// holds, reaping, collecting and power cuts.
func TestModel(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	e := newEnv(t)
	rng := rand.New(rand.NewPCG(seed, 4))
	model := map[string][]byte{}
	size := func() int {
		if rng.IntN(6) == 0 {
			return sizes[rng.IntN(len(sizes))]
		}
		return rng.IntN(6000)
	}
	for step := range 80 {
		a, b := name(rng.IntN(4)), name(rng.IntN(4))
		_, exists := model[a]
		data := pattern(step, size())
		switch op := rng.IntN(14); {
		case op < 2 || !exists:
			e.put(a, data)
			model[a] = data
		case op < 8:
			e.append(a, data)
			model[a] = append(bytes.Clone(model[a]), data...)
		case op < 10:
			e.copy(a, b)
			model[b] = model[a]
		case op == 10:
			e.drop(a)
			delete(model, a)
		case op == 11:
			e.expire()
		case op == 12:
			e.expect(a, model[a])
		default:
			e.crash(seed*1000 + uint64(step))
		}
	}
	for n, want := range model {
		e.expect(n, want)
	}
	if err := e.Check(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	for n := range model {
		e.drop(n)
	}
	e.expire()
	e.expectNothing()
}

// BLOB-4: a body of any length passes through a bounded memory.
func TestStreamingMemoryIsBounded(t *testing.T) {
	e := newEnv(t)
	d, err := e.blobs.Put(ctx, e.root, io.LimitReader(zeros{}, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	e.update(func(tx *kv.Tx) error {
		body, err := e.blobs.Publish(tx, d)
		tx.Put(rowKey(e.root, "a"), rowOf(body))
		return err
	})
	body := e.openBody("a")
	defer body.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := body.WriteRange(ctx, io.Discard, 0, 64<<20); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
		t.Errorf("reading 64 MiB allocates %d bytes", allocated)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
