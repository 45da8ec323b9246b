package witness

import (
	"os"
	"testing"

	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/frozen"
)

// digests pins every frozen input schema. They are facts of the contract: a change here is a change of the contract.
var digests = map[string]string{
	"workbench_aggregate":       "71e1758d30a55717fe61ca38a6a86dccc6c189bba4eae0cb00b6223a6104f5d6",
	"workbench_append":          "4e494440492918802e5d483db64c64cff5efdf0ee3f789bca33a727aac16e605",
	"workbench_catalog":         "96899c2038034f81b4fb3f6e1a803ca767d2c4d06cb5ba4727fe1b974c214fdc",
	"workbench_commit":          "04e54fec7c17769bd029beafd3a4af6a7360aecaad6b1fc9dd2fd580d58a0ab1",
	"workbench_create":          "7717dd85c2e5ff939b47bf9369acc9c59e449e42f2f3bff74058dcd2eea9242d",
	"workbench_edit":            "bf93b3a3166e53d03b5f3756466a74aae95a620c8510d76f54258556d0441f6c",
	"workbench_find":            "3c4834da3a6d779b8614462b4c5e9627a23171756d90bcc2f86ed1079a9ee566",
	"workbench_grep":            "f208994d5185efeee3b32a360728286a40810337cc291dab531fcd3a32083db5",
	"workbench_list":            "8232639be10f734626eb459af0814f91588d70b051c12ca5fe021926c91630fe",
	"workbench_put_file":        "e008798fa17cf9ab97a9651fa8bbf15ba69f56fb28abd407c6517c794a115b85",
	"workbench_read":            "7f3da142ac142481db8333e733878bc9a73a715cc9866d9ddf83aace1964b9bf",
	"workbench_search":          "7070ae8321fc4fe37a3e8fd114d8aa3cc02770cf09997f3083b88c325e4f09ba",
	"workbench_snapshot":        "609ce2f4a85af81bd0dd3199a3d1f5788da9ca04a09f9c8aadd12db600fbf1d3",
	"workbench_snapshot_list":   "7717dd85c2e5ff939b47bf9369acc9c59e449e42f2f3bff74058dcd2eea9242d",
	"workbench_snapshot_renew":  "9c86117d478240ab4d38da6869474f7422754c1fbe8697a9a0702eb52a3c4692",
	"workbench_snapshot_retire": "1acaaa00adee7cf6744f2ec1a835e702651b9fede9d2b746bb2919eb5d2027e8",
	"workbench_stat":            "2d4fd7d91e28d7e608b37f57f2384180dde5df514f611c2ff606ba6444a1efa9",
	"workbench_restore":         "fb32ba0e8c416f607ffc18b8408b0edaa6a612790c6dd0c2920aa597c619c635",
}

const allTools = "9ae0d642cb3a90ec86ccda5b93a2339ac94dc82f54451fea3b23fd9d959fca16"

func parse(t testing.TB, text []byte) any {
	t.Helper()
	v, err := frozen.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFrozenDigests(t *testing.T) {
	text, err := os.ReadFile("../../../spec/workbench/tools.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	source := parse(t, text).(map[string]any)["tools"].([]any)
	sourceTools := make([]frozen.Tool, len(source))
	for i, s := range source {
		m := s.(map[string]any)
		sourceTools[i] = frozen.Tool{Name: m["name"].(string), Schema: m["inputSchema"]}
	}
	generated := make([]frozen.Tool, len(mcp.Workbench))
	for i, tool := range mcp.Workbench {
		generated[i] = frozen.Tool{Name: tool.Name, Schema: parse(t, tool.InputSchema)}
	}
	for where, tools := range map[string][]frozen.Tool{"spec/workbench/tools.schema.json": sourceTools, "gen/mcp": generated} {
		if len(tools) != len(digests) {
			t.Errorf("%s has %d tools, want %d", where, len(tools), len(digests))
		}
		for _, tool := range tools {
			// The list's digest is over name and schema; a tool's alone is over its schema.
			if got, want := frozen.Digest(tool.Schema), digests[tool.Name]; got != want {
				t.Errorf("%s: %s has digest %s, want %s", where, tool.Name, got, want)
			}
		}
		if got := frozen.ToolsDigest(tools); got != allTools {
			t.Errorf("%s: all tools have digest %s, want %s", where, got, allTools)
		}
	}
}

func TestDigestSeesEveryConstraint(t *testing.T) {
	base := `{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["n","title"],"additionalProperties":false}`
	want := frozen.Digest(parse(t, []byte(base)))
	same := []string{
		`{"description":"x","type":"object","properties":{"title":{"type":"string","title":"T"},"n":{"minimum":1,"type":"integer","default":3}},"required":["title","n"],"additionalProperties":false}`,
	}
	for _, s := range same {
		if got := frozen.Digest(parse(t, []byte(s))); got != want {
			t.Errorf("an annotation or an order changed the digest: %s", s)
		}
	}
	other := []string{
		`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n","title"],"additionalProperties":false}`,
		`{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","minimum":2}},"required":["n","title"],"additionalProperties":false}`,
		`{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`,
		`{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["n","title"]}`,
	}
	for _, s := range other {
		if got := frozen.Digest(parse(t, []byte(s))); got == want {
			t.Errorf("a changed constraint kept the digest: %s", s)
		}
	}
}
