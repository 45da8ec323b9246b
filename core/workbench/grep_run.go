package workbench

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/core/workbench/needle"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const (
	// grepBatch is how many files are pinned at one time.
	grepBatch = 64
	// grepPatience is how long a call goes on to the next file, or the next piece of
	// a file.
	grepPatience = 10 * time.Second
)

// grepRun is one call of grep.
type grepRun struct {
	w         *Workbench
	t         *tenant
	p         jail.Place
	crawl     *crawl
	recursive bool
	glob      *string
	limit     int
	left      grepBudget
	until     time.Time
	scanner   *needle.Scanner

	at  grepAnchor
	res op.WorkbenchGrepResult

	batch []grepFile
	over  bool // there are no files after the batch
}

// grepFile is a file that is to be read, pinned.
type grepFile struct {
	path string
	body *blob.Body
	// unproven is a run manifest of which the head can no longer be read.
	unproven *record.File
}

// run fills the page, and reports whether there is more.
func (g *grepRun) run(ctx context.Context) (more bool, err error) {
	g.until = g.w.store.Clock().Now().Add(grepPatience)
	defer g.drop()
	first := true
	for size := 8; ; size = min(2*size, grepBatch) {
		if err := g.collect(ctx, size, first && g.at.path == ""); err != nil {
			return false, err
		}
		for len(g.batch) > 0 {
			f := g.batch[0]
			if !first && g.full(f.body.Length()) {
				return true, nil
			}
			more, err := g.file(ctx, f, first)
			if err != nil || more {
				return more, err
			}
			f.body.Close()
			g.batch = g.batch[1:]
			first = false
		}
		if g.over {
			return false, nil
		}
		if g.left.candidates <= 0 || g.late() {
			return true, nil
		}
	}
}

// full reports whether the next file, of some length, has to wait for the next
// page.
func (g *grepRun) full(length int64) bool {
	return len(g.res.Matches) >= g.limit || g.left.files <= 0 || g.left.bytes <= 0 || g.late() ||
		g.left.bytes < length && length <= g.w.o.MaxArtifactBytes // such a file is read as a whole
}

func (g *grepRun) late() bool { return g.w.store.Clock().Now().After(g.until) }

func (g *grepRun) drop() {
	for _, f := range g.batch {
		f.body.Close()
	}
	g.batch = nil
}

// collect pins the next files of the scope.
func (g *grepRun) collect(ctx context.Context, size int, begin bool) error {
	var within []byte
	if !g.crawl.began.IsZero() {
		within = keys.AppendPathRecords(nil, g.t.root.ID(), g.at.in)
	}
	return g.w.readCrawl(ctx, g.t, g.crawl, within, func(v *kv.View) error {
		if begin && within == nil {
			if err := g.resolve(v); err != nil {
				return err
			}
		}
		if g.at.inside {
			f, ok, err := g.t.file(v, g.at.in, g.at.path)
			if err != nil {
				return err
			}
			if !ok {
				return corrupt(errors.New("workbench: a file of a crawl is gone (WB-28)"))
			}
			if err := g.pin(v, g.at.path, f); err != nil {
				return err
			}
		}
		switch {
		case g.at.single:
			g.over = true
			if g.at.path != "" {
				return nil
			}
			f, ok, err := g.t.file(v, g.at.in, g.p.Full)
			if err != nil || !ok || !g.wanted(jail.Name(g.p.Full)) {
				return err
			}
			return g.pin(v, g.p.Full, f)
		case g.recursive:
			return g.descend(v, size)
		}
		return g.direct(v, size)
	})
}

