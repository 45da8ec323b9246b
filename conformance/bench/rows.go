package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// row is one measurement: what is compared, and the marks that it must reach.
type row struct {
	name    string
	what    string
	target  float64 // 0: none, the row informs
	stretch float64
	less    bool // the ratio must stay below the target instead of above
	named   bool // it takes long: it runs when it is asked for by name
	measure func(context.Context, *bench, row) ([]line, error)
}

// files is how many files of 1 KiB the read rows have before them, 1,000 in a directory; the peer holds as many values.
const files = 50_000

var rows = []row{
	{name: "stat-http", what: "workbench_stat over HTTP/JSON : bare net/http + Pebble get of 1 KiB", target: 0.65, measure: statHTTP},
	{name: "stat-connect", what: "workbench_stat over Connect JSON : bare Connect echo", target: 0.75, measure: statConnect},
	{name: "stat-mcp-2025-11-25", what: "workbench_stat over MCP HTTP 2025-11-25 : mark3labs echo", target: 1.0, stretch: 1.3, measure: statMCP("2025-11-25")},
	{name: "stat-mcp-2026-07-28", what: "workbench_stat over MCP HTTP 2026-07-28 : mark3labs echo", target: 1.0, stretch: 1.3, measure: statMCP("2026-07-28")},
	{name: "put-64", what: "durable put_file of 1 KiB over HTTP, 64 clients : bare net/http + Pebble synced set", target: 0.40, stretch: 0.50, measure: putFile(64)},
	{name: "put-1", what: "durable put_file of 1 KiB over HTTP, one client : bare net/http + Pebble synced set", target: 0.70, stretch: 0.80, measure: putFile(1)},
	{name: "list", what: "time of one page of a large directory : of a directory of 1,000 files", target: 3, less: true, measure: listPage},
	{name: "frozen-list", what: "time of a page of 1,000 files at a snapshot, newer files in the directory : without", target: 3, less: true, measure: frozenList},
	{name: "body", what: "VmHWM while one body streams in and out, in MiB", target: 256, less: true, measure: bodyMemory},
	{name: "append", what: "time of an append of 1 KiB to a large file : to an empty one", target: 2, less: true, measure: appendLarge},
	{name: "grep", what: "speed of workbench_grep over HTTP in one large file, texts that are not there : GNU grep -F -i on a file", target: 0.5, measure: grepLarge},
	{name: "search", what: "time of a search by equality that finds ten files among many : among 1,000", target: 3, less: true, measure: searchEqual},
	{name: "restore", what: "members a second that a restore of 100,000 brings back while 16 clients put, in thousands", target: 10, measure: restoreBeside},
	{name: "million", what: "what has to cost the same with a million files", measure: million},
	{name: "retention", what: "what a million replaces leave behind", named: true, measure: retention},
	{name: "pebble", what: "bare Pebble", measure: barePebble},
}

func rowNames() []string {
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

// side is one contestant of a duel.
type side struct {
	name   string
	server *server
	plan   load.Plan
}

// duel drives the sides in turn, round after round, so that whatever else the machine does hits all of them, and returns a line for the
// first side against the second and one against each further side, which only informs. Rounds in which other processes used the cores are
// run again, up to twice as many rounds in all; the quietest are kept.
func (b *bench) duel(ctx context.Context, r row, sides ...side) ([]line, error) {
	var played [][]sample
	quiet := 0
	for len(played) < 2*b.rounds && quiet < b.rounds {
		round := make([]sample, len(sides))
		noisy := false
		for i := range sides {
			p := sides[i].plan
			p.Warmup, p.Duration = b.duration/4, b.duration
			s, err := b.drive(ctx, sides[i].server, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].name, err)
			}
			sides[i].plan.Next = s.Next
			round[i] = s
			noisy = noisy || s.others > 0.25
		}
		if !noisy {
			quiet++
		}
		played = append(played, round)
	}
	noise := func(round []sample) float64 {
		var most float64
		for _, s := range round {
			most = max(most, s.others)
		}
		return most
	}
	slices.SortFunc(played, func(x, y []sample) int {
		if noise(x) < noise(y) {
			return -1
		}
		return 1
	})
	played = played[:b.rounds]
	var out []line
	for i := 1; i < len(sides); i++ {
		l := line{row: r, ours: summary(sides[0].name, played, 0), peer: summary(sides[i].name, played, i), noise: noise(played[len(played)-1])}
		l.ratio = median(played, func(round []sample) float64 { return round[0].Rate / round[i].Rate })
		l.cpuRatio = median(played, func(round []sample) float64 { return round[i].cpu / round[0].cpu })
		l.informs = i > 1
		out = append(out, l)
	}
	return out, nil
}

