package workbench_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// digestOf is a caller's digest of content: one byte over and over.
func digestOf(b byte) string { return "sha256:" + strings.Repeat(fmt.Sprintf("%02x", b), 32) }

func commitOf(manifest string, content byte, replace bool) *op.WorkbenchCommitRequest {
	return &op.WorkbenchCommitRequest{ID: "wb1", Manifest: op.RawJSON(manifest), ContentDigestURI: digestOf(content), Replace: &replace}
}

func (b *bench) commit(manifest string, content byte, replace bool) *op.WorkbenchCommitResult {
	b.t.Helper()
	res, err := b.Commit(ctx, commitOf(manifest, content, replace))
	if err != nil {
		b.t.Fatalf("commit of %s: %v", manifest, err)
	}
	return res
}

// The vectors that existing clients rely on.
func TestCommitVectors(t *testing.T) {
	for _, c := range []struct{ manifest, digest, identity, envelope string }{
		{`{"model":"viking","steps":[2,1]}`, "e21a213898ee65fadcdea40f435729c5c79afe44f7483ab4d5d3baac2a26de28",
			"4ee4c2a33b23f7b094d497d8ce284816b0db8cfebfe2cefb6e28ba8893e06df7", "aaf125bff9d023894bf59a1ad028db3dc9110d01b5e848323efcb1a14afba7e0"},
		{` {"task" : "ptycho", "model":"viking"} `, "23312ff4198ab547af02d6789dc98321be2eb44c088c333a58edd3060ce6c51d",
			"9f3a0a156b426292b0791551b05f6d53f53b906cf7327065b92a04a18b834cff", "dd01f7d8664ac3ee857bd5b59a57aa97eb5d8ec1024f5df73fdc1a1f028d1bf7"},
		{`{}`, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
			"e4be301e0964ac38fba0f321f3321a3367828cadeb0a3f765e290221845193e5", "3e00d6e8573e5682de60313c52078a0fc7968cf431b919d62d0f0d91fc3aff8d"},
	} {
		root, err := jail.ParseRoot("/agents/test/wb")
		if err != nil {
			t.Fatal(err)
		}
		b := newBenchAt(t, time.Unix(1700000000, 0), func(o *workbench.Options) { o.Root = root })
		res, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: "wb-main", Manifest: op.RawJSON(c.manifest), ContentDigestURI: digestOf(1)})
		if err != nil {
			t.Fatal(err)
		}
		if res.ManifestDigestURI != "sha256:"+c.digest || res.CommitIdentity != c.identity || res.EnvelopeDigestURI != "sha256:"+c.envelope {
			t.Errorf("%s: %+v", c.manifest, res)
		}
	}
	if got := workbench.ProjectionOf("wb-main", "/agents/test/wb/wb-main", digestOf(0x11), `{"a":[2,1],"z":{"a":1,"b":2}}`); got != "cf564a6d52bca52da05f5b47d4b2030cfc347909077415c977a337974e89fe5f" {
		t.Errorf("projection %s", got)
	}
}

// WB-16: after A and a replacing B, A again gets A's answer and moves nothing;
// after a restart and with the history gone too.
func TestAnEarlierCommitIsReplayed(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one")
	a := b.commit(`{"run":"A"}`, 1, false)
	if a.IdempotentReplay || a.Generation != 1 || a.Replace {
		t.Errorf("A: %+v", a)
	}
	b.put("b.txt", "two")
	second := b.commit(`{"run":"B"}`, 2, true)
	if second.Generation != 2 || second.TreeDigestURI == a.TreeDigestURI {
		t.Errorf("B: %+v", second)
	}
	for range 3 {
		again := b.commit(`{"run" : "A"}`, 1, false)
		a.IdempotentReplay = true
		if *again != *a {
			t.Errorf("A again: %+v, want %+v", again, a)
		}
		if text := b.manifest(); !strings.Contains(text, `"run":"B"`) {
			t.Errorf("the head moved: %s", text)
		}
		b.env.Clock.Advance(time.Hour)
		if _, err := b.env.Reap(ctx); err != nil {
			t.Fatal(err)
		}
		b.reopen()
	}
}

// manifest is what is at the run manifest's path.
func (b *bench) manifest() string {
	b.t.Helper()
	f, err := b.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "metadata", Path: "run_manifest.json"})
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	var text strings.Builder
	if err := f.WriteRange(ctx, &text, 0, f.Card().SizeBytes); err != nil {
		b.t.Fatal(err)
	}
	return text.String()
}

