package record

const crawlHoldVersion = 1

// CrawlHold keeps a revision for the crawls that read it.
type CrawlHold struct {
	// Hold is the id of the hold.
	Hold uint64
	// ExpiresMillis is when the last of the crawls is over, by the store's clock.
	ExpiresMillis int64
}

// AppendCrawlHold appends the encoding of h.
func AppendCrawlHold(dst []byte, h CrawlHold) []byte {
	return AppendInt(AppendUint(append(dst, crawlHoldVersion), h.Hold), h.ExpiresMillis)
}

// DecodeCrawlHold reads what AppendCrawlHold wrote.
func DecodeCrawlHold(value []byte) (CrawlHold, error) {
	_, r := NewReader(value, crawlHoldVersion)
	h := CrawlHold{Hold: r.Uint(), ExpiresMillis: r.Int()}
	if err := r.Done(); err != nil {
		return CrawlHold{}, err
	}
	return h, nil
}
