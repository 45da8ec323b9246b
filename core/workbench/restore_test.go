package workbench_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func filled[T ~[16]byte | ~[32]byte](b byte) (out T) {
	for i := range len(out) {
		out[i] = b
	}
	return out
}

// The vectors that existing clients rely on.
func TestRestoreVectors(t *testing.T) {
	root := filled[[16]byte](1)
	commit := filled[[32]byte](9)
	for _, c := range []struct {
		of                     workbench.RestoreVector
		incarnation, operation string
	}{
		{workbench.RestoreVector{Root: root, Source: "source-run", SourceIncarnation: filled[[16]byte](2), Snapshot: 7, Destination: "restored-run"},
			"d6671c1122c9f8739e03fec77520aaed", "9b21eabe08d0356d55168ef162156ee6"},
		{workbench.RestoreVector{Root: root, Source: "run", SourceIncarnation: filled[[16]byte](4), Commit: &commit, Destination: "restored-run"},
			"400d7295a0d1927a53c1ee2fe7db945b", "07b6bfed3cd71168589fabd6fb5f649f"},
	} {
		if in, id := c.of.IDs(); in != c.incarnation || id != c.operation {
			t.Errorf("%s: incarnation %s, operation %s; want %s, %s", c.of.Source, in, id, c.incarnation, c.operation)
		}
	}
	operation, _ := hex.DecodeString("9b21eabe08d0356d55168ef162156ee6")
	envelope := []byte("sha256:" + strings.Repeat("ab", 32))
	third := filled[[32]byte](3)
	for _, c := range []struct {
		domain string
		want   string
		pieces [][]byte
	}{
		{"nokv.cli.restore-manifest-operation", "f813bc0aceb0d0ecfb02ef0c9bd1dd98", [][]byte{operation, envelope}},
		{"nokv.cli.restore-manifest-revision", "80eaf4e236db23c62e3d070517fe5301", [][]byte{operation, envelope}},
		{"nokv.cli.commit-operation", "6c69f78792b72f1d86353313a9edc4e4", [][]byte{third[:]}},
		{"nokv.cli.commit-manifest-operation.v2", "fc654ed78a4774bcdd44cc7381978188", [][]byte{third[:]}},
		{"nokv.cli.commit-manifest-revision.v2", "d879f0983c8c4549e90b7026bcc52621", [][]byte{third[:]}},
	} {
		if got := workbench.Fixed16(c.domain, root, c.pieces...); got != c.want {
			t.Errorf("%s: %s, want %s", c.domain, got, c.want)
		}
	}
}

func TestRestoreManifests(t *testing.T) {
	o := record.Restore{Identity: filled[[32]byte](0xab), Kind: record.RestoreSnapshot, Snapshot: 7, Source: "src", SourcePath: "/a/\"b\"/src", Destination: "dst", DestinationPath: "/a/\"b\"/dst"}
	id := strings.Repeat("ab", 16)
	for kind, want := range map[record.RestoreKind]string{
		record.RestoreSnapshot: `{"destination_path":"/a/\"b\"/dst","destination_workbench_id":"dst","operation_id":"` + id + `","restored_from":{"path":"/a/\"b\"/src","snapshot_id":7,"workbench_id":"src"},"schema":"nokv.workbench.restore_manifest.v1","snapshot_id":7,"source_path":"/a/\"b\"/src","source_workbench_id":"src"}`,
		record.RestoreCommit:   `{"destination_path":"/a/\"b\"/dst","destination_workbench_id":"dst","operation_id":"` + id + `","restored_from":{"path":"/a/\"b\"/src","source":{"commit_id":"` + strings.Repeat("cd", 32) + `","kind":"commit"},"workbench_id":"src"},"schema":"nokv.workbench.restore_manifest.v2","source_path":"/a/\"b\"/src","source_workbench_id":"src"}`,
	} {
		o.Kind, o.Base = kind, filled[[32]byte](0xcd)
		got := workbench.RestoreManifestOf(o)
		if got != want || !canon.IsCanonical([]byte(got)) {
			t.Errorf("kind %d: %s", kind, got)
		}
	}
}

