package workbench_test

import (
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// A refusal says which of several things is missing; its details stay those of NotFound.
func TestNotFoundSaysWhatIsMissing(t *testing.T) {
	b := newBench(t)
	b.put("a", "x")
	says := func(what, words string, err error, path string) {
		t.Helper()
		refused(t, err, op.ReasonWBNotFound, "path", path)
		if !strings.Contains(fault.From(err).Message, words) {
			t.Errorf("%s: %v does not say %q", what, err, words)
		}
	}
	const workbench = "workbench_create"
	yes := true
	outputs, a := "outputs", "a"
	_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "nobody"})
	says("stat", workbench, err, "")
	_, err = b.List(ctx, &op.WorkbenchListRequest{ID: "nobody", Section: &outputs})
	says("list", workbench, err, "outputs")
	_, err = b.Read(ctx, &op.WorkbenchReadRequest{ID: "nobody", Section: outputs, Path: a})
	says("read", workbench, err, "outputs/a")
	_, err = b.Edit(ctx, &op.WorkbenchEditRequest{ID: "nobody", Section: outputs, Path: a, OldString: "x", NewString: "y"})
	says("edit", workbench, err, "outputs/a")
	_, err = b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "nobody", Section: outputs, Path: a, Text: &a, Replace: &yes})
	says("replace", workbench, err, "outputs/a")
	_, err = b.OpenFile(ctx, op.FileRef{ID: "nobody", Section: outputs, Path: a})
	says("open", workbench, err, "outputs/a")

	snapshot := op.IntOrString{IsString: true, Str: "nightly"}
	_, err = b.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: outputs, Path: a, AtSnapshot: &snapshot})
	says("an unknown snapshot", "No snapshot", err, "outputs/a")
	_, err = b.read("missing", nil)
	says("a missing file", "workbench_list", err, "outputs/missing")
}

// Whatever a structured read cannot decode names the way out, once.
func TestUndecodableNamesTheWayOutOnce(t *testing.T) {
	b := newBench(t)
	for path, c := range map[string]struct{ body, format string }{
		"large.json":  {`[1e400]`, "json"},
		"deep.json":   {strings.Repeat("[", 200), "json"},
		"lines.jsonl": {"1\n-1e400\n", "json"},
		"two.yaml":    {"a: 1\n---\nb: 2\n", "yaml"},
		"large.yaml":  {"a: 1e400\n", "yaml"},
	} {
		b.put(path, c.body)
		_, err := b.read(path, nil)
		refused(t, err, op.ReasonWBStructuredDecodeFailed, "format", c.format, "path", "outputs/"+path)
		if n := strings.Count(fault.From(err).Message, "format: bytes"); n != 1 {
			t.Errorf("%s: %v names the way out %d times", path, err, n)
		}
	}
}
