package workbench_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func raw(s string) op.RawJSON { return op.RawJSON(s) }

// oneOfEach has a value of every type, out of order.
var oneOfEach = []op.WorkbenchIndexValue{
	{Field: "z.text", Type: "string", Value: raw(`"Ω"`)}, {Field: "a_none", Type: "null"}, {Field: "flag", Type: "boolean", Value: raw("true")},
	{Field: "low", Type: "signed", Value: raw("-9223372036854775808")}, {Field: "high", Type: "unsigned", Value: raw("18446744073709551615")},
	{Field: "score", Type: "float", Value: raw("0.5")}, {Field: "at", Type: "timestamp", Value: raw("1767323045123")},
	{Field: "key", Type: "bytes", Value: raw(`"_-8"`)},
}

var oneOfEachStored = []record.IndexValue{{Field: "a_none"}, {Field: "at", Value: record.Timestamp(1767323045123)}, {Field: "flag", Value: record.Boolean(true)},
	{Field: "high", Value: record.Unsigned(1<<64 - 1)}, {Field: "key", Value: record.Bytes("\xff\xef")}, {Field: "low", Value: record.Signed(-1 << 63)},
	{Field: "score", Value: record.Float(0.5)}, {Field: "z.text", Value: record.String("Ω")}}

func (b *bench) artifact(path string, change func(*op.WorkbenchPutArtifactRequest)) *op.WorkbenchPutArtifactResult {
	b.t.Helper()
	req := &op.WorkbenchPutArtifactRequest{ID: "wb1", Path: path, Text: ptr("one")}
	if change != nil {
		change(req)
	}
	res, err := b.PutArtifact(ctx, req)
	if err != nil {
		b.t.Fatal(err)
	}
	valid(b.t, res)
	return res
}