func (b *bench) restore(from, to string, sel any) (*op.WorkbenchRestoreResult, error) {
	req := &op.WorkbenchRestoreRequest{ID: from, DestinationID: to}
	if commit, ok := sel.(string); ok && len(commit) == 64 {
		req.AtCommit = &commit
	} else {
		req.AtSnapshot = at(sel)
	}
	return b.Restore(ctx, req)
}

func (b *bench) mustRestore(from, to string, sel any) *op.WorkbenchRestoreResult {
	b.t.Helper()
	res, err := b.restore(from, to, sel)
	if err != nil {
		b.t.Fatalf("restore of %s at %v into %s: %v", from, sel, to, err)
	}
	valid(b.t, res)
	return res
}

// tree is every file of a workbench as it is stored, but for its place: now, or at
// a revision.
func (b *bench) tree(id string, rev int64) map[string]string {
	b.t.Helper()
	files, err := b.TreeOf(ctx, id, rev)
	if err != nil {
		b.t.Fatal(err)
	}
	return files
}

func (b *bench) bodyOf(id, section, path string) string {
	b.t.Helper()
	f, err := b.OpenFile(ctx, op.FileRef{ID: id, Section: section, Path: path})
	if err != nil {
		b.t.Fatalf("opening %s of %s: %v", path, id, err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := f.WriteRange(ctx, &out, 0, f.Card().SizeBytes); err != nil {
		b.t.Fatal(err)
	}
	return out.String()
}

func without(files map[string]string, paths ...string) map[string]string {
	for _, p := range paths {
		delete(files, p)
	}
	return files
}

const runPath, restorePath = "metadata/run_manifest.json", "metadata/restore_manifest.json"

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it has\n%v\nwant\n%v", got, want)
	}
}

// source has sibling names, a file and a directory of one name, several
// generations, bodies of every kind, and a restore manifest's neighbours.
func source(t *testing.T) *bench {
	b := newBench(t)
	b.put("src/a", "one")
	b.put("src-gen/a", "two")
	b.put("src", "a file and a directory")
	b.replace("src", "a file and a directory still")
	big := string(pattern(300 << 10))
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "input", Path: "big", Base64: b64([]byte(big)), ContentType: ptr("a/b")}); err != nil {
		t.Fatal(err)
	}
	b.put("row", strings.Repeat("row ", 5000))
	b.append("row", "more")
	return b
}

