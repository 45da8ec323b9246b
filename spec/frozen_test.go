package spec_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sawhorse-dev/sawhorse/spec"
)

// frozenDigest is the digest of the eighteen normalised input schemas, as every implementation of the contract has it.
const frozenDigest = "9ae0d642cb3a90ec86ccda5b93a2339ac94dc82f54451fea3b23fd9d959fca16"

// tool is one entry of the frozen schema, and of what the digest is taken over.
type tool struct {
	InputSchema any    `json:"inputSchema"`
	Name        string `json:"name"`
}

// annotations are the keywords that say nothing about which values are valid.
var annotations = []string{
	"$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly",
}

// normalise drops annotations and puts the lists whose order means nothing in order. In a map of named schemas the names
// are not keywords.
func normalise(t *testing.T, v any, names bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			switch {
			case names:
				out[k] = normalise(t, x, false)
			case slices.Contains(annotations, k):
			case k == "properties" || k == "patternProperties" || k == "$defs" || k == "definitions":
				out[k] = normalise(t, x, true)
			case k == "allOf" || k == "anyOf" || k == "oneOf" || k == "enum" || k == "required" || k == "type":
				x = normalise(t, x, false)
				if list, ok := x.([]any); ok {
					slices.SortFunc(list, func(a, b any) int { return bytes.Compare(compact(t, a), compact(t, b)) })
				}
				out[k] = x
			default:
				out[k] = normalise(t, x, false)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = normalise(t, x, false)
		}
		return out
	}
	return v
}

// compact is JSON with sorted keys and without blanks.
func compact(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// digest is the SHA-256 of the normalised tools, sorted by name.
func digest(t *testing.T, tools []tool) string {
	t.Helper()
	list := make([]tool, len(tools))
	for i, x := range tools {
		list[i] = tool{Name: x.Name, InputSchema: normalise(t, x.InputSchema, false)}
	}
	slices.SortFunc(list, func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.Sum256(compact(t, list))
	return hex.EncodeToString(sum[:])
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := spec.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func frozenTools(t *testing.T) []tool {
	t.Helper()
	var doc struct {
		Tools []tool `json:"tools"`
	}
	if err := json.Unmarshal(read(t, "workbench/tools.schema.json"), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Tools
}

func TestToolSchemasHaveTheFrozenDigest(t *testing.T) {
	tools := frozenTools(t)
	if got := digest(t, tools); got != frozenDigest {
		t.Errorf("the input schemas normalise to %s, the contract's to %s", got, frozenDigest)
	}
	order := []string{
		"create", "put_file", "append", "edit", "list", "stat", "read", "grep", "search", "aggregate", "catalog", "find",
		"commit", "snapshot", "snapshot_renew", "snapshot_retire", "snapshot_list", "restore",
	}
	if len(tools) != len(order) {
		t.Fatalf("%d tools, want %d", len(tools), len(order))
	}
	for i, name := range order {
		if tools[i].Name != "workbench_"+name {
			t.Errorf("tool %d is %s, want workbench_%s", i, tools[i].Name, name)
		}
	}
}

// The digest must see every keyword that decides about values, and only those; otherwise the test above shows nothing.
func TestDigestSeesWhatMatters(t *testing.T) {
	property := func(tools []tool, name string) map[string]any {
		s := tools[0].InputSchema.(map[string]any)["properties"].(map[string]any)
		return s[name].(map[string]any)
	}
	for _, c := range []struct {
		name   string
		change func([]tool)
		same   bool
	}{
		{"another description", func(x []tool) { property(x, "id")["description"] = "other" }, true},
		{"a title", func(x []tool) { x[0].InputSchema.(map[string]any)["title"] = "other" }, true},
		{"a tighter bound", func(x []tool) { property(x, "id")["maxLength"] = 128.0 }, false},
		{"another type", func(x []tool) { property(x, "id")["type"] = []any{"string", "null"} }, false},
		{"open objects", func(x []tool) { delete(x[0].InputSchema.(map[string]any), "additionalProperties") }, false},
		{"an optional id", func(x []tool) { delete(x[0].InputSchema.(map[string]any), "required") }, false},
		{"a property called title", func(x []tool) {
			x[0].InputSchema.(map[string]any)["properties"].(map[string]any)["title"] = map[string]any{"type": "string"}
		}, false},
		{"a renamed tool", func(x []tool) { x[0].Name = "workbench_make" }, false},
	} {
		tools := frozenTools(t)
		c.change(tools)
		if got := digest(t, tools) == frozenDigest; got != c.same {
			t.Errorf("%s: digest unchanged is %v, want %v", c.name, got, c.same)
		}
	}
}

// What is published for HTTP is the frozen schema, not a translation of it.
func TestOpenAPIHoldsTheFrozenSchemas(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(read(t, "openapi/workbench.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	tools := frozenTools(t)
	for i, x := range tools {
		name := "Workbench"
		for _, word := range strings.Split(strings.TrimPrefix(x.Name, "workbench_"), "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		schema, ok := doc.Components.Schemas[name+"Request"]
		if !ok {
			t.Fatalf("openapi/workbench.yaml has no schema %sRequest", name)
		}
		tools[i].InputSchema = schema
	}
	if got := digest(t, tools); got != frozenDigest {
		t.Errorf("the request schemas of openapi/workbench.yaml normalise to %s, the contract's to %s", got, frozenDigest)
	}
}

func TestFrozenFilesAreUnchanged(t *testing.T) {
	b, err := os.ReadFile("frozen.sum")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, line := range lines {
		want, name, ok := strings.Cut(line, "  ")
		if !ok {
			t.Fatalf("frozen.sum: %q is not a digest, two spaces and a path", line)
		}
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(file)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s is frozen, but it changed: its digest is %s", name, got)
		}
	}
	if !strings.Contains(string(b), "  workbench/tools.schema.json") {
		t.Error("frozen.sum does not hold workbench/tools.schema.json")
	}
}
