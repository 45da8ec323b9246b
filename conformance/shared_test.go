package conformance

import (
	"context"
	"testing"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// A target that is shared, as one behind a URL is, is played in workbenches of the run's own: what somebody else keeps
// there under the very ids of the scenarios stays as it is. What it cannot do is counted.
func TestASharedTargetIsLeftAlone(t *testing.T) {
	target, end, c := start(t, breakage{})
	d, err := driver.Open(context.Background(), driver.HTTP, end)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	call := func(id, args string) any {
		t.Helper()
		op, _ := c.Operation(id)
		v, err := value.Decode([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Call(context.Background(), op, v)
		if err != nil || a.Result == nil {
			t.Fatalf("%s: %v %v", id, err, a)
		}
		return a.Result
	}
	call("workbench.put_file", `{"id":"wb1","section":"outputs","path":"mine.txt","text":"mine"}`)
	before := value.Encode(call("workbench.list", `{"id":"wb1","section":"outputs"}`))

	shared := Target{URL: target.URL, Dial: target.Dial, Stdio: target.Stdio}
	report, err := Run(context.Background(), shared, Options{
		Scenarios: []string{
			"workbench/a-put-*", "workbench/edit-*", "workbench/an-acknowledged-*", "workbench/a-cursor-*", "files/upload-*",
			"operator/**", "malformed/unknown-members", "malformed/traversal-*",
		},
		Protocols: []driver.Protocol{driver.HTTP, driver.ConnectProto, driver.MCP}, Parallel: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Outcome == Failed {
			t.Errorf("%s: %s", r.Key(), r.Failures[0])
		}
	}
	if n := report.Count(NotApplicable); n < 3 {
		t.Errorf("%d scenarios do not apply; a shared target has neither a fake clock nor power cuts", n)
	}
	if report.Count(Passed) < 20 {
		t.Errorf("%d passed", report.Count(Passed))
	}
	for _, r := range report.Results {
		if r.Mode == Parity {
			t.Errorf("%s: a shared target cannot be compared with itself", r.Key())
		}
	}
	if after := value.Encode(call("workbench.list", `{"id":"wb1","section":"outputs"}`)); string(after) != string(before) {
		t.Errorf("the workbench of somebody else changed from %s to %s", before, after)
	}
}
