package workbench

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Bounds of one page of find, so that it takes a bounded time and memory
// whatever the filters leave of it.
const (
	findMaxExamined = 1000
	findMaxBytes    = 4 << 20 // of envelopes
)

// findDomain begins the digest of what a find asks for.
const findDomain = "sawhorse.workbench.find-query.v1"

// findFilter is what a find asks for.
type findFilter struct {
	committed *bool
	pattern   []byte // in lower case; nil asks for none
	include   bool
}

// query is the digest that a cursor is bound to.
func (f *findFilter) query() [32]byte {
	want := []byte{0, 0, 0}
	if f.committed != nil {
		want[0] = 1
		if *f.committed {
			want[0] = 2
		}
	}
	if f.pattern != nil {
		want[1] = 1
	}
	if f.include {
		want[2] = 1
	}
	return canon.NewIdentity(findDomain).Bytes(want).Bytes(f.pattern).Sum()
}

// Find goes over the workbenches in the order of their ids, at one revision for
// all pages. A page may hold fewer matches than were asked for, or none, and go
// on with its cursor.
//
// Errors: InvalidState when a run manifest and its commit head disagree (WB-17).
func (w *Workbench) Find(ctx context.Context, req *op.WorkbenchFindRequest) (*op.WorkbenchFindResult, error) {
	limit := op.LimitFindDefaultLimit
	if req.Limit != nil {
		limit = int64(*req.Limit)
	}
	if limit < 1 || limit > op.LimitFindMaxLimit {
		return nil, invalid("$.limit", "must be from 1 to 100")
	}
	f := findFilter{committed: req.Committed, include: req.IncludeManifest != nil && *req.IncludeManifest}
	if req.ManifestPattern != nil {
		f.pattern = lowerASCII(make([]byte, 0, len(*req.ManifestPattern)), []byte(*req.ManifestPattern))
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	query := f.query()
	c, err := w.openCrawl(t, "find", query, req.Cursor)
	if err != nil {
		return nil, err
	}
	leave, err := w.finds.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	res := &op.WorkbenchFindResult{Path: string(w.root), Matches: []op.WorkbenchFindMatch{}}
	var last string
	err = w.readCrawl(ctx, t, &c, nil, func(v *kv.View) error {
		var err error
		last, err = w.findPage(ctx, t, v, &f, string(c.anchor), limit, res)
		return err
	})
	if err != nil {
		return nil, err
	}
	if last != "" {
		next := w.sealCrawl(t, "find", query, c, []byte(last))
		res.NextCursor, res.Truncated = &next, true
	}
	res.MatchCount = int32(len(res.Matches))
	return res, nil
}

// findPage fills a page with what comes after a workbench id, and returns the
// last id that it looked at, or "" when none comes after it.
func (w *Workbench) findPage(ctx context.Context, t *tenant, v *kv.View, f *findFilter, after string, limit int64, res *op.WorkbenchFindResult) (last string, err error) {
	lower, upper := keys.SpaceBounds(keys.SpaceWorkbenchMarker, t.root.ID())
	it := v.Scan(lower, upper, kv.ScanOptions{})
	defer func() { err = errors.Join(err, it.Close()) }()
	from := lower
	if after != "" {
		from = keys.AppendWorkbenchMarker(nil, t.root.ID(), after)
	}
	budget := int64(findMaxBytes)
	scratch := []byte(nil)
	for ok := it.SeekGE(from); ok; ok = it.Next() {
		_, id, err := keys.CutWorkbenchMarker(it.Key())
		if err != nil {
			return "", corrupt(err)
		}
		if id == after {
			continue
		}
		if int64(len(res.Matches)) == limit || res.EntryCount == findMaxExamined || budget <= 0 {
			return last, nil
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		marker, err := record.DecodeWorkbench(it.Value().Bytes)
		if err != nil {
			return "", corrupt(err)
		}
		res.EntryCount++
		last = id
		m, read, match, err := w.findOne(ctx, t, v, f, id, marker.Incarnation, &scratch)
		if err != nil {
			return "", err
		}
		if match {
			res.Matches = append(res.Matches, m)
		}
		budget -= read
	}
	return "", nil
}

// findOne looks at one workbench; read is how many bytes of its envelope were
// read.
func (w *Workbench) findOne(ctx context.Context, t *tenant, v *kv.View, f *findFilter, id string, in keys.Incarnation, scratch *[]byte) (m op.WorkbenchFindMatch, read int64, match bool, err error) {
	head, committed, err := t.commitHead(v, in)
	if err != nil {
		return m, 0, false, err
	}
	if f.committed != nil && *f.committed != committed || !committed && f.pattern != nil {
		return m, 0, false, nil
	}
	m = op.WorkbenchFindMatch{WorkbenchID: id, Path: w.root.Workbench(id), Committed: committed}
	if !committed {
		return m, 0, true, nil
	}
	text, file, err := w.acceptedManifest(ctx, t, v, in)
	if err != nil {
		return m, 0, false, err
	}
	read = int64(len(text))
	if f.pattern != nil {
		if *scratch = lowerASCII((*scratch)[:0], text); !bytes.Contains(*scratch, f.pattern) {
			return m, read, false, nil
		}
	}
	e, err := parseRunEnvelope(text)
	if err != nil {
		return m, read, false, corrupt(err)
	}
	if e.identity != head.Identity || e.id != id {
		return m, read, false, corrupt(fmt.Errorf("workbench: the run manifest of %s is of another commit (WB-17)", id))
	}
	fillMatch(&m, e, file)
	m.ManifestPath = ptrTo(w.root.Path(id, jail.RunManifest))
	if m.ManifestSummary, err = summaryOf(e); err != nil {
		return m, read, false, corrupt(err)
	}
	if f.include {
		m.Manifest = op.RawJSON(text)
	}
	return m, read, true, nil
}

// acceptedManifest reads the run manifest of a committed workbench, which must be
// that of its head (WB-17).
func (w *Workbench) acceptedManifest(ctx context.Context, t *tenant, v *kv.View, in keys.Incarnation) ([]byte, *record.File, error) {
	file, ok, err := t.file(v, in, jail.RunManifest)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, corrupt(errors.New("workbench: a commit head without a run manifest (WB-17)"))
	}
	if err := t.accept(v, in, jail.RunManifest, &file); err != nil {
		return nil, nil, err
	}
	body := w.bodies.Open(v, file.Body)
	defer body.Close()
	text, err := body.ReadAll(ctx)
	if err != nil {
		return nil, nil, bodyFault(err)
	}
	return text, &file, nil
}

func fillMatch(m *op.WorkbenchFindMatch, e *runEnvelope, file *record.File) {
	m.ManifestSizeBytes, m.ManifestGeneration = ptrTo(file.Body.Length), ptrTo(int64(file.Generation))
	m.ContentDigestURI, m.ManifestDigestURI = ptrTo(digestURI(e.content)), ptrTo(digestURI(e.manifestSum))
	m.CommitIdentity, m.CommitIdentityVerified = ptrTo(hex.EncodeToString(e.identity[:])), true
	m.EnvelopeDigestURI = ptrTo(digestURI(file.Body.SHA256))
}

// summaryOf tells what matters most of an envelope.
func summaryOf(e *runEnvelope) (*op.WorkbenchManifestSummary, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.manifest, &members); err != nil {
		return nil, err
	}
	s := &op.WorkbenchManifestSummary{
		Schema: runSchema, WorkbenchID: e.id, ContentDigestURI: digestURI(e.content), ManifestDigestURI: digestURI(e.manifestSum),
		CommitIdentity: hex.EncodeToString(e.identity[:]), CommittedAtUnixSeconds: e.seconds, ManifestKeys: make([]string, 0, len(members)),
	}
	for name, value := range members {
		s.ManifestKeys = append(s.ManifestKeys, name)
		if name == "task" && string(value) != "null" {
			s.ManifestTask = op.RawJSON(value)
		}
	}
	slices.Sort(s.ManifestKeys)
	return s, nil
}

// lowerASCII appends text with its ASCII letters in lower case.
func lowerASCII(dst, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

func ptrTo[T any](v T) *T { return &v }