func (b *bench) about(full string) record.File {
	b.t.Helper()
	f, err := b.About(ctx, "wb1", full)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func (b *bench) clean() {
	b.t.Helper()
	if err := b.env.Store.Check(ctx).Err(); err != nil {
		b.t.Error(err)
	}
}

func TestAnArtifactCarriesItsDescription(t *testing.T) {
	b := newBench(t)
	res := b.artifact("models/a.json", func(r *op.WorkbenchPutArtifactRequest) {
		r.Producer, r.ManifestID, r.IndexValues = ptr("trainer"), ptr("m-1"), oneOfEach
	})
	want := `{"content_type":"text/plain; charset=utf-8","digest_uri":"` + uriOf("one") + `","generation":1,"index_values":[` +
		`{"field":"a_none","type":"null","value":null},{"field":"at","type":"timestamp","value":1767323045123},{"field":"flag","type":"boolean","value":true},` +
		`{"field":"high","type":"unsigned","value":18446744073709551615},{"field":"key","type":"bytes","value":"_-8"},` +
		`{"field":"low","type":"signed","value":-9223372036854775808},{"field":"score","type":"float","value":0.5},{"field":"z.text","type":"string","value":"Ω"}],` +
		`"manifest_id":"m-1","path":"/agents/default/wb/wb1/models/a.json","producer":"trainer","relative_path":"models/a.json","replace":false,"section":null,` +
		`"size_bytes":3,"status":"success","workbench_id":"wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := b.about("models/a.json").Index; !reflect.DeepEqual(got, oneOfEachStored) {
		t.Errorf("stored %+v", got)
	}
	b.clean()

	in := b.artifact("outputs/b", nil)
	if *in.Section != "outputs" || in.RelativePath != "b" || in.Producer != nil || in.ManifestID != nil || len(in.IndexValues) != 0 {
		t.Errorf("%s", in.AppendJSON(nil))
	}
	for path, reason := range map[string]op.Reason{"metadata/run_manifest.json": op.ReasonWBReservedPath, "metadata/restore_manifest.json": op.ReasonWBReservedPath,
		"outputs": op.ReasonWBBadPath, "metadata": op.ReasonWBBadPath, "": op.ReasonWBBadPath, "../x": op.ReasonWBBadPath, "/x": op.ReasonWBBadPath} {
		_, err := b.PutArtifact(ctx, &op.WorkbenchPutArtifactRequest{ID: "wb1", Path: path, Text: ptr("x")})
		refused(t, err, reason)
		_, err = b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "wb1", Path: path})
		refused(t, err, reason)
	}
}

// WB-6: whatever follows a file with custom fields, its rows follow its record.
func TestCustomFieldsFollowTheirFile(t *testing.T) {
	b := newBench(t)
	describe := func(r *op.WorkbenchPutArtifactRequest) {
		r.Producer, r.ManifestID, r.IndexValues = ptr("p"), ptr("m"), oneOfEach
	}
	for path, after := range map[string]struct {
		next func(path string)
		kept bool
	}{
		"append":  {func(p string) { b.append(p, "two") }, true},
		"replace": {func(p string) { b.replace(p, "two") }, false},
		"edit": {func(p string) {
			if _, err := b.edit(p, "one", "two", false); err != nil {
				t.Fatal(err)
			}
		}, false},
		"artifact": {func(p string) {
			b.artifact("outputs/"+p, func(r *op.WorkbenchPutArtifactRequest) { r.Replace = ptr(true) })
		}, false},
	} {
		b.artifact("outputs/"+path, describe)
		after.next(path)
		f := b.about("outputs/" + path)
		if kept := reflect.DeepEqual(f.Index, oneOfEachStored) && f.Producer != nil && f.ManifestID != nil; kept != after.kept || !kept && (len(f.Index) > 0 || f.Producer != nil) {
			t.Errorf("after %s: %+v", path, f)
		}
		b.clean()
	}
}

func TestCustomFieldsAreSetAnew(t *testing.T) {
	b := newBench(t)
	b.artifact("outputs/a", func(r *op.WorkbenchPutArtifactRequest) { r.Producer, r.IndexValues = ptr("p"), oneOfEach })
	set := func(values ...op.WorkbenchIndexValue) (*op.WorkbenchSetIndexValuesResult, error) {
		return b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "wb1", Path: "outputs/a", IndexValues: values})
	}
	head := func() uint64 {
		n, err := b.HeadOf(ctx, "wb1")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before, start := b.about("outputs/a"), head()
	res, err := set(op.WorkbenchIndexValue{Field: "flag", Type: "boolean", Value: raw("true")}, op.WorkbenchIndexValue{Field: "score", Type: "float", Value: raw("1")})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, res)
	want := `{"generation":1,"index_values":[{"field":"flag","type":"boolean","value":true},{"field":"score","type":"float","value":1.0}],` +
		`"path":"/agents/default/wb/wb1/outputs/a","relative_path":"a","section":"outputs","status":"success","workbench_id":"wb1"}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	now := b.about("outputs/a")
	if len(now.Index) != 2 || head() == start {
		t.Errorf("%+v, head %d after %d", now.Index, head(), start)
	}
	now.Index, before.Index = nil, nil
	if !reflect.DeepEqual(now, before) {
		t.Errorf("more changed than the custom fields: %+v, before %+v", now, before)
	}
	b.clean()
	// An equal set, spelled otherwise, changes nothing.
	start = head()
	if _, err = set(op.WorkbenchIndexValue{Field: "score", Type: "float", Value: raw("10e-1")}, op.WorkbenchIndexValue{Field: "flag", Type: "boolean", Value: raw("true")}); err != nil || head() != start {
		t.Error(err, head(), start)
	}
	// Two values that begin alike share the row of their beginning.
	long := strings.Repeat("x", 300)
	for _, end := range []string{"a", "b"} {
		if _, err = set(op.WorkbenchIndexValue{Field: "long", Type: "string", Value: raw(`"` + long + end + `"`)}); err != nil {
			t.Fatal(err)
		}
		b.clean()
	}
	for n, want := range map[int64]op.Reason{2: op.ReasonPreconditionFailed, 1: ""} {
		_, err := b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "wb1", Path: "outputs/a", IfGeneration: &n})
		if want == "" && err == nil {
			continue
		}
		refused(t, err, want, "current_generation", 1, "path", "outputs/a")
	}
	if f := b.about("outputs/a"); len(f.Index) != 0 {
		t.Errorf("%+v", f.Index)
	}
	b.clean()
	for path, want := range map[string]op.Reason{"outputs/none": op.ReasonWBNotFound, "dir": op.ReasonWBNotArtifact} {
		b.artifact(path+"/x", nil)
		if path == "outputs/none" {
			path += "/y"
		}
		_, err := b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "wb1", Path: path})
		refused(t, err, want, "path", path)
	}
	_, err = b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "none", Path: "a"})
	refused(t, err, op.ReasonWBNotFound, "path", "a")
}

