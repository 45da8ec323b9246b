package workbench

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Fill publishes n small files below a directory, many in one update, for tests
// that need a large directory. Their names are eight digits.
func (w *Workbench) Fill(ctx context.Context, id, dir string, n int) error {
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	if err := w.create(ctx, t, id); err != nil {
		return err
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, []byte("a small body"))
	if err != nil {
		return err
	}
	const batch = 500
	for at := 0; at < n; at += batch {
		err := w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
			l, _, err := t.find(tx, id)
			if err != nil {
				return err
			}
			for i := at; i < min(n, at+batch); i++ {
				body, err := w.bodies.Publish(tx, sealed)
				if err != nil {
					return err
				}
				next := record.File{ContentType: textType, Body: body}
				t.publish(tx, id, l.incarnation, fmt.Sprintf("%s/%08d", dir, i), nil, &next)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Looks gives the matches of a search, and how many keys and rows it looks at to
// find them.
func (w *Workbench) Looks(ctx context.Context, req *op.WorkbenchSearchRequest) (hits, looks int, err error) {
	s, err := parseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return 0, 0, err
	}
	var cs columns
	ps, err := cs.parsePredicates(req.Predicates)
	if err != nil {
		return 0, 0, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return 0, 0, err
	}
	c := crawl{tool: "search"}
	q := query{t: t, scope: s, columns: cs, predicates: ps, read: func(ctx context.Context, fn func(v *kv.View) error) error { return w.readCrawl(ctx, t, &c, nil, fn) }}
	err = q.each(ctx, func(*row) error {
		hits++
		return nil
	}, nil)
	return hits, q.visited, err
}

// Stamp commits a workbench, which it makes.
func (w *Workbench) Stamp(ctx context.Context, id string) error {
	_, err := w.Commit(ctx, &op.WorkbenchCommitRequest{ID: id, Manifest: op.RawJSON("{}"), ContentDigestURI: "sha256:" + strings.Repeat("01", 32)})
	return err
}

// OnStep has fn told of the steps of commits.
func (w *Workbench) OnStep(fn func(step string)) { w.onStep = fn }

// Consume adds an operation to the consumers of a snapshot, or drops it; dropped
// says whether it was one.
func (w *Workbench) Consume(ctx context.Context, id string, snapshot int64, operation byte, add bool) (dropped bool, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return false, err
	}
	err = w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		l, _, err := t.find(tx, id)
		if err != nil {
			return err
		}
		if add {
			t.addConsumer(tx, l.incarnation, uint64(snapshot), [16]byte{operation})
			return nil
		}
		dropped, err = w.dropConsumer(tx, t, l.incarnation, uint64(snapshot), [16]byte{operation})
		return err
	})
	return dropped, err
}

// Holds counts the holds of the loopback tenant's root.
func (w *Workbench) Holds(ctx context.Context) (n int, err error) {
	err = w.Tamper(ctx, func(tx *kv.Tx, _ uint32) error {
		n = 0
		for _, h := range tx.Holds() {
			if h.Kind != holdCommit {
				n++
			}
		}
		return nil
	})
	return n, err
}

// Tamper runs fn in an update of the loopback tenant's root.
func (w *Workbench) Tamper(ctx context.Context, fn func(tx *kv.Tx, root uint32) error) error {
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	return w.store.Update(ctx, t.root, func(tx *kv.Tx) error { return fn(tx, t.root.ID()) })
}

// WaitForCheck returns when no check of the store runs.
func (w *Workbench) WaitForCheck() { w.care.running.Wait() }

// SnapshotTimer names the timer of a snapshot.
var SnapshotTimer = snapshotTimer

// Crawl is one page of a crawl that reads every file of a workbench, for tests of
// what all such tools have in common.
type Crawl struct {
	Tool   string
	Query  [32]byte
	Cursor *string
	ID     string
	Whole  bool // whether the whole root is read, and not the one workbench
}

// Page returns the generation of every file, the revision and the next cursor.
func (c Crawl) Page(ctx context.Context, w *Workbench) (files map[string]uint64, rev kv.Revision, next string, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, 0, "", err
	}
	at, err := w.openCrawl(t, c.Tool, c.Query, c.Cursor)
	if err != nil {
		return nil, 0, "", err
	}
	l, ok := t.known(c.ID)
	if !ok {
		panic("an unknown workbench " + c.ID)
	}
	rows := keys.AppendPathRecords(nil, t.root.ID(), l.incarnation)
	within := rows
	if c.Whole {
		within = nil
	}
	files = map[string]uint64{}
	err = w.readCrawl(ctx, t, &at, within, func(v *kv.View) error {
		it := v.Scan(rows, keys.AppendEnd(nil, rows), kv.ScanOptions{})
		defer it.Close()
		for it.Next() {
			_, _, path, err := keys.CutPathRecord(it.Key())
			if err != nil {
				return err
			}
			f, err := record.DecodeFile(it.Value().Bytes)
			if err != nil {
				return err
			}
			files[path] = f.Generation
		}
		return it.Err()
	})
	if err != nil {
		return nil, 0, "", err
	}
	return files, at.revision, w.sealCrawl(t, c.Tool, c.Query, at, append(at.anchor, '.')), nil
}

