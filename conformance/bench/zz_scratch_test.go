package main

import (
	"context"
	"fmt"
	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "load" {
		exit(generate(context.Background()))
	}
	os.Exit(m.Run())
}
func TestPeers(t *testing.T) {
	ctx := context.Background()
	w := "/work/main/.cache/bench"
	os.MkdirAll(w+"/bin", 0o755)
	c := exec.Command("go", "build", "-o", w+"/bin/", "./conformance/bench/peers/...")
	c.Dir = "/work/main"
	if o, err := c.CombinedOutput(); err != nil {
		t.Fatal(string(o))
	}
	st, _ := os.MkdirTemp(w, "stores-")
	defer os.RemoveAll(st)
	b := &bench{config: config{work: w, rounds: 3, duration: 2 * time.Second}, stores: st}
	defer b.stopAll()
	fmt.Println(machine(st, w+"/bin/nethttp"))
	run := func(name string, s *server, p load.Plan) {
		p.Warmup = b.duration / 4
		p.Duration = b.duration
		for range 2 {
			x, err := b.drive(ctx, s, p)
			if err != nil {
				fmt.Println(name, err)
				return
			}
			fmt.Printf("%-30s %8.0f/s p50 %v p99 %v cpu %.1fµs others %.2f\n", name, x.Rate, time.Duration(x.P50), time.Duration(x.P99), x.cpu*1e6, x.others)
		}
	}
	must := func(s *server, err error) *server {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	h := must(b.peer(ctx, "nethttp", "--data", "DATA", "--keys", fmt.Sprint(files)))
	run("get 64", h, load.Plan{Conns: 64, Status: 200, Expect: "klmnop", Requests: each(func(i int, _ string) []byte { return load.Request("GET", fmt.Sprintf("/get/%d", i), nil) })})
	set := load.Plan{Conns: 64, Status: 200, Expect: "stored", Requests: [][]byte{load.Request("POST", "/set", []byte(text1K()))}}
	run("set 64", h, set)
	set.Conns = 1
	run("set 1", h, set)
	ce := must(b.peer(ctx, "connectecho"))
	run("connect echo", ce, load.Plan{Conns: 64, Status: 200, Expect: echoed, Requests: [][]byte{load.Request("POST", "/bench.Echo/Echo", jsonBody(object{"fileName": echoed}), contentJSON, "Connect-Protocol-Version: 1")}})
	for _, p := range []string{"mcpmark3labs", "mcpsdk"} {
		s := must(b.peer(ctx, p))
		for _, rev := range []string{"2025-11-25", "2026-07-28"} {
			run(p+" "+rev, s, load.Plan{Conns: 64, Status: 200, Expect: echoed, Requests: [][]byte{toolCall(rev, "/mcp", "echo", jsonBody(object{"message": echoed}))}})
		}
	}
	l, err := barePebble(ctx, b, row{name: "pebble"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range l {
		fmt.Println(x)
	}
}