func TestCustomValuesAreRefusedByName(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("x", 4097)
	for _, c := range []struct{ field, kind, value, names string }{
		{"", "null", "", ".field"}, {"a b", "null", "", ".field"}, {strings.Repeat("a", 129), "null", "", ".field"}, {"path", "string", `"x"`, ".field"},
		{"f", "integer", "1", ".type"}, {"f", "null", "0", ".value"}, {"f", "boolean", "1", ".value"}, {"f", "boolean", "", ".value"},
		{"f", "signed", "9223372036854775808", ".value"}, {"f", "signed", "1.0", ".value"}, {"f", "signed", `"1"`, ".value"}, {"f", "signed", "1e3", ".value"},
		{"f", "unsigned", "-1", ".value"}, {"f", "unsigned", "18446744073709551616", ".value"}, {"f", "float", "1e999", ".value"}, {"f", "float", `"1"`, ".value"},
		{"f", "float", "true", ".value"}, {"f", "float", "NaN", ".value"}, {"f", "timestamp", `"2026-01-01T00:00:00Z"`, ".value"}, {"f", "bytes", `"a=="`, ".value"},
		{"f", "bytes", `"+/8"`, ".value"}, {"f", "bytes", "[]", ".value"}, {"f", "bytes", `"_-9"`, ".value"}, {"f", "string", "1", ".value"}, {"f", "string", "", ".value"}, {"f", "string", "{}", ".value"},
		{"f", "string", `"` + long + `"`, ".value"},
	} {
		v := op.WorkbenchIndexValue{Field: c.field, Type: c.kind}
		if c.value != "" {
			v.Value = raw(c.value)
		}
		req := &op.WorkbenchPutArtifactRequest{ID: "wb1", Path: "a", Text: ptr("x"), IndexValues: []op.WorkbenchIndexValue{{Field: "ok", Type: "null"}, v}}
		_, err := b.PutArtifact(ctx, req)
		refused(t, err, op.ReasonWBInvalidArguments)
		if err == nil || !strings.Contains(err.Error(), "$.index_values[1]"+c.names) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	many := make([]op.WorkbenchIndexValue, 65)
	for i := range many {
		many[i] = op.WorkbenchIndexValue{Field: fmt.Sprint("f", i), Type: "null"}
	}
	twice := []op.WorkbenchIndexValue{{Field: "f", Type: "null"}, {Field: "g", Type: "null"}, {Field: "f", Type: "null"}}
	for _, values := range [][]op.WorkbenchIndexValue{many, twice} {
		_, err := b.PutArtifact(ctx, &op.WorkbenchPutArtifactRequest{ID: "wb1", Path: "a", Text: ptr("x"), IndexValues: values})
		refused(t, err, op.ReasonWBInvalidArguments)
	}
	for name, req := range map[string]*op.WorkbenchPutArtifactRequest{
		"$.producer":    {ID: "wb1", Path: "a", Text: ptr("x"), Producer: ptr("")},
		"$.manifest_id": {ID: "wb1", Path: "a", Text: ptr("x"), ManifestID: ptr(strings.Repeat("m", 256))},
	} {
		_, err := b.PutArtifact(ctx, req)
		refused(t, err, op.ReasonWBInvalidArguments)
		if !strings.Contains(err.Error(), name) {
			t.Error(name, err)
		}
	}
	_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotFound, "path", "")
}

// A commit, a snapshot and a restore show custom fields as they were; the tree
// digest tells two sets apart.
func TestCustomFieldsAreRestored(t *testing.T) {
	b := newBench(t)
	b.artifact("models/a", func(r *op.WorkbenchPutArtifactRequest) { r.IndexValues = oneOfEach })
	first, err := b.Commit(ctx, &op.WorkbenchCommitRequest{ID: "wb1", Manifest: raw(`{"n":1}`), ContentDigestURI: digestOf(1)})
	if err != nil {
		t.Fatal(err)
	}
	snap := b.snapshot("s", nil)
	if _, err := b.SetIndexValues(ctx, &op.WorkbenchSetIndexValuesRequest{ID: "wb1", Path: "models/a"}); err != nil {
		t.Fatal(err)
	}
	for id, req := range map[string]*op.WorkbenchRestoreRequest{
		"wb2": {ID: "wb1", DestinationID: "wb2", AtSnapshot: at(snap.SnapshotID)},
		"wb3": {ID: "wb1", DestinationID: "wb3", AtCommit: &first.CommitIdentity},
	} {
		if _, err := b.Restore(ctx, req); err != nil {
			t.Fatal(err)
		}
		f, err := b.About(ctx, id, "models/a")
		if err != nil || !reflect.DeepEqual(f.Index, oneOfEachStored) {
			t.Errorf("%s: %+v, %v", id, f.Index, err)
		}
	}
	b.clean()
}
