package workbench_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const crawlExpiry = time.Duration(op.LimitCrawlExpirySeconds) * time.Second

// page reads a page, or ends the test.
func (b *bench) page(c workbench.Crawl) (files map[string]uint64, rev kv.Revision, next string) {
	b.t.Helper()
	files, rev, next, err := c.Page(ctx, b.Workbench)
	if err != nil {
		b.t.Fatal(err)
	}
	return files, rev, next
}

// turn writes something and lets the background do what it has to.
func (b *bench) turn(path string) {
	b.t.Helper()
	b.replace(path, "again")
	if _, err := b.env.Store.Reap(ctx); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.timers.Fire(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) wantHolds(want int) {
	b.t.Helper()
	if n, err := b.Holds(ctx); err != nil || n != want {
		b.t.Errorf("there are %d holds (%v), want %d", n, err, want)
	}
}

// WB-29.
func TestACrawlCursorBelongsToItsRequest(t *testing.T) {
	b := newBench(t)
	b.put("a", "1")
	c := workbench.Crawl{Tool: "grep", ID: "wb1", Query: [32]byte{1}}
	_, _, next := b.page(c)
	c.Cursor = &next
	b.page(c)

	refuses := func(what string, w *workbench.Workbench, ctx context.Context, c workbench.Crawl) {
		t.Helper()
		t.Log(what)
		_, _, _, err := c.Page(ctx, w)
		refused(t, err, op.ReasonWBBadCursor)
	}
	other := c
	other.Tool = "search"
	refuses("another tool", b.Workbench, ctx, other)
	other = c
	other.Query[31] = 1
	refuses("another query", b.Workbench, ctx, other)
	stranger := actor.With(ctx, actor.Principal{Tenant: [16]byte{2}, User: "1"})
	if _, err := b.Create(stranger, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Fatal(err)
	}
	refuses("another root", b.Workbench, stranger, c)
	token, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil {
		t.Fatal(err)
	}
	for i := range token {
		token[i] ^= 1
		forged := base64.RawURLEncoding.EncodeToString(token)
		token[i] ^= 1
		other = c
		other.Cursor = &forged
		refuses(fmt.Sprint("byte ", i, " changed"), b.Workbench, ctx, other)
	}
	for _, s := range []string{"", "x", "r:1", next[:len(next)-1], next + "A", next + "=", string(make([]byte, 1<<17))} {
		other = c
		other.Cursor = &s
		refuses("no cursor", b.Workbench, ctx, other)
	}
	b.reopen(func(o *workbench.Options) { o.CursorKey = []byte("another key of sixteen") })
	if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Fatal(err)
	}
	refuses("another server's key", b.Workbench, ctx, c)
}

// WB-28.
func TestACrawlShowsOneRevisionWhileTheWindowLasts(t *testing.T) {
	b := newBench(t)
	b.put("a", "1")
	c := workbench.Crawl{Tool: "find", ID: "wb1", Whole: true}
	files, rev, next := b.page(c)
	c.Cursor = &next
	b.env.Clock.Advance(b.env.Store.HistoryWindow()/2 - time.Millisecond)
	b.turn("a")
	b.put("b", "1")
	got, at, _ := b.page(c)
	if at != rev || !maps.Equal(got, files) {
		t.Errorf("the second page shows %v at %d, the first one %v at %d", got, at, files, rev)
	}
	b.wantHolds(0)
	// Nobody came in time: the revision is gone.
	b.env.Clock.Advance(2 * b.env.Store.HistoryWindow())
	b.turn("a")
	b.turn("a")
	_, _, _, err := c.Page(ctx, b.Workbench)
	refused(t, err, op.ReasonWBReadFenceChanged, "operation", "find")
	b.wantHolds(0)
}

