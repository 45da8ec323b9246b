package workbench

// Kinds of hold, as the engine keeps them beside each hold: who must release
// it. Part of the store's format;
// 3 and 5 are free.
const (
	// holdSnapshot keeps a workbench's files for a snapshot, until it is retired
	// or reaped.
	holdSnapshot byte = 1
	// holdCommit keeps the files of a commit, for ever once it is published.
	holdCommit byte = 2
	// holdCrawl keeps what a cursor reads, until the cursor expires.
	holdCrawl byte = 4
)
