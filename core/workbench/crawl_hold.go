package workbench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// timerCrawl is the kind of the timers that release the holds of crawls; the
// payload is the key of the crawl hold. Part of the store's format.
const timerCrawl = "workbench.crawl"

// crawlHoldStep is how much longer than its crawl a hold lasts, so that crawls of
// one revision make it longer no more often than this; and how long nothing is
// tried after a hold was not to be had.
const crawlHoldStep = 2 * time.Minute

// crawlHolds is what this process knows of the holds of a tenant's crawls: until
// when a revision is kept, by the key of the crawl hold. It guards nothing; it
// only spares updates.
type crawlHolds map[string]crawlHeld

type crawlHeld struct {
	until time.Time // the hold lasts at least so long
	retry time.Time // nothing is tried before
}

// keepCrawl makes the revision of a crawl that is older than half the history
// window last as long as the crawl, within a prefix of keys. What goes wrong
// costs the crawl its hold and nothing else: it goes on while the revision is
// there.
func (w *Workbench) keepCrawl(ctx context.Context, t *tenant, c *crawl, within []byte) {
	now := w.store.Now()
	if now.Sub(c.began) < w.store.HistoryWindow()/2 {
		return
	}
	key := keys.AppendCrawlHold(nil, t.root.ID(), uint64(c.revision), within)
	if !t.crawlNeedsHold(key, c, now) {
		return
	}
	var until time.Time
	err := w.store.Update(ctx, t.root, func(tx *kv.Tx) (err error) {
		until, err = w.holdCrawl(tx, key, c, within)
		return err
	})
	if err != nil {
		until = time.Time{}
	}
	t.countMu.Lock()
	if t.crawls == nil {
		t.crawls = make(crawlHolds)
	}
	for k, h := range t.crawls {
		if now.After(h.until) && now.After(h.retry) {
			delete(t.crawls, k)
		}
	}
	t.crawls[string(key)] = crawlHeld{until: until, retry: now.Add(crawlHoldStep)}
	t.countMu.Unlock()
}

func (t *tenant) crawlNeedsHold(key []byte, c *crawl, now time.Time) bool {
	t.countMu.Lock()
	defer t.countMu.Unlock()
	h, ok := t.crawls[string(key)]
	return !ok || h.until.Before(c.expires) && !now.Before(h.retry)
}

// holdCrawl writes or prolongs a crawl's hold (WB-27), and returns until when the
// revision is kept: the zero time when there are too many holds already.
func (w *Workbench) holdCrawl(tx *kv.Tx, key []byte, c *crawl, within []byte) (time.Time, error) {
	value, ok, err := tx.Get(key)
	if err != nil {
		return time.Time{}, err
	}
	var h record.CrawlHold
	if ok {
		if h, err = record.DecodeCrawlHold(value.Bytes); err != nil {
			return time.Time{}, corrupt(err)
		}
		if until := time.UnixMilli(h.ExpiresMillis).UTC(); !until.Before(c.expires) {
			return until, nil
		}
	} else {
		full, err := crawlHoldsFull(tx)
		if err != nil || full {
			return time.Time{}, err
		}
		var id kv.HoldID
		if within == nil {
			id, err = tx.HoldAt(c.revision, holdCrawl, key)
		} else {
			id, err = tx.HoldWithinAt(c.revision, within, holdCrawl, key)
		}
		if err != nil {
			return time.Time{}, err
		}
		h.Hold = uint64(id)
	}
	h.ExpiresMillis = millisUp(c.expires.Add(crawlHoldStep))
	tx.Put(key, record.AppendCrawlHold(nil, h))
	until := time.UnixMilli(h.ExpiresMillis).UTC()
	return until, w.timers.Set(tx, timerCrawl, crawlTimer(uint64(c.revision), within), until, key)
}

// crawlHoldsFull reports whether a root has as many crawl holds as it may have.
func crawlHoldsFull(tx *kv.Tx) (bool, error) {
	lower, upper := keys.SpaceBounds(keys.SpaceCrawlHold, tx.Root().ID())
	it := tx.Scan(lower, upper, kv.ScanOptions{Limit: int(op.LimitCrawlMaxHolds)})
	defer func() { _ = it.Close() }()
	n := int64(0)
	for it.Next() {
		n++
	}
	return n >= op.LimitCrawlMaxHolds, it.Err()
}

// crawlTimer names the timer of a crawl hold.
func crawlTimer(revision uint64, within []byte) string {
	return strconv.FormatUint(revision, 10) + "." + hex.EncodeToString(within)
}

// crawlDue is what the timer of a crawl hold does: the crawls are over.
func (w *Workbench) crawlDue(tx *kv.Tx, f timer.Fired) error {
	_, _, _, err := keys.CutCrawlHold(f.Payload)
	if err != nil {
		return corrupt(err)
	}
	value, ok, err := tx.Get(f.Payload)
	if err != nil || !ok {
		return err
	}
	h, err := record.DecodeCrawlHold(value.Bytes)
	if err != nil {
		return corrupt(err)
	}
	tx.Delete(f.Payload)
	if err := tx.Release(kv.HoldID(h.Hold)); err != nil && !errors.Is(err, kv.ErrNoHold) {
		return corrupt(fmt.Errorf("workbench: the hold of a crawl (WB-27): %w", err))
	}
	return nil
}
