package workbench_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestStatCards(t *testing.T) {
	b := newBench(t)
	b.put("dir/a.txt", "hello")
	b.put("both", "file")
	b.put("both/below", "x")
	for _, c := range []struct {
		name          string
		section, path *string
		want          string
	}{
		{"file", ptr("outputs"), ptr("dir/a.txt"),
			`{"card":{"content_type":"text/plain; charset=utf-8","digest_uri":"` + uriOf("hello") + `","entry_count":null,"generation":1,"kind":"file","manifest_id":null,` +
				`"name":"a.txt","path":"/agents/default/wb/wb1/outputs/dir/a.txt","producer":null,"record_count":null,"relative_path":"dir/a.txt","section":"outputs","size_bytes":5},` +
				`"path":"/agents/default/wb/wb1/outputs/dir/a.txt","relative_path":"dir/a.txt","section":"outputs","status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`},
		{"directory", ptr("outputs"), ptr("dir"),
			`{"card":{"content_type":null,"digest_uri":null,"entry_count":null,"generation":null,"kind":"directory","manifest_id":null,"name":"dir",` +
				`"path":"/agents/default/wb/wb1/outputs/dir","producer":null,"record_count":null,"relative_path":"dir","section":"outputs","size_bytes":null},` +
				`"path":"/agents/default/wb/wb1/outputs/dir","relative_path":"dir","section":"outputs","status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`},
		{"section", ptr("logs"), nil,
			`{"card":{"content_type":null,"digest_uri":null,"entry_count":null,"generation":null,"kind":"directory","manifest_id":null,"name":"logs",` +
				`"path":"/agents/default/wb/wb1/logs","producer":null,"record_count":null,"relative_path":null,"section":"logs","size_bytes":null},` +
				`"path":"/agents/default/wb/wb1/logs","relative_path":null,"section":"logs","status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`},
		{"root", nil, ptr(""),
			`{"card":{"content_type":null,"digest_uri":null,"entry_count":null,"generation":null,"kind":"directory","manifest_id":null,"name":"wb1",` +
				`"path":"/agents/default/wb/wb1","producer":null,"record_count":null,"relative_path":null,"section":null,"size_bytes":null},` +
				`"path":"/agents/default/wb/wb1","relative_path":null,"section":null,"status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`},
		{"section by its path", nil, ptr("input"),
			`{"card":{"content_type":null,"digest_uri":null,"entry_count":null,"generation":null,"kind":"directory","manifest_id":null,"name":"input",` +
				`"path":"/agents/default/wb/wb1/input","producer":null,"record_count":null,"relative_path":null,"section":"input","size_bytes":null},` +
				`"path":"/agents/default/wb/wb1/input","relative_path":"input","section":null,"status":"success","workbench_id":"wb1","workbench_path":"/agents/default/wb/wb1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: c.section, Path: c.path})
			if err != nil {
				t.Fatal(err)
			}
			valid(t, res)
			if got := string(res.AppendJSON(nil)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	// A file wins over the directory of its name; what is below stays reachable.
	if c := b.card("both"); c.Kind != "file" || *c.SizeBytes != 4 {
		t.Errorf("%+v", c)
	}
	if c := b.card("both/below"); c.Kind != "file" {
		t.Errorf("%+v", c)
	}
	// The top level says what the caller said, the card where it is.
	res, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Path: ptr("outputs/dir/a.txt")})
	if err != nil || res.Section != nil || *res.RelativePath != "outputs/dir/a.txt" || *res.Card.Section != "outputs" || *res.Card.RelativePath != "dir/a.txt" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestStatOfWhatIsMissing(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		section, path *string
		logical       string
	}{{nil, nil, ""}, {ptr("logs"), nil, "logs"}, {ptr("logs"), ptr("a/b"), "logs/a/b"}, {nil, ptr("x/y"), "x/y"}} {
		_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: c.section, Path: c.path})
		refused(t, err, op.ReasonWBNotFound, "path", c.logical)
	}
	b.put("abc/d", "")
	for _, path := range []string{"a", "ab", "abc/d/e", "abc/", "abc-d"} {
		_, err := b.stat(path)
		if path == "abc/" {
			refused(t, err, op.ReasonWBBadPath)
			continue
		}
		refused(t, err, op.ReasonWBNotFound, "path", "outputs/"+path)
	}
}

// No snapshot exists, so none is found, at any level.
func TestSnapshotSelectorsFindNothing(t *testing.T) {
	b := newBench(t)
	b.put("a", "x")
	for _, s := range []op.IntOrString{{Int: 0}, {Int: 1 << 60}, {IsString: true, Str: "nightly"}} {
		for path, section := range map[string]*string{"": nil, "outputs": ptr("outputs")} {
			_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: section, AtSnapshot: &s})
			refused(t, err, op.ReasonWBNotFound, "path", path)
			_, err = b.list(section, nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = &s })
			refused(t, err, op.ReasonWBNotFound, "path", path)
		}
		_, err := b.read("a", func(r *op.WorkbenchReadRequest) { r.AtSnapshot = &s; r.IfNoneMatch = ptr(int64(1)) })
		refused(t, err, op.ReasonWBNotFound, "path", "outputs/a")
	}
	for _, s := range []op.IntOrString{{IsString: true}, {IsString: true, Str: "a\x00"}, {Int: -1}} {
		_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", AtSnapshot: &s})
		refused(t, err, op.ReasonWBInvalidArguments)
	}
}