// pin keeps a file's body. A run manifest must be that of the commit head (WB-17);
// a View that only the crawl's hold keeps shows no head, and the manifest is
// proven when it is read.
func (g *grepRun) pin(v *kv.View, path string, f record.File) error {
	file := grepFile{path: path}
	switch err := g.t.accept(v, g.at.in, path, &f); {
	case errors.Is(err, kv.ErrBelowFloor):
		file.unproven = &record.File{Generation: f.Generation, ContentType: strings.Clone(f.ContentType), Body: record.Body{Length: f.Body.Length, SHA256: f.Body.SHA256}}
	case err != nil:
		return err
	}
	file.body = g.w.bodies.Open(v, f.Body)
	g.batch = append(g.batch, file)
	return nil
}

func (g *grepRun) wanted(name string) bool { return g.glob == nil || matchGlob(*g.glob, name) }

// enough is called for each name that was looked at, and says when to stop.
func (g *grepRun) enough(size int) bool {
	g.left.candidates--
	return len(g.batch) >= size || g.left.candidates <= 0 || g.left.candidates%512 == 0 && g.late()
}

// descend collects files at any depth.
func (g *grepRun) descend(v *kv.View, size int) error {
	root := g.t.root.ID()
	rows := keys.AppendPathRecords(nil, root, g.at.in)
	lower := keys.AppendPathInside(bytes.Clone(rows), g.p.Full)
	upper := keys.AppendEnd(nil, lower)
	if g.p.Full != "" {
		lower = append(lower, 0x01) // past the record of the scope itself
	}
	if g.at.path != "" {
		lower = append(keys.AppendPathRecord(nil, root, g.at.in, g.at.path), 0)
	}
	it := v.Scan(lower, upper, kv.ScanOptions{})
	defer func() { _ = it.Close() }()
	for it.Next() {
		_, _, path, err := keys.CutPathRecord(it.Key())
		if err != nil {
			return corrupt(err)
		}
		if g.wanted(jail.Name(path)) {
			f, err := record.DecodeFile(it.Value().Bytes)
			if err != nil {
				return corrupt(err)
			}
			if err := g.pin(v, path, f); err != nil {
				return err
			}
		} else if len(g.batch) == 0 {
			g.at.path = path
		}
		if g.enough(size) {
			return it.Err()
		}
	}
	g.over = true
	return it.Err()
}

// direct collects files directly below the scope.
func (g *grepRun) direct(v *kv.View, size int) error {
	prefix := g.p.Full
	if prefix != "" {
		prefix += "/"
	}
	after := ""
	if g.at.path != "" {
		after = g.at.path[len(prefix):]
	}
	c := g.t.children(v, g.at.in, g.p.Full, after)
	defer c.close()
	for c.next() {
		name := string(c.name)
		if c.file && g.wanted(name) {
			f, err := record.DecodeFile(c.it.Value().Bytes)
			if err != nil {
				return corrupt(err)
			}
			if err := g.pin(v, prefix+name, f); err != nil {
				return err
			}
		} else if len(g.batch) == 0 {
			g.at.path = prefix + name
		}
		if g.enough(size) {
			return c.err()
		}
	}
	g.over = true
	return c.err()
}

