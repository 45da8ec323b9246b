package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/core"
)

// start gives a server in memory for a test that no scenario can tell, and the contract.
func start(t *testing.T, b breakage) (*Target, driver.Endpoint, *contract.Contract) {
	t.Helper()
	target, err := inMemory(b).Fresh(context.Background(), Start{Clock: defaultClock, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Check(context.Background()); err != nil {
			t.Error(err)
		}
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	c := library(t).Contract
	return target, driver.Endpoint{URL: target.URL, Dial: target.Dial, Stdio: target.Stdio, Contract: c}, c
}

// R-JOB-CAP-4: switched off, the lifecycle answers one refusal on every protocol.
func TestTheLifecycleSwitch(t *testing.T) {
	_, end, c := start(t, breakage{options: func(o *core.Options) { o.LifecycleDisabled = true }})
	op, _ := c.Operation("jobs.get_capabilities")
	reason, _ := c.Reason("JOB_LIFECYCLE_DISABLED")
	asked := 0
	for _, p := range driver.Protocols() {
		if !p.Carries(op) {
			continue
		}
		d, err := driver.Open(context.Background(), p, end)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		a, err := d.Call(context.Background(), op, map[string]any{})
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		asked++
		if a.Refusal == nil {
			t.Errorf("%s: answered %v", p, a.Canonical())
			continue
		}
		for _, f := range append(a.Breaches, judgeRefusal(reason, "jobs", a.Refusal, nil, nil)...) {
			t.Errorf("%s: %s", p, f)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	if asked < 7 {
		t.Errorf("asked over %d protocols", asked)
	}
}

// R-WB-FILE-11: a download that has begun goes on with the revision that it began with.
func TestADownloadIsOneRevision(t *testing.T) {
	target, end, _ := start(t, breakage{})
	transport := end.Transport(false)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	put := func(body []byte, ifMatch string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPut, target.URL+"/v1/workbenches/wb1/files/outputs/big", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if ifMatch != "" {
			req.Header.Set("If-Match", ifMatch)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode > 201 {
			text, _ := io.ReadAll(resp.Body)
			t.Fatalf("%d %s", resp.StatusCode, text)
		}
	}
	get := func() *http.Response {
		t.Helper()
		resp, err := client.Get(target.URL + "/v1/workbenches/wb1/files/outputs/big")
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	revision := func(n int) []byte { return []byte(strings.Repeat(fmt.Sprintf("revision %d\n", n), 300_000)) }
	put(revision(1), "")
	first := get()
	defer first.Body.Close()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(first.Body, head); err != nil {
		t.Fatal(err)
	}
	// The answer is longer than what the connection holds, so that the server is in the middle of it.
	put(revision(2), `"1"`)
	second := get()
	defer second.Body.Close()
	for n, part := range map[int][]byte{1: head, 2: nil} {
		resp := map[int]*http.Response{1: first, 2: second}[n]
		rest, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := append(part, rest...); !bytes.Equal(got, revision(n)) {
			t.Errorf("download %d of %d bytes is not revision %d", n, len(got), n)
		}
		if tag := resp.Header.Get("ETag"); tag != fmt.Sprintf(`"%d"`, n) {
			t.Errorf("download %d has the ETag %s", n, tag)
		}
	}
}
