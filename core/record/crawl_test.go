package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func TestCrawlGoldens(t *testing.T) {
	recordtest.Golden(t, "crawl-hold", record.CrawlHold{Hold: 300, ExpiresMillis: 1767323045123}, record.AppendCrawlHold, record.DecodeCrawlHold, equal)
}

func FuzzCrawlRecords(f *testing.F) {
	f.Add(record.AppendCrawlHold(nil, record.CrawlHold{Hold: 7, ExpiresMillis: -1}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendCrawlHold, record.DecodeCrawlHold)
	})
}