func median(played [][]sample, f func([]sample) float64) float64 {
	var all []float64
	for _, round := range played {
		all = append(all, f(round))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// jsonBody is the value's JSON; the values here always have one.
func jsonBody(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

const contentJSON = "Content-Type: application/json"

type object = map[string]any

// text1K is a body of 1 KiB without the mark of a hole.
func text1K() string { return strings.Repeat("0123456789abcdef", 64) }

// put is a plan that creates files of the given text one after another, 1,000 in a directory whose name begins with dir.
func put(conns int, dir, text string) (load.Plan, error) {
	t := load.Request("POST", "/v1/workbench/put_file", jsonBody(object{
		"id": "bench", "section": "outputs", "path": dir + "######/f###.txt", "text": text,
	}), contentJSON)
	holes, err := load.Punch(t, []int64{1000, 1}, []int64{1_000_000, 1000})
	return load.Plan{Conns: conns, Template: t, Holes: holes, Status: 200, Expect: "sha256:"}, err
}

// filled starts the product and stores the files that the read rows look at.
func (b *bench) filled(ctx context.Context) (*server, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	p, err := put(64, "d", text1K())
	if err != nil {
		return nil, err
	}
	return s, b.fill(ctx, s, p, files)
}

// fill sends the first n numbers of p.
func (b *bench) fill(ctx context.Context, s *server, p load.Plan, n int64) error {
	p.Limit, p.Duration = n, 20*time.Minute
	r, err := b.drive(ctx, s, p)
	if err != nil {
		return fmt.Errorf("storing %d files: %w", n, err)
	}
	if r.Count != n {
		return fmt.Errorf("stored %d files of %d", r.Count, n)
	}
	return nil
}

// each renders a request for a spread of the files.
func each(render func(i int, path string) []byte) [][]byte {
	var out [][]byte
	for i := 0; i < files; i += 3 {
		n := i * 7919 % files // a prime, so that neighbours in time are not neighbours on disk
		out = append(out, render(n, fmt.Sprintf("d%06d/f%03d.txt", n/1000, n%1000)))
	}
	return out
}

func statHTTP(ctx context.Context, b *bench, r row) ([]line, error) {
	ours, err := b.filled(ctx)
	if err != nil {
		return nil, err
	}
	peer, err := b.peer(ctx, "nethttp", "--data", "DATA", "--keys", fmt.Sprint(files))
	if err != nil {
		return nil, err
	}
	return b.duel(ctx, r,
		side{"stat HTTP", ours, load.Plan{Conns: 64, Status: 200, Expect: "sha256:", Requests: each(func(_ int, path string) []byte {
			return load.Request("POST", "/v1/workbench/stat", statArguments(path), contentJSON)
		})}},
		side{"net/http get", peer, load.Plan{Conns: 64, Status: 200, Expect: "klmnop", Requests: each(func(i int, _ string) []byte {
			return load.Request("GET", fmt.Sprintf("/get/%d", i), nil)
		})}})
}

func statArguments(path string) []byte {
	return jsonBody(object{"id": "bench", "section": "outputs", "path": path})
}

// echoed is the message of the echo peers: 64 bytes, about as long as the arguments of a stat.
const echoed = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func statConnect(ctx context.Context, b *bench, r row) ([]line, error) {
	ours, err := b.filled(ctx)
	if err != nil {
		return nil, err
	}
	peer, err := b.peer(ctx, "connectecho")
	if err != nil {
		return nil, err
	}
	const version = "Connect-Protocol-Version: 1"
	return b.duel(ctx, r,
		side{"stat Connect", ours, load.Plan{Conns: 64, Status: 200, Expect: "sha256:", Requests: each(func(_ int, path string) []byte {
			return load.Request("POST", "/sawhorse.workbench.v1.WorkbenchService/Stat", statArguments(path), contentJSON, version)
		})}},
		side{"Connect echo", peer, load.Plan{Conns: 64, Status: 200, Expect: echoed, Requests: [][]byte{
			load.Request("POST", "/bench.Echo/Echo", jsonBody(object{"fileName": echoed}), contentJSON, version),
		}}})
}

// toolCall is a tools/call of one wire revision.
func toolCall(revision, path, tool string, arguments []byte) []byte {
	params := object{"name": tool, "arguments": json.RawMessage(arguments)}
	header := []string{contentJSON, "Accept: application/json, text/event-stream", "MCP-Protocol-Version: " + revision}
	if revision >= "2026-07-28" {
		header = append(header, "Mcp-Method: tools/call", "Mcp-Name: "+tool)
		params["_meta"] = object{
			"io.modelcontextprotocol/protocolVersion":    revision,
			"io.modelcontextprotocol/clientInfo":         object{"name": "bench", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": object{},
		}
	}
	return load.Request("POST", path, jsonBody(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}), header...)
}

func statMCP(revision string) func(context.Context, *bench, row) ([]line, error) {
	return func(ctx context.Context, b *bench, r row) ([]line, error) {
		ours, err := b.filled(ctx)
		if err != nil {
			return nil, err
		}
		mark, err := b.peer(ctx, "mcpmark3labs")
		if err != nil {
			return nil, err
		}
		sdk, err := b.peer(ctx, "mcpsdk")
		if err != nil {
			return nil, err
		}
		echo := func(revision string) load.Plan {
			return load.Plan{Conns: 64, Status: 200, Expect: echoed, Requests: [][]byte{toolCall(revision, "/mcp", "echo", jsonBody(object{"message": echoed}))}}
		}
		return b.duel(ctx, r,
			side{"stat MCP", ours, load.Plan{Conns: 64, Status: 200, Expect: "sha256:", Requests: each(func(_ int, path string) []byte {
				return toolCall(revision, "/mcp/workbench", "workbench_stat", statArguments(path))
			})}},
			side{"mark3labs", mark, echo(revision)},
			side{"mark3labs 2025-11-25", mark, echo("2025-11-25")},
			side{"official SDK", sdk, echo(revision)})
	}
}

func putFile(conns int) func(context.Context, *bench, row) ([]line, error) {
	return func(ctx context.Context, b *bench, r row) ([]line, error) {
		ours, err := b.product(ctx)
		if err != nil {
			return nil, err
		}
		peer, err := b.peer(ctx, "nethttp", "--data", "DATA")
		if err != nil {
			return nil, err
		}
		plan, err := put(conns, "p", text1K())
		if err != nil {
			return nil, err
		}
		return b.duel(ctx, r,
			side{"put_file", ours, plan},
			side{"net/http set", peer, load.Plan{Conns: conns, Status: 200, Expect: "stored", Requests: [][]byte{
				load.Request("POST", "/set", []byte(text1K())),
			}}})
	}
}

// barePebble prints the engine's own figures, for scale.
func barePebble(ctx context.Context, b *bench, r row) ([]line, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.work, "bin", "pebble"), "--data", filepath.Join(b.stores, "pebble"), "--duration", b.duration.String())
	raw, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var figures []struct {
		Name     string
		Rate     float64
		P50, P99 int64
	}
	if err := json.Unmarshal(raw, &figures); err != nil {
		return nil, err
	}
	var out []line
	for _, f := range figures {
		out = append(out, line{row: r, informs: true, ours: figure{name: f.Name, rate: f.Rate, p50: time.Duration(f.P50), p99: time.Duration(f.P99)}})
	}
	return out, nil
}