func TestRestoreFromASnapshot(t *testing.T) {
	b := source(t)
	c := b.commit(`{"run":"A"}`, 1, false)
	snapshot := b.snapshot("s", nil)
	frozen := b.tree("wb1", snapshot.ReadVersion)
	b.put("later", "x")
	b.replace("src/a", "changed")
	before := b.tree("wb1", 0)

	res := b.mustRestore("wb1", "wb2", "s")
	if res.IdempotentReplay || res.State != "complete" || *res.SnapshotID != snapshot.SnapshotID || *res.ReadVersion != snapshot.ReadVersion || res.CommitID != nil ||
		res.DestinationGeneration != 1 || res.RestoreManifest != "/agents/default/wb/wb2/"+restorePath || res.CleanupPending {
		t.Errorf("%+v", res)
	}
	same(t, b.tree("wb1", 0), before)
	got := b.tree("wb2", 0)
	if !strings.HasPrefix(got[runPath], "1 application/json") || !strings.HasPrefix(got[restorePath], "1 application/json") {
		t.Errorf("the manifests are %q and %q", got[runPath], got[restorePath])
	}
	same(t, without(got, runPath, restorePath), without(frozen, runPath))
	if b.bodyOf("wb2", "input", "big") != string(pattern(300<<10)) || b.bodyOf("wb2", "outputs", "src/a") != "one" {
		t.Error("the bodies are others")
	}
	// Nothing was written since the commit: what was said of its content holds.
	text := b.bodyOf("wb2", "metadata", "run_manifest.json")
	if !strings.Contains(text, `"content_digest_uri":"`+c.ContentDigestURI+`"`) || !strings.Contains(text, `"manifest":{"run":"A"}`) || !strings.Contains(text, `"workbench_id":"wb2"`) {
		t.Error(text)
	}
	for _, hidden := range []string{"inode", "source_root", "destination_root"} {
		if strings.Contains(string(res.AppendJSON(nil)), hidden) {
			t.Errorf("the result names %s", hidden)
		}
	}

	// The source's lease is over, and the source moves on; the destination stays,
	// and the answer.
	b.env.Clock.Advance(100 * day)
	b.fire()
	b.forget()
	b.reopen()
	again := b.mustRestore("wb1", "wb2", "s")
	res.IdempotentReplay = true
	if string(again.AppendJSON(nil)) != string(res.AppendJSON(nil)) {
		t.Errorf("again: %s\nwant %s", again.AppendJSON(nil), res.AppendJSON(nil))
	}
	if b.bodyOf("wb2", "input", "big") != string(pattern(300<<10)) {
		t.Error("the body went with the snapshot")
	}
	b.expectStates("1:reaped")
}

func TestRestoreFromACommit(t *testing.T) {
	b := source(t)
	a := b.commit(`{"run":"A"}`, 1, false)
	frozen := b.tree("wb1", 0)
	b.put("later", "x")
	b.commit(`{"run":"B"}`, 2, true)
	res := b.mustRestore("wb1", "wb2", a.CommitIdentity)
	if res.SnapshotID != nil || res.ReadVersion != nil || *res.CommitID != a.CommitIdentity {
		t.Errorf("%+v", res)
	}
	same(t, without(b.tree("wb2", 0), runPath, restorePath), without(frozen, runPath))
	if text := b.bodyOf("wb2", "metadata", "run_manifest.json"); !strings.Contains(text, a.ContentDigestURI) || !strings.Contains(text, `"run":"A"`) {
		t.Error(text)
	}
	if text := b.bodyOf("wb2", "metadata", "restore_manifest.json"); !strings.Contains(text, "restore_manifest.v2") || !strings.Contains(text, a.CommitIdentity) {
		t.Error(text)
	}
	// The same identity as the automatic commit has nothing left to commit.
	_, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: "wb2", Manifest: op.RawJSON(`{"run":"A"}`), ContentDigestURI: a.ContentDigestURI})
	refused(t, err, op.ReasonWBInvalidState)
}

// A restored workbench is one like others: it can be written, snapshotted,
// committed and restored, to any depth.
func TestRestoresOfRestores(t *testing.T) {
	b := source(t)
	b.commit(`{"run":"A"}`, 1, false)
	b.put("uncommitted", "x") // the snapshot is not of the commit's files
	sel := any(b.snapshot("s", nil).SnapshotID)
	from := "wb1"
	want := without(b.tree("wb1", 0), runPath, restorePath)
	for depth := range 6 {
		to := fmt.Sprintf("copy%d", depth)
		b.mustRestore(from, to, sel)
		same(t, without(b.tree(to, 0), runPath, restorePath), want)
		from = to
		if depth%2 == 0 {
			if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: to, Section: "logs", Path: fmt.Sprint(depth), Text: ptr("l")}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: to, Section: "input", Path: "big", Text: ptr("more")}); err != nil {
				t.Fatal(err)
			}
			res, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: to, Manifest: op.RawJSON("{}"), ContentDigestURI: digestOf(byte(depth)), Replace: ptr(true)})
			if err != nil || res.Generation != 2 {
				t.Fatal(res, err)
			}
			sel = res.CommitIdentity
		} else {
			res, err := b.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: to})
			if err != nil {
				t.Fatal(err)
			}
			sel = res.SnapshotID
		}
		want = without(b.tree(to, 0), runPath, restorePath)
	}
	if got := b.bodyOf("copy5", "input", "big"); got != string(pattern(300<<10))+"moremoremore" {
		t.Errorf("%d bytes", len(got))
	}
	if got := b.bodyOf("wb1", "input", "big"); got != string(pattern(300<<10)) {
		t.Errorf("the source has %d bytes", len(got))
	}
}