// WB-27, WB-28: a crawl that goes on past half the window keeps its revision until
// it expires, over a restart too.
func TestALongCrawlHoldsItsRevision(t *testing.T) {
	for _, whole := range []bool{false, true} {
		b := newBench(t)
		b.put("a", "1")
		c := workbench.Crawl{Tool: "grep", ID: "wb1", Whole: whole}
		files, rev, next := b.page(c)
		began := b.env.Clock.Now()
		c.Cursor = &next
		b.env.Clock.Advance(b.env.Store.HistoryWindow() / 2)
		b.page(c)
		b.wantHolds(1)
		for step := 0; b.env.Clock.Now().Sub(began) < crawlExpiry-10*time.Minute; step++ {
			b.env.Clock.Advance(10 * time.Minute)
			b.turn("a")
			if step == 2 {
				b.reopen()
				b.turn("a")
			}
			got, at, again := b.page(c)
			if at != rev || !maps.Equal(got, files) {
				t.Fatalf("a page shows %v at %d, the first one %v at %d", got, at, files, rev)
			}
			c.Cursor = &again
			b.wantHolds(1)
		}
		b.env.Clock.Set(began.Add(crawlExpiry - time.Millisecond))
		b.page(c)
		b.env.Clock.Advance(time.Millisecond)
		_, _, _, err := c.Page(ctx, b.Workbench)
		refused(t, err, op.ReasonWBReadFenceChanged, "operation", "grep")
		b.env.Clock.Advance(3 * time.Minute)
		b.turn("a")
		b.wantHolds(0)
	}
}

// WB-27: crawls of one revision share a hold, which the later ones make longer no
// more often than every two minutes.
func TestCrawlHoldsAreShared(t *testing.T) {
	b := newBench(t)
	b.put("a", "1")
	half := b.env.Store.HistoryWindow() / 2
	revision := func() (rev kv.Revision) {
		if err := b.Tamper(ctx, func(tx *kv.Tx, _ uint32) error { rev = tx.Revision(); return nil }); err != nil {
			t.Fatal(err)
		}
		return rev
	}
	var crawls []workbench.Crawl
	for range 10 {
		c := workbench.Crawl{Tool: "grep", ID: "wb1"}
		_, _, next := b.page(c)
		c.Cursor = &next
		crawls = append(crawls, c)
		b.env.Clock.Advance(20 * time.Second)
	}
	b.env.Clock.Advance(half)
	before := revision()
	for _, c := range crawls {
		b.page(c)
		b.page(c)
	}
	b.wantHolds(1)
	// Three minutes lie between the first and the last: one hold, made longer once.
	if n := revision() - before; n > 4 {
		t.Errorf("%d revisions were written for ten crawls of one revision", n)
	}
}

func TestTheNumberOfCrawlHoldsIsBounded(t *testing.T) {
	b := newBench(t)
	b.put("a", "1")
	var crawls []workbench.Crawl
	for i := range int(op.LimitCrawlMaxHolds) + 3 {
		b.replace("a", fmt.Sprint(i))
		c := workbench.Crawl{Tool: "grep", ID: "wb1"}
		_, _, next := b.page(c)
		c.Cursor = &next
		crawls = append(crawls, c)
	}
	b.env.Clock.Advance(b.env.Store.HistoryWindow() / 2)
	for _, c := range crawls {
		b.page(c) // without a hold it reads as long as the window lasts
	}
	b.wantHolds(int(op.LimitCrawlMaxHolds))
	b.env.Clock.Advance(b.env.Store.HistoryWindow())
	b.turn("a")
	b.turn("a")
	b.page(crawls[0])
	_, _, _, err := crawls[op.LimitCrawlMaxHolds].Page(ctx, b.Workbench)
	refused(t, err, op.ReasonWBReadFenceChanged, "operation", "grep")
	b.env.Clock.Advance(2 * crawlExpiry)
	b.turn("a")
	b.wantHolds(0)
}