// file reads one file, or what is left of it, and reports whether the page ends
// in it.
func (g *grepRun) file(ctx context.Context, f grepFile, first bool) (more bool, err error) {
	if f.unproven != nil {
		if err := g.w.prove(ctx, g.t, g.at.in, f.unproven, f.body); err != nil {
			return false, err
		}
	}
	length, before := f.body.Length(), len(g.res.Matches)
	from, known := needle.Start(), false
	if g.at.inside {
		from, known = g.at.pos, g.at.text
	} else {
		g.res.FilesScanned++
		g.left.files--
	}
	if from.Offset > length {
		return false, corrupt(errors.New("workbench: a file of a crawl is shorter than before (WB-28)"))
	}
	var head bytes.Buffer
	if n := from.HeadLen(); n > 0 {
		if err := f.body.WritePieces(ctx, &head, from.LineStart, n); err != nil {
			return false, bodyFault(err)
		}
	}
	g.scanner.Begin(from, head.Bytes(), g.limit-before)
	// A page that ends in the middle of a file gives out lines of a file of which
	// the rest may have a NUL. Of a file of ordinary size the rest is looked at.
	small := length <= g.w.o.MaxArtifactBytes
	least := g.scanner.Step()
	sink := grepSink{g: g, s: g.scanner, readOn: small && !known, least: least}
	n := length - from.Offset
	if n > max(g.left.bytes, least) {
		n = max(g.left.bytes, least)
	}
	err = f.body.WritePieces(ctx, &sink, from.Offset, n)
	g.left.bytes -= sink.taken
	switch {
	case errors.Is(err, needle.ErrNUL):
		g.finish(f.path)
		return false, nil
	case err != nil && !errors.Is(err, needle.ErrFull):
		return false, bodyFault(err)
	}
	over := from.Offset+n == length
	pos := sink.pos
	switch {
	case sink.full:
		over = pos.Offset >= length
	case over:
		g.scanner.End()
	default:
		pos = g.scanner.Position()
	}
	g.add(f.path)
	if over {
		g.finish(f.path)
		return false, nil
	}
	g.at.path, g.at.inside, g.at.pos, g.at.text = f.path, true, pos, known || sink.full && sink.readOn && from.Offset+n == length
	return true, nil
}

// finish notes that a file needs no more reading.
func (g *grepRun) finish(path string) {
	g.at.path, g.at.inside, g.at.text, g.at.pos = path, false, false, needle.Position{}
}

// add puts the lines that the scanner found into the answer.
func (g *grepRun) add(path string) {
	if len(g.scanner.Matches) == 0 {
		return
	}
	section, relative := jail.Split(path)
	sp, rp := child(section, relative, new(string), new(string))
	full := g.w.root.Path(g.p.ID, path)
	g.res.Matches = slices.Grow(g.res.Matches, len(g.scanner.Matches))
	for _, m := range g.scanner.Matches {
		g.res.Matches = append(g.res.Matches, op.WorkbenchGrepMatch{Path: full, Section: sp, RelativePath: rp, LineNumber: m.Line, Snippet: m.Snippet})
	}
}

// grepSink takes the bytes of a file for a scanner.
type grepSink struct {
	g *grepRun
	s *needle.Scanner
	// readOn says that after the last line that the page has room for, the rest is
	// looked at for NULs.
	readOn bool
	full   bool
	pos    needle.Position // where to go on, when full
	taken  int64
	least  int64 // what is taken however late it is, so that every page gets on
}

func (k *grepSink) Write(p []byte) (int, error) {
	k.g.w.pause("grep.piece")
	if !k.full && k.taken >= k.least && k.g.late() {
		if !k.stop() {
			return 0, needle.ErrFull
		}
	}
	k.taken += int64(len(p))
	n, err := k.s.Write(p)
	if errors.Is(err, needle.ErrFull) && k.stop() {
		return len(p), nil
	}
	return n, err
}

// stop ends the page at what was read so far, and reports whether the rest is
// read on for NULs.
func (k *grepSink) stop() (readOn bool) {
	k.full, k.pos = true, k.s.Position()
	if k.readOn {
		k.s.Mute()
	}
	return k.readOn
}

// matchGlob reports whether a name is one that a glob means: * stands for any
// runes, ? for one.
func matchGlob(glob, name string) bool {
	g, n := []rune(glob), []rune(name)
	gi, ni, star, mark := 0, 0, -1, 0
	for ni < len(n) {
		switch {
		case gi < len(g) && g[gi] == '*':
			star, mark = gi, ni
			gi++
		case gi < len(g) && (g[gi] == '?' || g[gi] == n[ni]):
			gi++
			ni++
		case star >= 0:
			mark++
			gi, ni = star+1, mark
		default:
			return false
		}
	}
	for gi < len(g) && g[gi] == '*' {
		gi++
	}
	return gi == len(g)
}