func TestRestoreConflicts(t *testing.T) {
	b := committed(t)
	b.put("a", "one")
	c := b.commit(`{"run":"A"}`, 9, true)
	one := b.snapshot("s", nil).SnapshotID
	two := b.snapshot("s", nil).SnapshotID
	b.mustRestore("wb1", "wb2", one)
	if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "plain"}); err != nil {
		t.Fatal(err)
	}
	gone := b.snapshot("gone", nil).SnapshotID
	if _, err := b.retire(gone, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to string
		sel      any
		want     op.Reason
		details  []any
	}{
		"a workbench that no restore made": {"wb1", "plain", one, op.ReasonWBRestoreConflict, nil},
		"another snapshot":                 {"wb1", "wb2", two, op.ReasonWBRestoreConflict, nil},
		"another kind":                     {"wb1", "wb2", c.CommitIdentity, op.ReasonWBRestoreConflict, nil},
		"another source":                   {"plain", "wb2", one, op.ReasonWBRestoreConflict, nil},
		"an unknown snapshot":              {"wb1", "wb3", int64(99), op.ReasonWBSnapshotNotFound, nil},
		"an unknown name":                  {"wb1", "wb3", "none", op.ReasonWBSnapshotNotFound, nil},
		"a retired snapshot":               {"wb1", "wb3", gone, op.ReasonWBSnapshotEnded, nil},
		"an unknown source":                {"none", "wb3", one, op.ReasonWBNotFound, []any{"path", ""}},
		"an unknown commit":                {"wb1", "wb3", strings.Repeat("ab", 32), op.ReasonWBNotFound, []any{"path", ""}},
		"a commit of zeros":                {"wb1", "wb3", strings.Repeat("00", 32), op.ReasonWBRestoreConflict, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.restore(c.from, c.to, c.sel)
			refused(t, err, c.want, c.details...)
		})
	}
	// A name that means another snapshot since finds what it made.
	if res := b.mustRestore("wb1", "wb2", "s"); !res.IdempotentReplay || *res.SnapshotID != one {
		t.Errorf("%+v", res)
	}
	for name, c := range map[string]struct {
		req  op.WorkbenchRestoreRequest
		want op.Reason
	}{
		"into itself":       {op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb1", AtSnapshot: at(one)}, op.ReasonWBInvalidArguments},
		"neither selector":  {op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb3"}, op.ReasonWBInvalidArguments},
		"both selectors":    {op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb3", AtSnapshot: at(one), AtCommit: &c.CommitIdentity}, op.ReasonWBInvalidArguments},
		"an upper-case hex": {op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb3", AtCommit: ptr(strings.Repeat("AB", 32))}, op.ReasonWBInvalidArguments},
		"a bad source":      {op.WorkbenchRestoreRequest{ID: "-", DestinationID: "wb3", AtSnapshot: at(one)}, op.ReasonWBBadID},
		"a bad destination": {op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "a/b", AtSnapshot: at(one)}, op.ReasonWBBadID},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Restore(ctx, &c.req)
			refused(t, err, c.want)
		})
	}
	b.env.Clock.Advance(8 * day)
	_, err := b.restore("wb1", "wb3", two)
	refused(t, err, op.ReasonWBSnapshotEnded)
	if n, err := b.Restores(ctx); n != 0 || err != nil {
		t.Errorf("%d restores are under way, %v", n, err)
	}
}

