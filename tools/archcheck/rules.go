package main

// module is the module's path; the rules speak of packages below it by their folder.
const module = "github.com/sawhorse-dev/sawhorse"

// rule says what the packages that match from may not import. Patterns are folders of this module ("core/kv"), import paths, a trailing
// "/..." for the thing itself and all below it, or one of the words "std" (the standard library), "own" (this module) and "any".
type rule struct {
	from   string
	to     string
	reason string

	but   []string // of from: packages to which the rule does not apply
	allow []string // of to: what may be imported all the same
	tests bool     // the rule holds in _test.go files too
}

const pebble = "github.com/cockroachdb/pebble/..."

// table is the whole of who may import whom. A row whose from, but or allow matches nothing fails: a rule about nothing protects nothing.
var table = []rule{
	{from: "spec", to: "any", allow: []string{"embed"}, reason: "spec is data"},
	{from: "gen/op/...", to: "any", allow: []string{"std"}, reason: "the neutral heart depends on nothing but the standard library"},
	{from: "gen/pb/...", to: "own", allow: []string{"gen/pb/..."}, reason: "protocol packages of gen never import each other"},
	{from: "gen/http/...", to: "own", reason: "protocol packages of gen never import each other"},
	{from: "gen/ws/...", to: "own", allow: []string{"gen/op"}, reason: "protocol packages of gen never import each other"},
	{from: "gen/mcp/...", to: "own", allow: []string{"gen/op"}, reason: "protocol packages of gen never import each other"},
	{from: "gen/bind/http/...", to: "own", allow: []string{"gen/op", "gen/http/..."}, reason: "a binding joins one protocol to the neutral heart"},
	{from: "gen/bind/connect/...", to: "own", allow: []string{"gen/op", "gen/pb/..."}, reason: "a binding joins one protocol to the neutral heart"},
	{from: "gen/...", to: "net/http/httputil", reason: "generated code serves wires, it does not translate them"},

	{from: "core/keys", to: "own", tests: true, reason: "the key table is a leaf"},
	{from: "core/canon", to: "own", tests: true, reason: "canonical JSON is a leaf"},
	{from: "core/clock", to: "own", tests: true, reason: "the clock is a leaf"},
	{from: "core/record", to: "gen/...", tests: true, reason: "bytes at rest do not change when the wire does"},
	{from: "any", to: pebble, but: []string{"core/kv/...", "conformance/bench/..."}, tests: true, reason: "one package knows the engine; the benchmark compares with it"},
	{from: "core/...", to: "net/http/...", tests: true, reason: "meaning knows no protocol"},
	{from: "core/...", to: "connectrpc.com/...", tests: true, reason: "meaning knows no protocol"},
	{from: "core/...", to: "google.golang.org/...", tests: true, reason: "meaning knows no protocol"},
	{from: "core/...", to: "github.com/modelcontextprotocol/...", tests: true, reason: "meaning knows no protocol"},
	{from: "core/...", to: "gen/...", allow: []string{"gen/op"}, tests: true, reason: "meaning knows the neutral types only"},
	{from: "core/...", to: "server/...", tests: true, reason: "core stands below the adapters"},
	{from: "core/...", to: "cmd/...", tests: true, reason: "core stands below the commands"},
	{from: "core/workbench/...", to: "core/jobs/...", reason: "one area never imports another; declare a small interface"},
	{from: "core/workbench/...", to: "core/operator/...", reason: "one area never imports another; declare a small interface"},
	{from: "core/jobs/...", to: "core/workbench/...", reason: "one area never imports another; declare a small interface"},
	{from: "core/jobs/...", to: "core/operator/...", reason: "one area never imports another; declare a small interface"},
	{from: "core/operator/...", to: "core/workbench/...", reason: "one area never imports another; declare a small interface"},
	{from: "core/operator/...", to: "core/jobs/...", reason: "one area never imports another; declare a small interface"},
	{from: "core/operator/...", to: "core/kv/...", reason: "the operator reads through a read-only view, never through the store"},

	{from: "server/...", to: "core/keys", reason: "adapters know no keys"},
	{from: "server/...", to: "core/kv/...", reason: "adapters know no store"},
	{from: "server/...", to: "core/record", reason: "adapters know no bytes at rest"},
	{from: "server/...", to: "core/blob", reason: "adapters know no bytes at rest"},
	{from: "server/...", to: "core/workbench/...", reason: "adapters call an area through the generated interface"},
	{from: "server/...", to: "core/jobs/...", reason: "adapters call an area through the generated interface"},
	{from: "server/...", to: "core/operator/...", reason: "adapters call an area through the generated interface"},
	{from: "any", to: "core", but: []string{"cmd/boot"}, reason: "one place wires core, server and adapters"},
	{from: "any", to: "cmd/...", but: []string{"cmd/..."}, reason: "commands are the end of the chain"},

	{from: "conformance/...", to: "core/...", but: []string{"conformance/suites/...", "conformance/bench/..."}, reason: "a judge shares no code with the judged"},
	{from: "conformance/...", to: "server/...", but: []string{"conformance/suites/...", "conformance/bench/..."}, reason: "a judge shares no code with the judged"},
	{from: "any", to: "conformance/...", but: []string{"cmd/sawhorse", "conformance/..."}, reason: "the suite is imported by the command that runs it"},

	{from: "tools/gwgen/...", to: "own", but: []string{"tools/gwgen/internal/emit/runtime/..."}, allow: []string{"tools/gwgen/..."}, reason: "the generator builds before anything that it generates; its runtime folder is text that it copies"},
	{from: "any", to: "tools/...", but: []string{"tools/..."}, tests: true, reason: "tools are programs, not libraries"},
}
