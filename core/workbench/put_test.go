package workbench_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func uriOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestCreateConverges(t *testing.T) {
	b := newBench(t)
	first, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, first)
	want := `{"path":"/agents/default/wb/wb1","sections":["input","scripts","outputs","logs","metadata"],"status":"success","workbench_id":"wb1"}`
	if got := string(first.AppendJSON(nil)); got != want {
		t.Error(got)
	}
	before := b.put("a", "1")
	b.reopen() // with nothing in memory
	again, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"})
	if err != nil || string(again.AppendJSON(nil)) != want {
		t.Error(again, err)
	}
	if g := *b.card("a").Generation; g != before.Generation {
		t.Errorf("creating again changed generation %d to %d", before.Generation, g)
	}
	for _, id := range []string{"", "..", "a/b", "-x", strings.Repeat("a", 129)} {
		_, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: id})
		refused(t, err, op.ReasonWBBadID)
	}
}

func TestPutCreatesOnly(t *testing.T) {
	b := newBench(t)
	res := b.put("dir/a.txt", "hello")
	valid(t, res)
	want := `{"content_type":"text/plain; charset=utf-8","digest_uri":"` + uriOf("hello") + `","generation":1,"path":"/agents/default/wb/wb1/outputs/dir/a.txt",` +
		`"relative_path":"dir/a.txt","replace":false,"section":"outputs","size_bytes":5,"status":"success","workbench_id":"wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, replace := range []*bool{nil, ptr(false)} {
		_, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "dir/a.txt", Text: ptr("other"), Replace: replace})
		refused(t, err, op.ReasonWBAlreadyExists, "conflict", "PathGeneration", "generation", 1, "digest_uri", uriOf("hello"), "path", "outputs/dir/a.txt")
	}
	if got := b.body("dir/a.txt"); got != "hello" {
		t.Errorf("a refused put left %q", got)
	}
	// A file may stand where a directory is.
	if res := b.put("dir", "x"); res.Generation != 1 {
		t.Error(res.Generation)
	}
}

func TestPutReplacesOnly(t *testing.T) {
	b := newBench(t)
	replace := func(id, path string) error {
		_, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: id, Section: "outputs", Path: path, Text: ptr("new"), Replace: ptr(true)})
		return err
	}
	refused(t, replace("wb1", "a"), op.ReasonWBNotFound, "path", "outputs/a")
	_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotFound, "path", "") // nothing was created

	b.put("dir/a", "1")
	refused(t, replace("wb1", "b"), op.ReasonWBNotFound, "path", "outputs/b")
	refused(t, replace("wb1", "dir/a/b"), op.ReasonWBNotFound, "path", "outputs/dir/a/b")
	refused(t, replace("wb1", "dir"), op.ReasonWBNotArtifact, "path", "outputs/dir")
	refused(t, replace("wb2", "dir/a"), op.ReasonWBNotFound, "path", "outputs/dir/a")

	for want := int64(2); want < 5; want++ {
		res := b.replace("dir/a", "same bytes") // also when nothing changes
		valid(t, res)
		if res.Generation != want || !res.Replace {
			t.Errorf("%+v, want generation %d", res, want)
		}
	}
}

func TestPutTakesOnePayload(t *testing.T) {
	b := newBench(t)
	put := func(text, encoded, contentType *string) (*op.WorkbenchPutFileResult, error) {
		return b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: strings.ReplaceAll(t.Name(), "/", "-") + string(rune('a'+puts())), Text: text, Base64: encoded, ContentType: contentType})
	}
	for _, c := range []struct {
		name              string
		text, encoded     *string
		size              int64
		contentType       *string
		wantType, wantErr string
	}{
		{"text", ptr("abc"), nil, 3, nil, "text/plain; charset=utf-8", ""},
		{"empty text", ptr(""), nil, 0, nil, "text/plain; charset=utf-8", ""},
		{"base64", nil, ptr("AAEC"), 3, nil, "application/octet-stream", ""},
		{"empty base64", nil, ptr(""), 0, nil, "application/octet-stream", ""},
		{"empty text beside base64", ptr(""), ptr("AA=="), 1, nil, "application/octet-stream", ""},
		{"empty base64 beside text", ptr("x"), ptr(""), 1, nil, "text/plain; charset=utf-8", ""},
		{"named type", ptr("{}"), nil, 2, ptr("application/json"), "application/json", ""},
		{"longest type", ptr("x"), nil, 1, ptr(strings.Repeat("t", 255)), strings.Repeat("t", 255), ""},
		{"NUL in text is content", ptr("a\x00b"), nil, 3, nil, "text/plain; charset=utf-8", ""},

		{"neither", nil, nil, 0, nil, "", "one of text and base64"},
		{"both", ptr("x"), ptr("AA=="), 0, nil, "", "exclude"},
		{"both empty", ptr(""), ptr(""), 0, nil, "", "exclude"},
		{"no padding", nil, ptr("AA"), 0, nil, "", "$.base64"},
		{"url alphabet", nil, ptr("_-=="), 0, nil, "", "$.base64"},
		{"line break", nil, ptr("AA\n=="), 0, nil, "", "$.base64"},
		{"stray bits", nil, ptr("AB=="), 0, nil, "", "$.base64"},
		{"blank", nil, ptr("AA== "), 0, nil, "", "$.base64"},
		{"invalid UTF-8", ptr("\xff"), nil, 0, nil, "", "$.text"},
		{"empty type", ptr("x"), nil, 0, ptr(""), "", "$.content_type"},
		{"long type", ptr("x"), nil, 0, ptr(strings.Repeat("t", 256)), "", "$.content_type"},
		{"NUL in type", ptr("x"), nil, 0, ptr("a\x00"), "", "$.content_type"},
		{"line break in type", ptr("x"), nil, 0, ptr("a\r\nb: c"), "", "$.content_type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := put(c.text, c.encoded, c.contentType)
			if c.wantErr != "" {
				refused(t, err, op.ReasonWBInvalidArguments)
				if err != nil && !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("%v does not say %q", err, c.wantErr)
				}
				return
			}
			if err != nil || res.SizeBytes != c.size || res.ContentType != c.wantType {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// puts counts, so that every case has a path of its own.
var puts = func() func() int {
	n := -1
	return func() int { n++; return n }
}()

func TestPutOfEverySizeComesBack(t *testing.T) {
	b := newBench(t)
	for i, size := range []int{0, 1, blob.TailLimit, blob.TailLimit + 1, blob.ExtentLimit, blob.ExtentLimit + 1, blob.MemoryLimit, blob.MemoryLimit + 1, 1 << 20} {
		data := pattern(size)
		path := string(rune('a' + i))
		res, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: path, Base64: b64(data)})
		if err != nil {
			t.Fatal(size, err)
		}
		if res.DigestURI != uriOf(string(data)) || res.SizeBytes != int64(size) || b.body(path) != string(data) {
			t.Errorf("%d bytes did not come back", size)
		}
	}
}

func TestPutAtTheCap(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = 1000 })
	for _, c := range []struct {
		text, encoded *string
		actual        int
	}{{ptr(strings.Repeat("x", 1001)), nil, 1001}, {nil, b64(pattern(1001)), 1001}, {nil, b64(pattern(1003)), 1003}} {
		_, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Text: c.text, Base64: c.encoded})
		refused(t, err, op.ReasonWBPayloadTooLarge, "actual_bytes", c.actual, "maximum_bytes", 1000)
	}
	for _, encoded := range []*string{b64(pattern(1000)), b64(pattern(999)), b64(pattern(998))} {
		if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "f" + string(rune('a'+puts())), Base64: encoded}); err != nil {
			t.Error(err)
		}
	}
}

func TestWritingToolsAreJailed(t *testing.T) {
	b := newBench(t)
	call := map[string]func(id, section, path string) error{
		"put": func(id, section, path string) error {
			_, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: id, Section: section, Path: path, Text: ptr("x")})
			return err
		},
		"append": func(id, section, path string) error {
			_, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: id, Section: section, Path: path, Text: ptr("x")})
			return err
		},
		"edit": func(id, section, path string) error {
			_, err := b.Edit(ctx, &op.WorkbenchEditRequest{ID: id, Section: section, Path: path, OldString: "x", NewString: "y"})
			return err
		},
		"store": func(id, section, path string) error {
			_, err := b.StoreFile(ctx, op.FileRef{ID: id, Section: section, Path: path}, op.FileCondition{}, "", mustNotRead{t}, -1)
			return err
		},
	}
	for name, f := range call {
		t.Run(name, func(t *testing.T) {
			refused(t, f("wb/1", "outputs", "a"), op.ReasonWBBadID)
			for _, path := range []string{"", "/a", "a/", "a//b", "..", "a/../b", ".", "a\\b", "a\x00", "outputs/a", "\xff", strings.Repeat("a/", 64) + "a"} {
				refused(t, f("wb1", "outputs", path), op.ReasonWBBadPath)
			}
			refused(t, f("wb1", "", "a"), op.ReasonWBBadPath)
			refused(t, f("wb1", "elsewhere", "a"), op.ReasonWBBadPath)
			refused(t, f("wb1", "metadata", "run_manifest.json"), op.ReasonWBReservedPath)
			refused(t, f("wb1", "metadata", "restore_manifest.json"), op.ReasonWBReservedPath)
		})
	}
	_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotFound, "path", "")
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	b := newBench(t)
	b.put("a", "mine")
	other := actor.With(ctx, actor.Principal{Tenant: [16]byte{2}, User: "1"})
	_, err := b.Stat(other, &op.WorkbenchStatRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotFound, "path", "")
	if res, err := b.PutFile(other, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Text: ptr("theirs")}); err != nil || res.Generation != 1 {
		t.Error(res, err)
	}
	if got := b.body("a"); got != "mine" {
		t.Error(got)
	}
}

func TestACallWithoutAPrincipalCanBeRefused(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.Principal = nil })
	_, err := b.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"})
	refused(t, err, op.ReasonInternal)
	if _, err := b.Create(actor.With(ctx, *loopback), &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Error(err)
	}
}

func TestToolsThatAreNotBuiltSaySo(t *testing.T) {
	b := newBench(t)
	for _, d := range op.Descriptors {
		if d.Area != op.AreaWorkbench || d.Built || d.New == nil {
			continue
		}
		res, err := d.Invoke(ctx, &op.API{Workbench: b.Workbench}, d.New())
		if !fault.Is(err, op.ReasonUnimplemented) {
			t.Errorf("%s: %v, %v", d.ID, res, err)
		}
	}
}