func TestCommitConflicts(t *testing.T) {
	b := newBench(t)
	a := b.commit(`{"run":"A"}`, 1, false)
	for name, c := range map[string]struct {
		req  *op.WorkbenchCommitRequest
		want op.Reason
	}{
		"another without replace":       {commitOf(`{"run":"B"}`, 1, false), op.ReasonWBCommitConflict},
		"another digest of the content": {commitOf(`{"run":"A"}`, 2, false), op.ReasonWBCommitConflict},
		"the same with another replace": {commitOf(`{"run":"A"}`, 1, true), op.ReasonWBInvalidState},
		"a manifest that is no object":  {commitOf(`[1]`, 1, false), op.ReasonWBInvalidArguments},
		"a float beyond all":            {commitOf(`{"x":1e999}`, 1, false), op.ReasonWBInvalidArguments},
		"a manifest too large":          {commitOf(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`, 1, false), op.ReasonWBPayloadTooLarge},
		"a malformed id":                {&op.WorkbenchCommitRequest{ID: "-", Manifest: op.RawJSON("{}"), ContentDigestURI: digestOf(1)}, op.ReasonWBBadID},
	} {
		if _, err := b.Commit(ctx, c.req); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if again := b.commit(`{"run":"A"}`, 1, false); !again.IdempotentReplay || again.CommitIdentity != a.CommitIdentity {
		t.Errorf("A again: %+v", again)
	}
	if b.holds(2) != 1 {
		t.Errorf("%d holds of commits, want one", b.holds(2))
	}
}

// Numbers of a manifest come back as they were sent, and have one digest.
func TestAManifestKeepsItsNumbers(t *testing.T) {
	b := newBench(t)
	b.commit(`{"big":9007199254740993,"small":1e-7,"whole":100.0,"long":0.9452706955539223}`, 1, false)
	if text := b.manifest(); !strings.Contains(text, `{"big":9007199254740993,"long":0.9452706955539223,"small":1e-7,"whole":100.0}`) {
		t.Errorf("%s", text)
	}
}

// WB-18: a replace that was prepared on A loses when C became the head meanwhile,
// and can be made again.
func TestAReplaceLosesToAHeadThatMoved(t *testing.T) {
	for _, step := range []string{"prepared", "staged", "hashed"} {
		b := newBench(t)
		b.commit(`{"run":"A"}`, 1, false)
		var once sync.Once
		b.OnStep(func(at string) {
			if at == step {
				once.Do(func() {
					b.OnStep(nil)
					b.commit(`{"run":"C"}`, 3, true)
				})
			}
		})
		if _, err := b.Commit(ctx, commitOf(`{"run":"B"}`, 2, true)); !fault.Is(err, op.ReasonWBCommitConflict) {
			t.Errorf("%s: %v", step, err)
		}
		if text := b.manifest(); !strings.Contains(text, `"run":"C"`) {
			t.Errorf("%s: the head is %s", step, text)
		}
		if b.holds(2) != 2 {
			t.Errorf("%s: %d holds of commits, want those of A and C", step, b.holds(2))
		}
		if res := b.commit(`{"run":"B"}`, 2, true); res.Generation != 3 || res.IdempotentReplay {
			t.Errorf("%s: B again: %+v", step, res)
		}
	}
}

// The tree is that of the preparation: a file written meanwhile is not in it, and
// an equal tree has an equal digest.
func TestACommitFreezesItsTree(t *testing.T) {
	digests := map[string]string{}
	for _, late := range []string{"", "prepared", "staged", "hashed"} {
		b := newBench(t)
		b.put("src/a", "1")
		b.put("src-gen/b", "2")
		b.OnStep(func(at string) {
			if at == late {
				b.put("late", "3")
			}
		})
		digests[late] = b.commit(`{}`, 1, false).TreeDigestURI
	}
	for late, digest := range digests {
		if digest != digests[""] {
			t.Errorf("with a file written when it was %s the tree is another", late)
		}
	}
}

// Equal requests at one time are one commit, and all get its answer.
func TestEqualCommitsAtOnce(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one")
	const callers = 16
	results := make([]*op.WorkbenchCommitResult, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			var err error
			if results[i], err = b.Commit(ctx, commitOf(`{"run":"A"}`, 1, false)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	first := 0
	for _, r := range results {
		if r == nil {
			continue
		}
		if !r.IdempotentReplay {
			first++
		}
		if r.CommitIdentity != results[0].CommitIdentity || r.TreeDigestURI != results[0].TreeDigestURI || r.EnvelopeDigestURI != results[0].EnvelopeDigestURI {
			t.Errorf("%+v differs from %+v", r, results[0])
		}
	}
	if first != 1 || b.holds(2) != 1 {
		t.Errorf("%d first answers, %d holds", first, b.holds(2))
	}
}

// A caller that leaves does not end what it began.
func TestACommitGoesOnWithoutItsCaller(t *testing.T) {
	b := newBench(t)
	leaving, leave := context.WithCancel(ctx)
	b.OnStep(func(at string) {
		if at == "prepared" {
			leave()
		}
	})
	if _, err := b.Commit(leaving, commitOf(`{"run":"A"}`, 1, false)); err != nil && !fault.Is(err, op.ReasonCancelled) {
		t.Fatal(err)
	}
	b.WaitForCheck()
	if res := b.commit(`{"run":"A"}`, 1, false); !res.IdempotentReplay {
		t.Errorf("%+v", res)
	}
}

// WB-19: what an earlier process has left comes to its end by itself, and loses
// to a head that moved before.
func TestUnfinishedCommitsComeToTheirEnd(t *testing.T) {
	for _, step := range []string{"prepared", "staged", "hashed"} {
		b := newBench(t)
		b.put("a.txt", "one")
		stopped := make(chan struct{})
		b.OnStep(func(at string) {
			if at == step {
				close(stopped)
				select {} // this process does not come any further
			}
		})
		go func() { _, _ = b.Commit(ctx, commitOf(`{"run":"B"}`, 2, false)) }()
		<-stopped
		b.env.Crash(1)
		b.bodies = nil
		b.open()
		b.env.Clock.Advance(time.Minute)
		if err := b.Recover(ctx); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		if res := b.commit(`{"run":"B"}`, 2, false); !res.IdempotentReplay || res.Generation != 1 {
			t.Errorf("%s: %+v", step, res)
		}
	}
}

// WB-17: only commits write the manifest, and one that is not the head's is not read.
func TestAForeignManifestIsNotRead(t *testing.T) {
	b := newBench(t)
	b.commit(`{"run":"A"}`, 1, false)
	for _, call := range []func() error{
		func() error {
			_, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "metadata", Path: "run_manifest.json", Text: ptr("{}"), Replace: ptr(true)})
			return err
		},
		func() error {
			_, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "metadata", Path: "run_manifest.json", Text: ptr("{}")})
			return err
		},
	} {
		if err := call(); !fault.Is(err, op.ReasonWBReservedPath) {
			t.Errorf("%v", err)
		}
	}
	if err := b.Forge(ctx, "wb1", "{}"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "metadata", Path: "run_manifest.json"}); !fault.Is(err, op.ReasonWBCorrupt) {
		t.Errorf("a forged manifest: %v", err)
	}
	if _, err := b.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: "metadata", Path: "run_manifest.json"}); !fault.Is(err, op.ReasonWBCorrupt) {
		t.Errorf("a forged manifest: %v", err)
	}
	if err := b.env.Check(ctx).Err(); err == nil || !strings.Contains(err.Error(), "WB-17") {
		t.Errorf("the check: %v", err)
	}
	// The store is checked once more at the end: a commit puts it right.
	b.commit(`{"run":"B"}`, 2, true)
}

// WB-17 at a snapshot: the head on which it was taken decides, whatever the live
// one is.
func TestAForeignManifestIsNotReadAtASnapshot(t *testing.T) {
	b := newBench(t)
	b.commit(`{"run":"A"}`, 1, false)
	read := func(name string) (*op.WorkbenchReadResult, error) {
		return b.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: "metadata", Path: "run_manifest.json", AtSnapshot: at(name)})
	}
	b.snapshot("first", nil)
	b.commit(`{"run":"B"}`, 2, true)
	b.snapshot("second", nil)
	if err := b.Forge(ctx, "wb1", "{}"); err != nil {
		t.Fatal(err)
	}
	b.snapshot("forged", nil)
	b.commit(`{"run":"C"}`, 3, true)
	b.snapshot("third", nil)
	b.env.Clock.Advance(2 * b.env.Store.HistoryWindow())
	b.put("turns", "x")
	b.turn("turns")
	for name, generation := range map[string]int64{"first": 1, "second": 2, "third": 4} {
		if res, err := read(name); err != nil || res.Generation != generation {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if _, err := read("forged"); !fault.Is(err, op.ReasonWBCorrupt) {
		t.Errorf("a forged manifest at a snapshot: %v", err)
	}
	// Other files of that snapshot are nobody's manifest.
	if _, err := b.List(ctx, &op.WorkbenchListRequest{ID: "wb1", AtSnapshot: at("forged")}); err != nil {
		t.Error(err)
	}
}

// WB-17 for a grep whose revision only its hold keeps: the manifest is proven by
// the commit that it names.
func TestGrepProvesAnOldManifest(t *testing.T) {
	for _, forged := range []string{"", "{}", "an older one"} {
		b := newBench(t)
		b.commit(`{"run":"A"}`, 1, false)
		old := b.bodyOf("wb1", "metadata", "run_manifest.json")
		b.commit(`{"run":"hit"}`, 2, true)
		for i := range 20 { // so many that the first page does not look ahead to the manifest
			b.store("input", fmt.Sprintf("%02d", i), strings.NewReader("hit"))
		}
		b.put("turns", "x")
		switch forged {
		case "":
		case "{}":
			forged = `{"run":"hit"}`
		default:
			forged = old
		}
		if forged != "" {
			if err := b.Forge(ctx, "wb1", forged); err != nil {
				t.Fatal(err)
			}
		}
		first, err := b.grep("hit", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(1)) })
		b.wantLines(first, err, 1, "input/00:1:hit")
		b.commit(`{"run":"C"}`, 3, true)
		for range 4 {
			b.env.Clock.Advance(b.env.Store.HistoryWindow() / 2)
			if _, err := b.Grep(ctx, &op.WorkbenchGrepRequest{ID: "wb1", Pattern: "hit", Recursive: true, Cursor: first.NextCursor}); forged == "" && err != nil || forged != "" && !fault.Is(err, op.ReasonWBCorrupt) {
				t.Errorf("forged as %q: %v", forged, err)
			}
			b.turn("turns")
		}
	}
}
