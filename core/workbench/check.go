package workbench

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// check verifies what doc.go says of stored rows, in every root of this area.
// That bodies give back their bytes (WB-5) is verified by core/blob, which
// knows the rows here.
func (w *Workbench) check(ctx context.Context, c *kv.CheckView) []kv.Problem {
	var problems []kv.Problem
	roots, names := c.Roots()
	for i, root := range roots {
		if names[i].Area != Area {
			continue
		}
		v := c.View(root)
		k := checker{v: v, root: root.ID(), ids: map[keys.Incarnation]string{}, heads: map[keys.Incarnation]uint64{},
			unnamed: map[keys.Incarnation]bool{}, staged: map[keys.Incarnation]bool{}}
		k.run(ctx)
		k.runCommits(ctx, c)
		k.runRestores(ctx, rootIdentity(w.store.InstallationID(), root.ID()))
		k.runSnapshots(c, func(space byte, visit func(key []byte, value kv.Value)) { k.scan(ctx, space, visit) })
		k.runCrawls(c)
		c.Release(v)
		problems = append(problems, k.problems...)
	}
	return problems
}

type checker struct {
	v     *kv.View
	root  uint32
	ids   map[keys.Incarnation]string // of those that a marker names
	heads map[keys.Incarnation]uint64
	// unnamed have files and no marker; staged are those that a restore builds.
	unnamed, staged map[keys.Incarnation]bool

	rows     int
	problems []kv.Problem
}

const maxProblems = 100

func (k *checker) problem(invariant string, key []byte, format string, args ...any) {
	if len(k.problems) < maxProblems {
		k.problems = append(k.problems, kv.Problem{Invariant: invariant, Key: bytes.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
}

func (k *checker) run(ctx context.Context) {
	k.scan(ctx, keys.SpaceWorkbenchHead, k.visitHead)
	k.scan(ctx, keys.SpaceWorkbenchMarker, k.visitMarker)
	k.scan(ctx, keys.SpacePathRecord, k.visitFile)
	for _, space := range []byte{keys.SpaceIndexDigest, keys.SpaceIndexType, keys.SpaceIndexGeneration, keys.SpaceIndexSize, keys.SpaceIndexCustom} {
		k.scan(ctx, space, k.visitIndex)
	}
}

func (k *checker) scan(ctx context.Context, space byte, visit func(key []byte, value kv.Value)) {
	lower, upper := keys.SpaceBounds(space, k.root)
	it := k.v.Scan(lower, upper, kv.ScanOptions{})
	for it.Next() {
		if k.rows++; k.rows%1024 == 0 && ctx.Err() != nil {
			break
		}
		visit(it.Key(), it.Value())
	}
	if err := it.Close(); err != nil {
		k.problem("WB-0", nil, "%v", err)
	}
	if err := ctx.Err(); err != nil {
		k.problem("WB-0", nil, "the check was stopped: %v", err)
	}
}

func (k *checker) visitHead(key []byte, value kv.Value) {
	_, in, err := keys.CutWorkbenchHead(key)
	if err != nil {
		k.problem("WB-2", key, "%v", err)
		return
	}
	h, err := record.DecodeWorkbenchHead(value.Bytes)
	if err != nil {
		k.problem("WB-4", key, "%v", err)
		return
	}
	k.heads[in] = h.ContentRevision
	if h.ContentRevision > uint64(value.Rev) {
		k.problem("WB-4", key, "the content revision %d is newer than the head, which revision %d wrote", h.ContentRevision, value.Rev)
	}
}

func (k *checker) visitMarker(key []byte, value kv.Value) {
	_, id, err := keys.CutWorkbenchMarker(key)
	if err != nil {
		k.problem("WB-2", key, "%v", err)
		return
	}
	m, err := record.DecodeWorkbench(value.Bytes)
	if err != nil {
		k.problem("WB-2", key, "%v", err)
		return
	}
	if other, ok := k.ids[m.Incarnation]; ok {
		k.problem("WB-2", key, "workbench %q has the incarnation of %q", id, other)
	}
	k.ids[m.Incarnation] = id
	if _, ok := k.heads[m.Incarnation]; !ok {
		k.problem("WB-2", key, "workbench %q has no head", id)
	}
}

func (k *checker) visitFile(key []byte, value kv.Value) {
	_, in, path, err := keys.CutPathRecord(key)
	if err != nil {
		k.problem("WB-5", key, "%v", err)
		return
	}
	f, err := record.DecodeFile(value.Bytes)
	if err != nil {
		k.problem("WB-5", key, "%v", err)
		return
	}
	head, ok := k.heads[in]
	if !ok {
		k.problem("WB-2", key, "its incarnation has no head")
	} else if uint64(value.Rev) > head {
		k.problem("WB-4", key, "revision %d wrote it, and the content revision is %d", value.Rev, head)
	}
	id, ok := k.ids[in]
	if !ok {
		k.unnamed[in] = true
		return // staged: its index rows are looked at from their side
	}
	for _, row := range indexRows(k.root, id, in, path, &f) {
		if _, ok, err := k.v.Get(row); err != nil || !ok {
			k.problem("WB-6", key, "it has no row in %s (%v)", keys.Lookup(row[0]).Name, err)
		}
	}
}

func (k *checker) visitIndex(key []byte, _ kv.Value) {
	_, id, in, path, err := keys.CutIndexed(key)
	if err != nil || !keys.ValidPath(path) {
		k.problem("WB-6", key, "malformed: %v", err)
		return
	}
	if named, ok := k.ids[in]; ok && named != id {
		k.problem("WB-6", key, "it says workbench %q, and the marker %q", id, named)
	}
	value, ok, err := k.v.Get(keys.AppendPathRecord(nil, k.root, in, path))
	if err != nil || !ok {
		k.problem("WB-6", key, "it has no record (%v)", err)
		return
	}
	f, err := record.DecodeFile(value.Bytes)
	if err != nil {
		return // said already
	}
	if !slices.ContainsFunc(indexRows(k.root, id, in, path, &f), func(row []byte) bool { return bytes.Equal(row, key) }) {
		k.problem("WB-6", key, "its record has another value")
	}
}

// indexRows returns the keys of a file's rows in all indexes.
func indexRows(root uint32, id string, in keys.Incarnation, path string, f *record.File) [][]byte {
	rows := [][]byte{
		keys.AppendIndexDigest(nil, root, f.Body.SHA256, id, in, path),
		keys.AppendIndexType(nil, root, f.ContentType, id, in, path),
		keys.AppendIndexGeneration(nil, root, f.Generation, id, in, path),
		keys.AppendIndexSize(nil, root, uint64(f.Body.Length), id, in, path),
	}
	for i := range f.Index {
		rows = append(rows, keys.AppendIndexCustom(nil, root, f.Index[i].Field, f.Index[i].Value.AppendOrdered(nil), id, in, path))
	}
	return rows
}
