package workbench_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestAppendCreatesThenExtends(t *testing.T) {
	b := newBench(t)
	res := b.append("log.jsonl", "one\n")
	valid(t, res)
	want := `{"appended_bytes":4,"created":true,"digest":"` + uriOf("one\n") + `","generation":1,"path":"/agents/default/wb/wb1/outputs/log.jsonl",` +
		`"relative_path":"log.jsonl","section":"outputs","size_bytes":4,"status":"success","workbench_id":"wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	res = b.append("log.jsonl", "two\n")
	if res.Created || res.Generation != 2 || res.SizeBytes != 8 || res.AppendedBytes != 4 || res.Digest != uriOf("two\n") {
		t.Errorf("%+v", res)
	}
	if c := b.card("log.jsonl"); *c.DigestURI != uriOf("one\ntwo\n") || *c.SizeBytes != 8 {
		t.Errorf("the stored digest is %s of %d bytes", *c.DigestURI, *c.SizeBytes)
	}
	// Appending nothing publishes all the same.
	if res = b.append("log.jsonl", ""); res.Generation != 3 || res.SizeBytes != 8 || res.Digest != uriOf("") {
		t.Errorf("%+v", res)
	}
	// The vectors of the facts about existing clients.
	b.append("v", "Hello world\nsecond\n")
	if res = b.append("v", "third\n"); res.Digest != "sha256:5eef8098ed6ec0a16249fc7c12422027fc9fd75b16130cc9382cf09102014796" {
		t.Error(res.Digest)
	}
	if got := *b.card("v").DigestURI; got != "sha256:39bf1d4f770003e2f81ee75759c78615edccb6831dadd4c617d044350d2d73ef" {
		t.Error(got)
	}
}

func TestAppendKeepsTheContentTypeUnlessGivenOne(t *testing.T) {
	b := newBench(t)
	add := func(text, encoded, contentType *string) string {
		t.Helper()
		if _, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: "a", Text: text, Base64: encoded, ContentType: contentType}); err != nil {
			t.Fatal(err)
		}
		return *b.card("a").ContentType
	}
	for i, step := range []struct {
		text, encoded, contentType *string
		want                       string
	}{
		{nil, b64([]byte("x")), nil, "application/octet-stream"},
		{ptr("x"), nil, nil, "application/octet-stream"},
		{ptr("x"), nil, ptr("a/b"), "a/b"},
		{nil, b64([]byte("x")), nil, "a/b"},
	} {
		if got := add(step.text, step.encoded, step.contentType); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

func TestAppendCapsTheDeltaAlone(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = 100 })
	for range 5 {
		b.append("a", strings.Repeat("x", 100))
	}
	_, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: "a", Text: ptr(strings.Repeat("x", 101))})
	refused(t, err, op.ReasonWBPayloadTooLarge, "actual_bytes", 101, "maximum_bytes", 100)
	if got := *b.card("a").SizeBytes; got != 500 {
		t.Error(got)
	}
}

// Deltas of every size class, one after the other on one file: each makes the
// body longer by exactly itself, and the digest is always that of the whole.
func TestAppendsOfEverySizeAddUp(t *testing.T) {
	b := newBench(t)
	var whole []byte
	for i, size := range []int{1, 0, 3000, 2000, blob.TailLimit, blob.TailLimit + 1, blob.ExtentLimit, 70_000, blob.MemoryLimit + 1, 1, 400_000, 5} {
		delta := pattern(size)
		res, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: "a", Base64: b64(delta)})
		if err != nil {
			t.Fatalf("append %d of %d bytes: %v", i, size, err)
		}
		whole = append(whole, delta...)
		if res.SizeBytes != int64(len(whole)) || res.Generation != int64(i+1) || res.Digest != uriOf(string(delta)) {
			t.Errorf("append %d: %+v", i, res)
		}
		if got := *b.card("a").DigestURI; got != uriOf(string(whole)) {
			t.Errorf("append %d: the whole has digest %s", i, got)
		}
	}
	if b.body("a") != string(whole) {
		t.Error("the body is not the sum of its parts")
	}
}

func TestConcurrentAppendsAllTakeEffect(t *testing.T) {
	for _, size := range []int{40, 90_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			b := newBench(t)
			const writers, rounds = 8, 6
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for r := range rounds {
						line := fmt.Sprintf("%d/%d%s\n", w, r, strings.Repeat(".", size))
						if _, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: "a", Text: &line}); err != nil {
							t.Errorf("append %d/%d: %v", w, r, err)
						}
					}
				})
			}
			wg.Wait()
			seen := map[string]int{}
			for line := range strings.Lines(b.body("a")) {
				seen[strings.TrimRight(line, ".\n")]++
			}
			for w := range writers {
				for r := range rounds {
					if key := fmt.Sprintf("%d/%d", w, r); seen[key] != 1 {
						t.Errorf("%s is there %d times", key, seen[key])
					}
				}
			}
			if c := b.card("a"); *c.Generation != writers*rounds || *c.DigestURI != uriOf(b.body("a")) {
				t.Errorf("%+v", c)
			}
		})
	}
}