func TestAnExpiredSnapshotIsNotRestored(t *testing.T) {
	b := committed(t)
	id := b.snapshot("s", nil).SnapshotID
	b.env.Clock.Advance(day)
	_, err := b.restore("wb1", "wb2", id)
	refused(t, err, op.ReasonWBSnapshotExpired)
}

// Sizes around the steps of copying, and around those of others' batches.
func TestRestoresOfManySizes(t *testing.T) {
	for _, n := range []int{0, 1, 48, 49, 78, 79, 80, 81, 159, 160, 161, 2000} {
		b := committed(t)
		if err := b.Fill(ctx, "wb1", "outputs/dir", n); err != nil {
			t.Fatal(err)
		}
		want := without(b.tree("wb1", 0), runPath)
		b.mustRestore("wb1", "wb2", b.snapshot("s", nil).SnapshotID)
		same(t, without(b.tree("wb2", 0), runPath, restorePath), want)
	}
}

// While a restore is under way nothing of it shows, and its snapshot stays.
func TestARestoreUnderWay(t *testing.T) {
	b := committed(t)
	if err := b.Fill(ctx, "wb1", "outputs/dir", 200); err != nil {
		t.Fatal(err)
	}
	id := b.snapshot("s", nil).SnapshotID
	reached, goOn := make(chan string), make(chan struct{})
	b.OnStep(func(step string) {
		if strings.HasPrefix(step, "restore") {
			reached <- step
			<-goOn
		}
	})
	type answer struct {
		res *op.WorkbenchRestoreResult
		err error
	}
	answers := make(chan answer)
	ask := func() {
		res, err := b.restore("wb1", "wb2", id)
		answers <- answer{res, err}
	}
	go ask()
	steps := []string{<-reached}
	go ask() // joins, or comes too late and gets the same
	for {
		if _, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb2"}); !fault.Is(err, op.ReasonWBNotFound) {
			t.Errorf("at %s: the destination shows: %v", steps[len(steps)-1], err)
		}
		_, err := b.retire("s", nil)
		refused(t, err, op.ReasonWBForkRetentionActive)
		_, err = b.restore("wb1", "wb2", strings.Repeat("00", 32))
		refused(t, err, op.ReasonWBRestoreUnderWay)
		if steps[len(steps)-1] == "restore hashed" {
			break
		}
		goOn <- struct{}{}
		steps = append(steps, <-reached)
	}
	b.env.Clock.Advance(30 * day) // the lease ends while it is consumed
	b.fire()
	goOn <- struct{}{}
	first, second := <-answers, <-answers
	if first.err != nil || second.err != nil || first.res.IdempotentReplay == second.res.IdempotentReplay || first.res.OperationID != second.res.OperationID {
		t.Errorf("%+v, %+v", first, second)
	}
	if want := []string{"restore prepared", "restore step", "restore step", "restore step", "restore copied", "restore hashed"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q", steps)
	}
	b.OnStep(nil)
	b.fire()
	b.expectStates("1:reaped")
}

// A workbench that appears under the destination's id while a restore is under way
// wins, and the restore leaves nothing. The try again after it is no other.
func TestARestoreLosesToACreate(t *testing.T) {
	for _, when := range []string{"restore prepared", "restore step", "restore copied", "restore hashed"} {
		b := committed(t)
		if err := b.Fill(ctx, "wb1", "outputs/dir", 500); err != nil {
			t.Fatal(err)
		}
		id := b.snapshot("s", nil).SnapshotID
		var once sync.Once
		b.OnStep(func(step string) {
			if step == when {
				once.Do(func() {
					if _, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb2"}); err != nil {
						t.Error(err)
					}
				})
			}
		})
		for range 2 {
			_, err := b.restore("wb1", "wb2", id)
			refused(t, err, op.ReasonWBRestoreConflict)
		}
		b.expectCleared()
		if files := b.tree("wb2", 0); len(files) != 0 {
			t.Errorf("%s: the new workbench has %v", when, files)
		}
		if _, err := b.retire("s", nil); err != nil {
			t.Errorf("%s: the snapshot is not free: %v", when, err)
		}
	}
}

