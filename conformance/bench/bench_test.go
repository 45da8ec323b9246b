package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
	"github.com/sawhorse-dev/sawhorse/conformance/bench/peers"
)

// TestMain lets the test binary stand for the programs that a run starts: the load generator, a server that answers, and one that cannot start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "load":
			exit(generate(context.Background()))
		case "echo":
			exit(peers.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(w, r.Body)
			})))
		case "broken":
			fmt.Fprintln(os.Stderr, "the port is taken")
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

func testBench(t *testing.T) *bench {
	b := &bench{config: config{rounds: 2, duration: 100 * time.Millisecond}, stores: t.TempDir()}
	t.Cleanup(b.stopAll)
	return b
}

func TestADuelMeasuresBothSidesAndTheirServers(t *testing.T) {
	b := testBench(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var sides []side
	for _, name := range []string{"first", "second", "third"} {
		s, err := b.start(t.Context(), self, "echo", "DATA")
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, side{name, s, load.Plan{Conns: 2, Status: 200, Expect: "hello", Requests: [][]byte{load.Request("POST", "/", []byte("hello"))}}})
	}
	lines, err := b.duel(t.Context(), row{name: "echo", target: 0.001}, sides...)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || lines[0].peer.name != "second" || lines[1].peer.name != "third" {
		t.Fatalf("lines %v", lines)
	}
	l := lines[0]
	if l.ours.rate <= 0 || l.peer.rate <= 0 || l.ratio <= 0 || l.ours.p50 <= 0 || l.ours.p99 < l.ours.p50 {
		t.Errorf("figures %+v", l)
	}
	if l.verdict() != "PASS" || lines[1].verdict() != "" {
		t.Errorf("verdicts %q and %q", l.verdict(), lines[1].verdict())
	}
	if mib, err := peakMiB(sides[0].server.cmd.Process.Pid); err != nil || mib <= 1 {
		t.Errorf("peak memory %v MiB, %v", mib, err)
	}
}

func TestAServerThatDoesNotStartIsNamed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testBench(t).start(t.Context(), self, "broken"); err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("start: %v", err)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		l    line
		want string
	}{
		{line{row: row{target: 0.5}, ratio: 0.5}, "PASS"},
		{line{row: row{target: 0.5}, ratio: 0.49}, miss},
		{line{row: row{target: 3, less: true}, ratio: 3}, "PASS"},
		{line{row: row{target: 3, less: true}, ratio: 3.1}, miss},
		{line{row: row{target: 0.5}, ratio: 0.1, informs: true}, ""},
		{line{ratio: 0.1}, ""},
	} {
		if got := c.l.verdict(); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.l.ratio, c.l.row.target, got, c.want)
		}
	}
}

func TestCallsAreOfTheirRevision(t *testing.T) {
	old := string(toolCall("2025-11-25", "/mcp", "echo", []byte(`{}`)))
	if strings.Contains(old, "Mcp-Method") || strings.Contains(old, "_meta") || !strings.Contains(old, "MCP-Protocol-Version: 2025-11-25\r\n") {
		t.Errorf("2025-11-25: %s", old)
	}
	now := string(toolCall("2026-07-28", "/mcp", "echo", []byte(`{}`)))
	for _, want := range []string{"Mcp-Method: tools/call\r\n", "Mcp-Name: echo\r\n", `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`} {
		if !strings.Contains(now, want) {
			t.Errorf("2026-07-28 lacks %q: %s", want, now)
		}
	}
}

func TestReadsSpreadOverAllDirectories(t *testing.T) {
	directories := map[string]bool{}
	for _, r := range each(func(_ int, path string) []byte { return []byte(path) }) {
		directories[strings.Split(string(r), "/")[0]] = true
	}
	if len(directories) != files/1000 {
		t.Errorf("%d directories of %d", len(directories), files/1000)
	}
}
