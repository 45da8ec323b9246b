package workbench_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func ref(path string) op.FileRef { return op.FileRef{ID: "wb1", Section: "outputs", Path: path} }

func TestStoreFileCreatesOrReplacesExactly(t *testing.T) {
	b := newBench(t)
	card, err := b.StoreFile(ctx, ref("a"), op.FileCondition{}, "", strings.NewReader("one"), 3)
	want := op.FileCard{Generation: 1, SizeBytes: 3, DigestURI: uriOf("one"), ContentType: "application/octet-stream", Path: "/agents/default/wb/wb1/outputs/a", ModifiedAt: kvtest.Epoch}
	if err != nil || card != want {
		t.Errorf("%+v, %v", card, err)
	}
	_, err = b.StoreFile(ctx, ref("a"), op.FileCondition{}, "", mustNotRead{t}, -1)
	refused(t, err, op.ReasonWBAlreadyExists, "conflict", "PathGeneration", "generation", 1, "digest_uri", uriOf("one"), "path", "outputs/a")

	b.env.Clock.Advance(time.Minute)
	card, err = b.StoreFile(ctx, ref("a"), op.FileCondition{IfGeneration: ptr(int64(1))}, "text/html", strings.NewReader("two!"), -1)
	if err != nil || card.Generation != 2 || card.ContentType != "text/html" || !card.ModifiedAt.Equal(kvtest.Epoch.Add(time.Minute)) {
		t.Errorf("%+v, %v", card, err)
	}
	for _, generation := range []int64{1, 3, 0, -1} {
		_, err = b.StoreFile(ctx, ref("a"), op.FileCondition{IfGeneration: &generation}, "", mustNotRead{t}, -1)
		refused(t, err, op.ReasonPreconditionFailed, "path", "outputs/a", "current_generation", 2)
	}
	for _, r := range []op.FileRef{ref("b"), {ID: "wb2", Section: "outputs", Path: "a"}} {
		_, err = b.StoreFile(ctx, r, op.FileCondition{IfGeneration: ptr(int64(1))}, "", mustNotRead{t}, -1)
		refused(t, err, op.ReasonPreconditionFailed, "path", "outputs/"+r.Path)
	}
	// The tools see the same file.
	if c := b.card("a"); *c.Generation != 2 || *c.DigestURI != uriOf("two!") || *c.ContentType != "text/html" {
		t.Errorf("%+v", c)
	}
	if res := b.replace("a", "three"); res.Generation != 3 {
		t.Error(res.Generation)
	}
	f, err := b.OpenFile(ctx, ref("a"))
	if err != nil || f.Card().Generation != 3 || f.Card().DigestURI != uriOf("three") {
		t.Error(f, err)
	}
	f.Close()
	for _, r := range []op.FileRef{ref("b"), {ID: "wb9", Section: "outputs", Path: "a"}} {
		_, err = b.OpenFile(ctx, r)
		refused(t, err, op.ReasonWBNotFound, "path", "outputs/"+r.Path)
	}
}

// Of two uploads that began on the same state one wins, and the other leaves
// nothing.
func TestStoreFileDecidesWhenTheBodyIsThere(t *testing.T) {
	for name, cond := range map[string]op.FileCondition{"create": {}, "replace": {IfGeneration: ptr(int64(1))}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if cond.IfGeneration != nil {
				b.put("a", "0")
			}
			body, feed := io.Pipe()
			done := make(chan error)
			go func() {
				_, err := b.StoreFile(ctx, ref("a"), cond, "", body, -1)
				done <- err
			}()
			if _, err := feed.Write(pattern(blob.MemoryLimit * 2)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.StoreFile(ctx, ref("a"), cond, "", strings.NewReader("fast"), -1); err != nil {
				t.Fatal(err)
			}
			feed.Close()
			err := <-done
			if cond.IfGeneration == nil {
				refused(t, err, op.ReasonWBAlreadyExists, "conflict", "PathGeneration", "generation", 1, "digest_uri", uriOf("fast"), "path", "outputs/a")
			} else {
				refused(t, err, op.ReasonPreconditionFailed, "path", "outputs/a", "current_generation", 2)
			}
			if got := b.body("a"); got != "fast" {
				t.Error(got)
			}
		})
	}
}

func TestStoreFileLimitsAndBrokenBodies(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxBodyBytes = 500_000 })
	store := func(body io.Reader, declared int64) error {
		_, err := b.StoreFile(ctx, ref("a"), op.FileCondition{}, "", body, declared)
		return err
	}
	refused(t, store(mustNotRead{t}, 500_001), op.ReasonWBPayloadTooLarge, "actual_bytes", 500_001, "maximum_bytes", 500_000)
	refused(t, store(bytes.NewReader(pattern(500_001)), -1), op.ReasonWBPayloadTooLarge, "actual_bytes", 500_001, "maximum_bytes", 500_000)
	refused(t, store(bytes.NewReader(pattern(600_000)), 10), op.ReasonWBPayloadTooLarge, "actual_bytes", 500_001, "maximum_bytes", 500_000)
	refused(t, store(strings.NewReader("four"), 5), op.ReasonWBInvalidArguments)
	refused(t, store(strings.NewReader("four"), 3), op.ReasonWBInvalidArguments)
	refused(t, store(io.MultiReader(bytes.NewReader(pattern(400_000)), iotest.ErrReader(io.ErrUnexpectedEOF)), -1), op.ReasonCancelled)
	refused(t, store(iotest.ErrReader(context.Canceled), -1), op.ReasonCancelled)
	refused(t, store(iotest.ErrReader(context.DeadlineExceeded), -1), op.ReasonDeadlineExceeded)
	refused(t, store(iotest.ErrReader(errors.New("secret of the wire")), -1), op.ReasonCancelled)
	_, err := b.StoreFile(ctx, ref("a"), op.FileCondition{}, "a\nb", mustNotRead{t}, -1)
	refused(t, err, op.ReasonWBInvalidArguments)

	_, err = b.OpenFile(ctx, ref("a"))
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/a")
	whole := pattern(500_000)
	for _, declared := range []int64{-1, 500_000} {
		path := string(rune('m' + puts()%10))
		if _, err := b.StoreFile(ctx, ref(path), op.FileCondition{}, "", iotest.HalfReader(bytes.NewReader(whole)), declared); err != nil || b.body(path) != string(whole) {
			t.Error(err)
		}
	}
}

// OpenFile gives any range, and nothing outside of the body.
func TestRangesOfAnOpenFile(t *testing.T) {
	b := newBench(t)
	whole := pattern(300_000)
	if _, err := b.StoreFile(ctx, ref("a"), op.FileCondition{}, "", bytes.NewReader(whole), -1); err != nil {
		t.Fatal(err)
	}
	b.append("a", "tail")
	whole = append(whole, "tail"...)
	f, err := b.OpenFile(ctx, ref("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, r := range [][2]int64{{0, 1}, {299_999, 3}, {65_535, 2}, {0, 300_004}, {300_004, 0}, {131_072, 131_072}} {
		var out bytes.Buffer
		if err := f.WriteRange(ctx, &out, r[0], r[1]); err != nil || !bytes.Equal(out.Bytes(), whole[r[0]:r[0]+r[1]]) {
			t.Errorf("%v: %d bytes, %v", r, out.Len(), err)
		}
	}
	for _, r := range [][2]int64{{-1, 1}, {0, 300_005}, {300_005, 0}, {1, -1}} {
		if err := f.WriteRange(ctx, io.Discard, r[0], r[1]); err == nil {
			t.Errorf("%v was read", r)
		}
	}
}
