package workbench_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestReadByRecords(t *testing.T) {
	b := newBench(t)
	b.put("a.json", `{"n": 9007199254740993, "x": 1e-7, "y": 100.0}`)
	res, err := b.read("a.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, res)
	want := `{"bytes":null,"bytes_encoding":null,"cursor":null,"format":"structured","generation":1,"items":[{"index":0,"value":{"n":9007199254740993,"x":1e-7,"y":100.0}}],` +
		`"next_cursor":null,"path":"/agents/default/wb/wb1/outputs/a.json","record_count":1,"record_type":"json_object","relative_path":"a.json","section":"outputs",` +
		`"status":"success","total_size_bytes":46,"truncated":false,"workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, c := range []struct{ path, body, contentType, recordType, first string }{
		{"b.json", "[1,2]", "", "json_array", "1"},
		{"typed", "[1,2]", "application/json", "json_array", "1"},
		{"b.yaml", "a: 1", "", "yaml_mapping", `{"a":1}`},
		{"b.jsonl", "{}\n[]\n", "", "json_lines", "{}"},
		{"b.csv", "a,b\n1,2\n", "text/csv", "text_lines", `"a,b"`},
		{"b", "plain\n", "", "text_lines", `"plain"`},
	} {
		contentType := &c.contentType
		if c.contentType == "" {
			contentType = nil
		}
		if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: c.path, Text: &c.body, ContentType: contentType}); err != nil {
			t.Fatal(err)
		}
		res, err := b.read(c.path, nil)
		if err != nil || *res.RecordType != c.recordType || string(res.Items[0].Value) != c.first {
			t.Errorf("%s: %+v, %v", c.path, res, err)
			continue
		}
		valid(t, res)
	}
}

func TestReadPagesByRecords(t *testing.T) {
	b := newBench(t)
	var text strings.Builder
	for i := range 7 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	b.put("a", text.String())
	b.put("empty", "")
	var cursor *string
	for at := int64(0); ; at += 3 {
		res, err := b.read("a", func(r *op.WorkbenchReadRequest) { r.Limit, r.Cursor = ptr(int32(3)), cursor })
		if err != nil || *res.RecordCount != 7 || res.Truncated != (res.NextCursor != nil) {
			t.Fatalf("%+v, %v", res, err)
		}
		if (res.Cursor == nil) != (cursor == nil) || cursor != nil && *res.Cursor != *cursor {
			t.Errorf("the cursor is not echoed: %v", res.Cursor)
		}
		for i, item := range res.Items {
			if item.Index != at+int64(i) || string(item.Value) != fmt.Sprintf("%q", fmt.Sprintf("line %d", item.Index)) {
				t.Errorf("%+v", item)
			}
		}
		if cursor = res.NextCursor; cursor == nil {
			break
		}
		if want := fmt.Sprintf("r:%d", at+3); *cursor != want {
			t.Errorf("%s, want %s", *cursor, want)
		}
	}
	for _, c := range []struct {
		path, cursor string
		ok           bool
	}{
		{"a", "r:7", true}, {"a", "r:0", true}, {"a", "r:007", true}, {"empty", "r:0", true},
		{"a", "r:8", false}, {"empty", "r:1", false}, {"a", "b:0", false}, {"a", "r:", false}, {"a", "r:-1", false}, {"a", "r:+1", false},
		{"a", "r:1 ", false}, {"a", "", false}, {"a", "0", false}, {"a", "R:0", false}, {"a", "r:9223372036854775807", false},
		{"a", "r:9999999999999999999", false}, {"a", "r:" + strings.Repeat("9", 30), false},
	} {
		res, err := b.read(c.path, func(r *op.WorkbenchReadRequest) { r.Cursor = &c.cursor })
		if !c.ok {
			refused(t, err, op.ReasonWBBadCursor)
		} else if err != nil || c.cursor == "r:7" && (len(res.Items) != 0 || res.Items == nil || res.Truncated) {
			t.Errorf("%+v: %+v, %v", c, res, err)
		}
	}
	_, err := b.read("a", func(r *op.WorkbenchReadRequest) { r.Offset = ptr(int64(1)) })
	refused(t, err, op.ReasonWBInvalidArguments)
	if _, err := b.read("a", func(r *op.WorkbenchReadRequest) { r.Offset = ptr(int64(0)) }); err != nil {
		t.Error(err)
	}
	for _, limit := range []int32{0, -1, 301} {
		_, err := b.read("a", func(r *op.WorkbenchReadRequest) { r.Limit = &limit })
		refused(t, err, op.ReasonWBInvalidArguments)
	}
	_, err = b.read("a", func(r *op.WorkbenchReadRequest) { r.Format = ptr("csv") })
	refused(t, err, op.ReasonWBInvalidArguments)
}

func TestReadByBytes(t *testing.T) {
	b := newBench(t)
	data := pattern(70_000)
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a.json", Base64: b64(data)}); err != nil {
		t.Fatal(err)
	}
	page := func(change func(*op.WorkbenchReadRequest)) (*op.WorkbenchReadResult, error) {
		return b.read("a.json", func(r *op.WorkbenchReadRequest) { r.Format = ptr("bytes"); change(r) })
	}
	res, err := page(func(*op.WorkbenchReadRequest) {})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, res)
	want := `{"bytes":"` + base64.StdEncoding.EncodeToString(data[:100]) + `","bytes_encoding":"base64","cursor":null,"format":"bytes","generation":1,"items":[],"next_cursor":"b:100",` +
		`"path":"/agents/default/wb/wb1/outputs/a.json","record_count":null,"record_type":null,"relative_path":"a.json","section":"outputs","status":"success",` +
		`"total_size_bytes":70000,"truncated":true,"workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, c := range []struct {
		offset *int64
		cursor *string
		limit  int32
		at, n  int
		next   string
	}{
		{ptr(int64(65_500)), nil, 300, 65_500, 300, "b:65800"},
		{ptr(int64(0)), ptr("b:69900"), 300, 69_900, 100, ""},
		{nil, ptr("b:69999"), 1, 69_999, 1, ""},
		{nil, ptr("b:70000"), 1, 70_000, 0, ""},
		{ptr(int64(70_000)), nil, 1, 70_000, 0, ""},
	} {
		res, err := page(func(r *op.WorkbenchReadRequest) { r.Offset, r.Cursor, r.Limit = c.offset, c.cursor, &c.limit })
		if err != nil || *res.Bytes != base64.StdEncoding.EncodeToString(data[c.at:c.at+c.n]) || c.next == "" != (res.NextCursor == nil) || c.next != "" && *res.NextCursor != c.next {
			t.Errorf("%+v: %+v, %v", c, res, err)
		}
	}
	_, err = page(func(r *op.WorkbenchReadRequest) { r.Offset = ptr(int64(70_001)) })
	refused(t, err, op.ReasonWBInvalidArguments)
	_, err = page(func(r *op.WorkbenchReadRequest) { r.Offset = ptr(int64(-1)) })
	refused(t, err, op.ReasonWBInvalidArguments)
	_, err = page(func(r *op.WorkbenchReadRequest) { r.Cursor = ptr("b:70001") })
	refused(t, err, op.ReasonWBBadCursor)
	_, err = page(func(r *op.WorkbenchReadRequest) { r.Cursor = ptr("r:0") })
	refused(t, err, op.ReasonWBBadCursor)
	_, err = page(func(r *op.WorkbenchReadRequest) { r.Cursor, r.Offset = ptr("b:1"), ptr(int64(1)) })
	refused(t, err, op.ReasonWBInvalidArguments)
}

func TestReadOnlyWhenModified(t *testing.T) {
	b := newBench(t)
	b.put("a.json", "{broken")
	ask := func(generation int64, change func(*op.WorkbenchReadRequest)) (*op.WorkbenchReadResult, error) {
		return b.read("a.json", func(r *op.WorkbenchReadRequest) {
			r.IfNoneMatch = &generation
			if change != nil {
				change(r)
			}
		})
	}
	want := `{"generation":1,"not_modified":true,"path":"/agents/default/wb/wb1/outputs/a.json","relative_path":"a.json","section":"outputs","status":"success",` +
		`"workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`
	for _, change := range []func(*op.WorkbenchReadRequest){
		nil,
		func(r *op.WorkbenchReadRequest) { r.Cursor = ptr("nonsense") },
		func(r *op.WorkbenchReadRequest) { r.Offset = ptr(int64(1 << 40)) },
		func(r *op.WorkbenchReadRequest) { r.Format = ptr("bytes") },
	} {
		res, err := ask(1, change)
		if err != nil {
			t.Error(err)
			continue
		}
		valid(t, res)
		if got := string(res.AppendJSON(nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	// A miss is an ordinary read, with all that is wrong with it.
	_, err := ask(0, nil)
	refused(t, err, op.ReasonWBStructuredDecodeFailed, "format", "json", "path", "outputs/a.json")
	_, err = ask(2, func(r *op.WorkbenchReadRequest) { r.Cursor = ptr("nonsense") })
	refused(t, err, op.ReasonWBBadCursor)
	_, err = b.read("missing", func(r *op.WorkbenchReadRequest) { r.IfNoneMatch = ptr(int64(1)); r.Cursor = ptr("nonsense") })
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/missing")
	_, err = ask(-1, nil)
	refused(t, err, op.ReasonWBInvalidArguments)
	b.replace("a.json", "[]")
	if res, err := ask(1, nil); err != nil || res.NotModified || res.Generation != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestReadRefusals(t *testing.T) {
	b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = 1000 })
	_, err := b.read("a", nil)
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/a")
	b.put("dir/a", "x")
	_, err = b.read("dir", nil)
	refused(t, err, op.ReasonWBNotFound, "path", "outputs/dir")
	_, err = b.read("", nil)
	refused(t, err, op.ReasonWBBadPath)
	for path, body := range map[string]string{"broken.json": "{", "broken.yaml": "a: b: c", "broken.jsonl": "{}\n{\n"} {
		b.put(path, body)
		_, err = b.read(path, nil)
		format := "json"
		if strings.HasSuffix(path, "yaml") {
			format = "yaml"
		}
		refused(t, err, op.ReasonWBStructuredDecodeFailed, "format", format, "path", "outputs/"+path)
		if res, err := b.read(path, func(r *op.WorkbenchReadRequest) { r.Format = ptr("bytes") }); err != nil || *res.Bytes != *b64([]byte(body)) {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "binary", Base64: b64([]byte("x\xff"))}); err != nil {
		t.Fatal(err)
	}
	_, err = b.read("binary", nil)
	refused(t, err, op.ReasonWBInvalidUTF8, "path", "outputs/binary")

	for range 2 {
		b.append("large", strings.Repeat("x", 600))
	}
	_, err = b.read("large", nil)
	refused(t, err, op.ReasonWBPayloadTooLarge, "actual_bytes", 1200, "maximum_bytes", 1000)
	if err != nil && !strings.Contains(err.Error(), "format: bytes") {
		t.Errorf("%v does not name the way out", err)
	}
	if res, err := b.read("large", func(r *op.WorkbenchReadRequest) { r.Format, r.Offset = ptr("bytes"), ptr(int64(1100)) }); err != nil || *res.Bytes != *b64([]byte(strings.Repeat("x", 100))) {
		t.Errorf("%+v, %v", res, err)
	}
}

// WB-9: a pinned revision outlives its replacement and the reaper.
func TestAnOpenFileIsOneRevision(t *testing.T) {
	b := newBench(t)
	old := string(pattern(blob.MemoryLimit + 5000))
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Base64: b64([]byte(old))}); err != nil {
		t.Fatal(err)
	}
	f, err := b.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: "a"})
	if err != nil {
		t.Fatal(err)
	}
	b.replace("a", "new")
	b.env.Clock.Advance(b.env.Store.HistoryWindow() * 2)
	b.put("tick", "")
	if _, err := b.env.Store.Reap(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.bodies.Collect(ctx); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := f.WriteRange(ctx, &got, 0, f.Card().SizeBytes); err != nil || got.String() != old || f.Card().Generation != 1 {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := b.body("a"); got != "new" {
		t.Error(got)
	}
}
