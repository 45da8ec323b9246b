package workbench

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// crawl is a paged reading of a root at one revision: all pages show the state
// that the first one found, whatever is written meanwhile (WB-28).
type crawl struct {
	revision kv.Revision
	// began and expires are when the first page was read, and until when there
	// may be others; zero before the first page.
	began, expires time.Time
	// anchor is where the page before ended, in the words of the tool.
	anchor []byte
	tool   string
}

// A crawl's cursor is base64url of
//
//	version 1 | revision 8 | began, ms 8 | expires, ms 8 | anchor | MAC 16
//
// The MAC also covers the tool, the root and the query, so a cursor goes on with
// nothing but the request that it came from (WB-29).
const (
	crawlCursorVersion = 1
	crawlCursorHeader  = 1 + 8 + 8 + 8
	maxCrawlCursor     = 64 << 10
)

const crawlCursorDomain = "sawhorse.workbench.crawl-cursor.v1\x00"

// crawlExpiry is how long a crawl lasts.
const crawlExpiry = time.Duration(op.LimitCrawlExpirySeconds) * time.Second

// openCrawl begins a crawl, or goes on with the one that a cursor names. query is
// a digest over everything in the request but cursor and limit.
//
// Errors: WB_BAD_CURSOR for a cursor that was not made here for this very tool,
// root and query; WB_READ_FENCE_CHANGED for one that has expired.
func (w *Workbench) openCrawl(t *tenant, tool string, query [32]byte, cursor *string) (crawl, error) {
	if cursor == nil {
		return crawl{tool: tool}, nil
	}
	foreign := badCursor("must be one that this tool gave for the same request")
	if len(*cursor) > maxCrawlCursor {
		return crawl{}, foreign
	}
	token, ok := decodeToken(*cursor)
	if !ok || len(token) < crawlCursorHeader+cursorMACLen {
		return crawl{}, foreign
	}
	token, given := token[:len(token)-cursorMACLen], token[len(token)-cursorMACLen:]
	mac := w.crawlMAC(t, tool, query, token)
	if !hmac.Equal(mac[:cursorMACLen], given) || token[0] != crawlCursorVersion {
		return crawl{}, foreign
	}
	c := crawl{
		tool:     tool,
		revision: kv.Revision(binary.BigEndian.Uint64(token[1:])),
		began:    time.UnixMilli(int64(binary.BigEndian.Uint64(token[9:]))).UTC(),
		expires:  time.UnixMilli(int64(binary.BigEndian.Uint64(token[17:]))).UTC(),
		anchor:   token[crawlCursorHeader:],
	}
	if !w.store.Now().Before(c.expires) {
		return crawl{}, c.over()
	}
	return c, nil
}

// sealCrawl makes the cursor with which a crawl goes on at anchor. At least one
// page was read.
func (w *Workbench) sealCrawl(t *tenant, tool string, query [32]byte, c crawl, anchor []byte) string {
	token := make([]byte, 0, crawlCursorHeader+len(anchor)+cursorMACLen)
	token = append(token, crawlCursorVersion)
	token = binary.BigEndian.AppendUint64(token, uint64(c.revision))
	token = binary.BigEndian.AppendUint64(token, uint64(c.began.UnixMilli()))
	token = binary.BigEndian.AppendUint64(token, uint64(c.expires.UnixMilli()))
	token = append(token, anchor...)
	mac := w.crawlMAC(t, tool, query, token)
	return base64.RawURLEncoding.EncodeToString(append(token, mac[:cursorMACLen]...))
}

func (w *Workbench) crawlMAC(t *tenant, tool string, query [32]byte, token []byte) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, w.o.CursorKey)
	scope := append(make([]byte, 0, 128), crawlCursorDomain...)
	scope = binary.BigEndian.AppendUint32(scope, t.root.ID())
	scope = binary.BigEndian.AppendUint64(scope, uint64(len(tool)))
	scope = append(append(scope, tool...), query[:]...)
	h.Write(scope)
	h.Write(token)
	h.Sum(sum[:0])
	return sum
}

// readCrawl runs fn with a View of the crawl's revision, which is the newest one
// when the crawl begins. It may be called several times for one page. fn may read
// the rows within a prefix of keys, or anything when within is nil; a crawl that
// grows old keeps that much of its revision from being reaped.
//
// Errors: WB_READ_FENCE_CHANGED when the revision can no longer be read; that of
// fn.
func (w *Workbench) readCrawl(ctx context.Context, t *tenant, c *crawl, within []byte, fn func(v *kv.View) error) error {
	if c.began.IsZero() {
		now := w.store.Now()
		return w.store.View(ctx, t.root, func(v *kv.View) error {
			c.revision, c.began, c.expires = v.Revision(), now, now.Add(crawlExpiry)
			return fn(v)
		})
	}
	w.keepCrawl(ctx, t, c, within)
	err := w.store.ViewAt(ctx, t.root, c.revision, fn)
	// A revision that is not there yet was never given to anybody, unless the
	// store went back to a backup.
	if errors.Is(err, kv.ErrBelowFloor) || errors.Is(err, kv.ErrAhead) {
		return c.over()
	}
	return err
}

// over says that a crawl cannot go on.
func (c *crawl) over() error {
	return fault.New(op.ReasonWBReadFenceChanged, "What the cursor goes on with is no longer kept; start again without a cursor.").With("operation", c.tool)
}

// millisUp rounds an instant up to a millisecond.
func millisUp(t time.Time) int64 {
	ms := t.UnixMilli()
	if ms < math.MaxInt64 && time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}