// expectCleared demands that no restore has left anything.
func (b *bench) expectCleared() {
	b.t.Helper()
	if n, err := b.Restores(ctx); n != 0 || err != nil {
		b.t.Errorf("%d restores are under way, %v", n, err)
	}
	if n, err := b.StagedRows(ctx); n != 0 || err != nil {
		b.t.Errorf("%d rows of no workbench, %v", n, err)
	}
}

// WB-35: what is stored of a restore is not what was asked for: nothing is
// published, and nothing thrown away.
func TestAChangedRestoreFailsClosed(t *testing.T) {
	for name, change := range map[string]func(o *record.RestoreOperation){
		"another identity of the same short name": func(o *record.RestoreOperation) { o.Identity[31]++ },
		"another initialization":                  func(o *record.RestoreOperation) { o.Initialization[0]++ },
		"another manifest":                        func(o *record.RestoreOperation) { o.Manifest[0]++ },
		"another size of the manifest":            func(o *record.RestoreOperation) { o.ManifestLength++ },
		"another type of the manifest":            func(o *record.RestoreOperation) { o.ManifestType = "text/plain" },
		"another revision":                        func(o *record.RestoreOperation) { o.Frozen-- },
		"another place":                           func(o *record.RestoreOperation) { o.After = "outputs/z" },
	} {
		t.Run(name, func(t *testing.T) {
			b := committed(t)
			b.put("a", "one")
			id := b.snapshot("s", nil).SnapshotID
			var was record.RestoreOperation
			b.OnStep(func(step string) {
				if step != "restore copied" {
					return
				}
				if err := b.ChangeRestore(ctx, func(o *record.RestoreOperation) { was = *o; change(o) }); err != nil {
					t.Error(err)
				}
			})
			_, err := b.restore("wb1", "wb2", id)
			if !fault.Is(err, op.ReasonWBCorrupt) {
				t.Errorf("%v", err)
			}
			b.OnStep(nil)
			if _, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb2"}); !fault.Is(err, op.ReasonWBNotFound) {
				t.Errorf("it was published: %v", err)
			}
			if report := b.env.Store.Check(ctx); report.Err() == nil && name != "another place" {
				t.Error("the check is content")
			}
			// As it was, it goes on.
			if err := b.ChangeRestore(ctx, func(o *record.RestoreOperation) { *o = was }); err != nil {
				t.Fatal(err)
			}
			b.mustRestore("wb1", "wb2", id)
		})
	}
}

// Two restores into one id of which the callers ask at once: one wins.
func TestRestoresRace(t *testing.T) {
	b := committed(t)
	if err := b.Fill(ctx, "wb1", "outputs/dir", 300); err != nil {
		t.Fatal(err)
	}
	one, two := b.snapshot("s", nil).SnapshotID, b.snapshot("t", nil).SnapshotID
	var wg sync.WaitGroup
	var mu sync.Mutex
	first, lost := map[int64]int{}, 0
	for i := range 16 {
		id := one
		if i%2 == 1 {
			id = two
		}
		wg.Go(func() {
			res, err := b.restore("wb1", "wb2", id)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				first[*res.SnapshotID]++
				if !res.IdempotentReplay {
					first[0]++
				}
			case fault.Is(err, op.ReasonWBRestoreConflict), fault.Is(err, op.ReasonWBRestoreUnderWay):
				lost++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if first[0] != 1 || (first[one] == 0) == (first[two] == 0) || lost != 8 {
		t.Errorf("%v, %d lost", first, lost)
	}
	b.expectCleared()
}
