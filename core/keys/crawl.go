package keys

// SpaceCrawlHold is the space of the holds of crawls. Part of the store's format.
const SpaceCrawlHold byte = 0x91

var crawlSpaces = []Space{
	{ID: SpaceCrawlHold, Name: "crawl hold", Order: "revision, prefix of the rows that are held (empty: the whole root)", Cardinality: "at most 64",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "has its hold, on its revision and prefix, and its timer (WB-27)"},
}

// AppendCrawlHold appends the key of the row that says which hold keeps a
// revision for crawls, within a prefix of keys.
func AppendCrawlHold(dst []byte, root uint32, revision uint64, within []byte) []byte {
	return AppendFixed(AppendUint64(AppendPrefix(dst, SpaceCrawlHold, root), revision), within)
}

// CutCrawlHold decodes a key written by AppendCrawlHold. The prefix aliases key.
func CutCrawlHold(key []byte) (root uint32, revision uint64, within []byte, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceCrawlHold {
		return 0, 0, nil, ErrMalformed
	}
	revision, within, err = CutUint64(rest)
	if err != nil {
		return 0, 0, nil, ErrMalformed
	}
	return root, revision, within, nil
}