// GrepBudget changes what one call of grep does at most.
func (w *Workbench) GrepBudget(candidates, files, bytes int64) {
	w.grep = grepBudget{candidates, files, bytes}
}

// GrepsWaiting is how many calls of grep wait for room.
func (w *Workbench) GrepsWaiting() int64 { return w.greps.waiting.Load() }

// FindsWaiting is how many calls of find wait for room.
func (w *Workbench) FindsWaiting() int64 { return w.finds.waiting.Load() }

// FillFinds takes all room of find, and returns what gives it back.
func (w *Workbench) FillFinds() (leave func()) {
	for range cap(w.finds.room) {
		w.finds.room <- struct{}{}
	}
	return func() {
		for range cap(w.finds.room) {
			w.finds.leave()
		}
	}
}

// Finisher returns what the background does every few seconds.
func (w *Workbench) Finisher(log *slog.Logger) func() {
	var failing clock.Spaced
	return func() { w.finish(w.care.background, log, &failing) }
}

// SnapshotListBytes changes how many bytes of records a list of snapshots has.
func (w *Workbench) SnapshotListBytes(n int64) { w.snapshotList = n }

// MintMany takes n snapshots of a committed workbench, many in one update.
func (w *Workbench) MintMany(ctx context.Context, id string, n int) error {
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	for at := 0; at < n; at += 500 {
		err := w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
			for range min(500, n-at) {
				s := record.Snapshot{State: record.SnapshotActive, MintedMillis: tx.Now().UnixMilli(), DeadlineMillis: tx.Now().Add(day).UnixMilli()}
				if _, err := w.mintSnapshot(tx, t, id, &s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// GrepQuery is what a cursor of grep belongs to.
func GrepQuery(req *op.WorkbenchGrepRequest) (sum [32]byte, err error) {
	patterns, err := grepPatterns(req)
	return grepQuery(req, patterns), err
}

// MatchGlob is how grep matches names.
var MatchGlob = matchGlob

// GrepAnchorAgain decodes an anchor of grep and encodes it again.
func GrepAnchorAgain(b []byte) ([]byte, error) {
	a, err := decodeGrepAnchor(b)
	if err != nil {
		return nil, err
	}
	return a.append(nil), nil
}

// PredicateCovers parses a predicate and makes a file of some values; it fails
// when the file satisfies the predicate and the predicate's keys leave it out.
// The file has a value of every type, in custom fields of its names.
func PredicateCovers(p op.WorkbenchPredicate, content string, n uint64) error {
	var cs columns
	ps, err := cs.parsePredicates([]op.WorkbenchPredicate{p})
	if err != nil {
		return nil
	}
	r := row{id: "wb1", path: "outputs/" + strings.ReplaceAll(content, "\x00", ""), file: record.File{Generation: n, ContentType: content}}
	if !keys.ValidPath(r.path) {
		r.path = "outputs/a"
	}
	r.file.Body.Length = int64(n &^ (1 << 63))
	r.file.Body.SHA256[0], r.file.Body.SHA256[1] = byte(n), byte(n>>8)
	r.file.Index = []record.IndexValue{{Field: "boolean", Value: record.Boolean(n&1 != 0)}, {Field: "bytes", Value: record.Bytes(content)},
		{Field: "float", Value: record.Float(float64(int64(n)) / 256)}, {Field: "null"}, {Field: "signed", Value: record.Signed(int64(n))},
		{Field: "string", Value: record.String(content)}, {Field: "timestamp", Value: record.Timestamp(int64(n))}, {Field: "unsigned", Value: record.Unsigned(n)}}
	q := ps[0]
	for i := range cs {
		for _, v := range r.file.Index {
			if v.Field == cs[i].id {
				cs[i].kind = v.Value.Kind
			}
		}
	}
	if q.field >= fieldCustom && q.resolve(cs) != nil {
		return nil
	}
	if _, indexed := cs.indexPrefix(nil, 1, q.field); !q.holds(cs, &r) || !indexed && q.field.inRecord() {
		return nil
	}
	ss, ok := q.spans()
	if !ok {
		return nil
	}
	v := cs.value(&r, q.field)
	if v == missing {
		return nil // not_exists is answered without the index
	}
	encoded, ok := q.field.encode(v)
	if !ok || len(intersect(ss, []span{only(encoded)})) == 0 {
		return fmt.Errorf("%s %s %s leaves out %+v", p.Field, p.Op, p.Value, r)
	}
	for i := 1; i < len(ss); i++ {
		if ss[i-1].upper == nil || string(ss[i-1].upper) > string(ss[i].lower) {
			return fmt.Errorf("%s %s %s: spans are not in order", p.Field, p.Op, p.Value)
		}
	}
	return nil
}

// ForgetSearches drops what is kept of searches that may go on.
func (w *Workbench) ForgetSearches() { w.searches = searchCache{} }

// SearchBytes is how much memory is kept of searches that may go on.
func (w *Workbench) SearchBytes() int { return w.searches.bytes }