// WB-27, WB-28 in any order of things.
func TestCrawlsInAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 27))
		b := newBench(t)
		b.put("a", "1")
		half := b.env.Store.HistoryWindow() / 2
		type state struct {
			workbench.Crawl
			files map[string]uint64
			last  time.Time // when it read a page
			ends  time.Time
		}
		var crawls []state
		for range 120 {
			switch n := rng.IntN(8); {
			case n == 0 && len(crawls) < 30:
				c := workbench.Crawl{Tool: "grep", ID: "wb1", Whole: rng.IntN(2) == 0}
				files, _, next := b.page(c)
				c.Cursor = &next
				now := b.env.Clock.Now()
				crawls = append(crawls, state{c, files, now, now.Add(crawlExpiry)})
			case n == 1:
				b.turn("a")
			case n == 2:
				if _, err := b.stat(fmt.Sprint("new", seed)); err != nil {
					b.put(fmt.Sprint("new", seed), "x")
				}
			case n == 3:
				b.env.Clock.Advance([]time.Duration{time.Second, half / 2, half, 5 * half}[rng.IntN(4)])
			case n == 4 && rng.IntN(4) == 0:
				b.reopen()
				b.put(fmt.Sprint("after", rng.Uint64()), "x")
			case len(crawls) > 0:
				i := rng.IntN(len(crawls))
				c := &crawls[i]
				got, _, next, err := c.Page(ctx, b.Workbench)
				now := b.env.Clock.Now()
				var f *fault.Error
				switch {
				case err == nil && now.Before(c.ends):
					if !maps.Equal(got, c.files) {
						t.Fatalf("seed %d: a page shows %v, the first one %v", seed, got, c.files)
					}
					c.Cursor, c.last = &next, now
				case errors.As(err, &f) && f.Reason == op.ReasonWBReadFenceChanged:
					// One that read a page in the second half of the window has a hold.
					if now.Before(c.ends) && now.Sub(c.last) < b.env.Store.HistoryWindow()/2 {
						t.Fatalf("seed %d: a crawl was lost %v after a page", seed, now.Sub(c.last))
					}
				default:
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		b.env.Clock.Advance(2 * crawlExpiry)
		b.turn("a")
		b.wantHolds(0)
	}
}

func TestCheckFindsBrokenCrawlHolds(t *testing.T) {
	for name, damage := range map[string]func(tx *kv.Tx, key []byte) error{
		"a crawl hold without its hold": func(tx *kv.Tx, _ []byte) error { return tx.Release(1) },
		"a hold without its crawl hold": func(tx *kv.Tx, key []byte) error { tx.Delete(key); return nil },
		"another one's hold": func(tx *kv.Tx, key []byte) error {
			tx.Put(key, record.AppendCrawlHold(nil, record.CrawlHold{Hold: 9}))
			return nil
		},
		"a row that does not decode": func(tx *kv.Tx, key []byte) error { tx.Put(key, []byte{0}); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("a", "1")
			c := workbench.Crawl{Tool: "grep", ID: "wb1", Whole: true}
			_, rev, next := b.page(c)
			c.Cursor = &next
			b.env.Clock.Advance(b.env.Store.HistoryWindow())
			b.page(c)
			var key, old []byte
			if err := b.Tamper(ctx, func(tx *kv.Tx, root uint32) error {
				key = keys.AppendCrawlHold(nil, root, uint64(rev), nil)
				value, ok, err := tx.Get(key)
				if err != nil || !ok {
					return fmt.Errorf("no crawl hold: %w", err)
				}
				old = append(old, value.Bytes...)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := b.Tamper(ctx, func(tx *kv.Tx, _ uint32) error { return damage(tx, key) }); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, p := range b.env.Store.Check(ctx).Problems {
				found = found || p.Invariant == "WB-27"
			}
			if !found {
				t.Error("the check finds nothing")
			}
			// Put right again for the check at the end.
			if err := b.Tamper(ctx, func(tx *kv.Tx, root uint32) error {
				if name != "a crawl hold without its hold" {
					tx.Put(key, old)
					return nil
				}
				id, err := tx.HoldAt(rev, 4, key)
				tx.Put(key, record.AppendCrawlHold(nil, record.CrawlHold{Hold: uint64(id)}))
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
