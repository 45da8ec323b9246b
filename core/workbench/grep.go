package workbench

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/core/workbench/needle"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const toolGrep = "grep"

// grepBudget is what one call of grep does at most. A call that has used it up
// ends its page, and its cursor goes on.
type grepBudget struct {
	candidates, files, bytes int64
}

// Grep gives one page of the lines that contain one of some literal texts,
// without regard to case, in path order, then by line. All pages show the
// workbench as the first one found it (WB-28).
func (w *Workbench) Grep(ctx context.Context, req *op.WorkbenchGrepRequest) (*op.WorkbenchGrepResult, error) {
	p, err := jail.ParseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	patterns, err := grepPatterns(req)
	if err != nil {
		return nil, err
	}
	if err := checkGlob(req.Glob); err != nil {
		return nil, err
	}
	limit := int(op.LimitGrepDefaultLimit)
	if req.Limit != nil {
		limit = int(*req.Limit)
	}
	if limit < 1 || limit > int(op.LimitGrepMaxLimit) {
		return nil, invalid("$.limit", "must be from 1 to 300")
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	query := grepQuery(req, patterns)
	c, err := w.openCrawl(t, toolGrep, query, req.Cursor)
	if err != nil {
		return nil, err
	}
	leave, err := w.greps.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	g := &grepRun{w: w, t: t, p: p, crawl: &c, recursive: req.Recursive, glob: req.Glob, limit: limit, left: w.grep, scanner: needle.NewScanner(needle.Compile(patterns))}
	if req.Cursor != nil {
		if g.at, err = decodeGrepAnchor(c.anchor); err != nil {
			return nil, err
		}
	}
	g.res = op.WorkbenchGrepResult{WorkbenchID: p.ID, Path: w.root.Path(p.ID, p.Full), Pattern: req.Pattern, Recursive: req.Recursive, Matches: []op.WorkbenchGrepMatch{}}
	g.res.WorkbenchPath = g.res.Path[:len(w.root)+1+len(p.ID)]
	g.res.Section, g.res.RelativePath = echo(p, new(string), new(string))
	more, err := g.run(ctx)
	if err != nil {
		return nil, err
	}
	if more {
		next := w.sealCrawl(t, toolGrep, query, c, g.at.append(nil))
		g.res.NextCursor, g.res.Truncated = &next, true
	}
	return &g.res, nil
}

// grepPatterns returns the alternatives of a request, each once.
func grepPatterns(req *op.WorkbenchGrepRequest) ([]string, error) {
	all := make([]string, 0, 1+len(req.Patterns))
	if len(req.Patterns) > int(op.LimitGrepMaxPatterns) {
		return nil, invalid("$.patterns", "must have at most 16 items")
	}
	for i, p := range req.Patterns {
		if p == "" {
			return nil, invalid(fmt.Sprintf("$.patterns[%d]", i), "must not be empty")
		}
		if len(p) > int(op.LimitGrepMaxPatternBytes) {
			return nil, invalid(fmt.Sprintf("$.patterns[%d]", i), "must be at most 16384 bytes long")
		}
	}
	switch {
	case len(req.Patterns) > 0:
		if req.Pattern != "" {
			all = append(all, req.Pattern)
		}
		all = append(all, req.Patterns...)
	case req.Pattern == "":
		return nil, invalid("$.pattern", "must not be empty unless patterns has items")
	default:
		for piece := range strings.SplitSeq(req.Pattern, "|") {
			if piece == "" {
				continue
			}
			if len(all) == int(op.LimitGrepMaxPatterns) {
				return nil, invalid("$.pattern", "must have at most 16 alternatives")
			}
			all = append(all, piece)
		}
		if len(all) == 0 {
			all = append(all, req.Pattern)
		}
	}
	seen, kept := make(map[string]bool, len(all)), all[:0]
	for _, p := range all {
		if len(p) > int(op.LimitGrepMaxPatternBytes) {
			return nil, invalid("$.pattern", "must have no alternative of more than 16384 bytes")
		}
		if folded := needle.Fold(p); !seen[folded] {
			seen[folded] = true
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// grepQuery is the digest of what a cursor of grep belongs to: a formula that
// other implementations of the tool share.
func grepQuery(req *op.WorkbenchGrepRequest, patterns []string) (sum [sha256.Size]byte) {
	b := append(make([]byte, 0, 512), "nokv.workbench.grep-query.v2\x00"...)
	text := func(s string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	optional := func(s *string) {
		if s == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		text(*s)
	}
	optional(&req.ID)
	optional(req.Section)
	if req.Path != nil && *req.Path != "" {
		optional(req.Path)
	} else {
		optional(nil)
	}
	if req.Recursive {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(len(patterns)))
	for _, p := range patterns {
		text(p)
	}
	optional(req.Glob)
	return sha256.Sum256(b)
}

func checkGlob(glob *string) error {
	switch {
	case glob == nil:
		return nil
	case *glob == "":
		return invalid("$.glob", "must not be empty")
	case strings.ContainsAny(*glob, `/\`):
		return invalid("$.glob", `must not contain / or \: it is matched against file names`)
	case len(*glob) > int(op.LimitGrepMaxGlobBytes):
		return invalid("$.glob", "must be at most 4096 bytes long")
	}
	return nil
}

// grepAnchor is where a grep goes on.
type grepAnchor struct {
	in keys.Incarnation
	// single says that the scope is one file.
	single bool
	// path is the last one that was looked at; "" before the first. inside says
	// that the file was not read to its end: it goes on at pos. text says that it
	// is known to have no NUL.
	path         string
	inside, text bool
	pos          needle.Position
}

const (
	anchorSingle byte = 1 << iota
	anchorInside
	anchorText
	anchorFound
)

func (a *grepAnchor) append(dst []byte) []byte {
	flags := byte(0)
	set := func(bit byte, on bool) {
		if on {
			flags |= bit
		}
	}
	set(anchorSingle, a.single)
	set(anchorInside, a.inside)
	set(anchorText, a.inside && a.text)
	set(anchorFound, a.inside && a.pos.Found)
	dst = append(append(dst, a.in[:]...), flags)
	if a.inside {
		dst = binary.AppendUvarint(dst, uint64(a.pos.Offset))
		dst = binary.AppendUvarint(dst, uint64(a.pos.Line))
		dst = binary.AppendUvarint(dst, uint64(a.pos.Offset-a.pos.LineStart))
	}
	return append(dst, a.path...)
}

// decodeGrepAnchor reads what append wrote. An anchor comes out of a cursor that
// was authenticated.
func decodeGrepAnchor(b []byte) (a grepAnchor, err error) {
	broken := badCursor("must be one that this tool gave for the same request")
	if len(b) < len(a.in)+1 {
		return grepAnchor{}, broken
	}
	copy(a.in[:], b)
	flags := b[len(a.in)]
	b = b[len(a.in)+1:]
	a.single, a.inside, a.text, a.pos.Found = flags&anchorSingle != 0, flags&anchorInside != 0, flags&anchorText != 0, flags&anchorFound != 0
	if a.inside {
		for _, field := range []*int64{&a.pos.Offset, &a.pos.Line, &a.pos.LineStart} {
			n, size := binary.Uvarint(b)
			if size <= 0 || n > 1<<62 {
				return grepAnchor{}, broken
			}
			*field, b = int64(n), b[size:]
		}
		a.pos.LineStart = a.pos.Offset - a.pos.LineStart
		if a.pos.LineStart < 0 || a.pos.Line < 1 {
			return grepAnchor{}, broken
		}
	}
	if a.path = string(b); a.path != "" && !keys.ValidPath(a.path) || a.path == "" && a.inside {
		return grepAnchor{}, broken
	}
	return a, nil
}

// resolve finds out what the scope is, on the first page.
func (g *grepRun) resolve(v *kv.View) error {
	var ok bool
	var err error
	if g.at.in, ok, err = g.t.see(v, g.p.ID); err != nil {
		return err
	}
	if !ok {
		return noWorkbench(g.p)
	}
	if g.p.Root() {
		return nil
	}
	if _, g.at.single, err = g.t.file(v, g.at.in, g.p.Full); err != nil || g.at.single || g.p.SectionRoot() {
		return err
	}
	if ok, err = g.t.below(v, g.at.in, g.p.Full); err == nil && !ok {
		err = notFound(g.p)
	}
	return err
}
