package contract_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
	"github.com/sawhorse-dev/sawhorse/spec"
)

var load = sync.OnceValues(func() (*contract.Contract, error) { return contract.Load(spec.FS) })

func operation(t *testing.T, id string) *contract.Operation {
	t.Helper()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	op, ok := c.Operation(id)
	if !ok {
		t.Fatalf("no operation %s", id)
	}
	return op
}

func decode(t *testing.T, s string) any {
	t.Helper()
	v, err := value.Decode([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// C1.
func TestArgumentsAreCheckedAgainstTheFrozenSchema(t *testing.T) {
	for _, c := range []struct{ op, args, want string }{
		{"workbench.create", `{"id":"a"}`, ""},
		{"workbench.create", `{}`, "id"},
		{"workbench.create", `{"id":"a","more":1}`, "more"},
		{"workbench.create", `{"id":null}`, "id"},
		{"workbench.list", `{"id":"a","limit":100,"section":null}`, ""},
		{"workbench.list", `{"id":"a","limit":101}`, "limit"},
		{"workbench.list", `{"id":"a","limit":1.0}`, "$.limit is 1.0"},
		{"workbench.list", `{"id":"a","limit":1e1}`, "$.limit is 1e1"},
		{"workbench.list", `{"id":"a","at_snapshot":3}`, ""},
		{"workbench.list", `{"id":"a","at_snapshot":"name"}`, ""},
		{"workbench.list", `{"id":"a","at_snapshot":true}`, "at_snapshot"},
		{"workbench.put_file", `{"id":"a","section":"out","path":"p","text":""}`, "section"},
		{"operator.get_health", `{}`, ""},
		{"operator.get_health", `{"x":1}`, "no arguments"},
	} {
		err := operation(t, c.op).Check(decode(t, c.args))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.op, c.args, err, c.want)
		}
	}
}

// C2, where a member is an object or null: the null comes back, and those inside the object do.
func TestSettleRestoresNullsOfObjects(t *testing.T) {
	const rest = `"name":null,"path":"/w/a","retire_annotation":%s,"retired":true,"snapshot_id":1,"state":"retired","status":"success","workbench_id":"a"}`
	retire := operation(t, "workbench.snapshot_retire")
	for given, want := range map[string]string{
		`{"retired":true,"path":"/w/a","snapshot_id":1,"state":"retired","status":"success","workbench_id":"a"}`:                                    `null`,
		`{"retired":true,"path":"/w/a","retire_annotation":{},"snapshot_id":1,"state":"retired","status":"success","workbench_id":"a"}`:             `{"metadata":null,"reason":null}`,
		`{"retired":true,"path":"/w/a","retire_annotation":{"reason":"r"},"snapshot_id":1,"state":"retired","status":"success","workbench_id":"a"}`: `{"metadata":null,"reason":"r"}`,
	} {
		got := retire.Settle(decode(t, given))
		if text := string(value.Encode(got)); text != "{"+fmt.Sprintf(rest, want) {
			t.Errorf("settled to %s", text)
		}
		if err := retire.CheckResult(got); err != nil {
			t.Error(err)
		}
	}
}

// C2.
func TestSettleRestoresNulls(t *testing.T) {
	const listed = `{"status":"success","workbench_id":"a","workbench_path":"/w/a","path":"/w/a","entry_count":1,"truncated":false,
		"entries":[{"name":"input","path":"/w/a/input","section":"input","kind":"directory"}]}`
	const whole = `{"entries":[{"entry_count":null,"kind":"directory","name":"input","path":"/w/a/input","relative_path":null,"section":"input","size_bytes":null}],` +
		`"entry_count":1,"next_cursor":null,"path":"/w/a","relative_path":null,"section":null,"status":"success","truncated":false,"workbench_id":"a","workbench_path":"/w/a"}`
	list := operation(t, "workbench.list")
	for _, in := range []string{listed, whole} {
		got := list.Settle(decode(t, in))
		if text := string(value.Encode(got)); text != whole {
			t.Errorf("settled to %s", text)
		}
		if err := list.CheckResult(got); err != nil {
			t.Error(err)
		}
	}
	const untouched = `{"generation":3,"not_modified":true,"path":"/w/a/outputs/x","relative_path":"x","section":"outputs","status":"success","workbench_id":"a","workbench_path":"/w/a"}`
	read := operation(t, "workbench.read")
	got := read.Settle(decode(t, untouched))
	if text := string(value.Encode(got)); text != untouched {
		t.Errorf("a not_modified answer became %s", text)
	}
	withList := strings.Replace(untouched, `"generation":3,`, `"generation":3,"items":[],`, 1)
	if text := string(value.Encode(read.Settle(decode(t, withList)))); text != untouched {
		t.Errorf("a not_modified answer with an empty list became %s", text)
	}
	if err := read.CheckResult(got); err != nil {
		t.Error(err)
	}
}

// C3.
func TestAnswersOverHTTPFollowTheDocument(t *testing.T) {
	const created = `{"status":"success","workbench_id":"a","path":"/w/a","sections":["input","scripts","outputs","logs","metadata"]}`
	const refused = `{"status":"error","code":"InvalidArguments","message":"m","retryable":false,"details":{}}`
	create := operation(t, "workbench.create")
	for _, c := range []struct {
		status      int
		media, body string
		want        string
	}{
		{200, "application/json", created, ""},
		{200, "application/json; charset=utf-8", created, ""},
		{200, "text/plain", created, "does not list"},
		{200, "", created, "content type"},
		{200, "application/json", refused, "status"},
		{200, "application/json", created + "x", "answer 200"},
		{400, "application/json", refused, ""},
		{400, "application/json", `{"status":"error","code":"c","message":"m","retryable":false}`, "details"},
		{418, "application/json", refused, "lists no answer 418"},
	} {
		err := create.CheckHTTP(c.status, c.media, []byte(c.body))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %q %s: %v, want %q", c.status, c.media, c.body, err, c.want)
		}
	}
	if err := operation(t, "workbench.get_file").CheckHTTP(304, "", nil); err != nil {
		t.Error(err)
	}
	if err := operation(t, "workbench.get_file").CheckHTTP(304, "", []byte("x")); err == nil {
		t.Error("a 304 with a body was accepted")
	}
}

func TestDetailsAreThoseOfTheRegistry(t *testing.T) {
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct{ reason, details, want string }{
		{"WB_NOT_FOUND", `{"path":"a"}`, ""},
		{"WB_NOT_FOUND", `{}`, "details.path is missing"},
		{"WB_NOT_FOUND", `{"path":null}`, "details.path is missing"},
		{"WB_NOT_FOUND", `{"path":1}`, "want string"},
		{"WB_NOT_FOUND", `{"path":"a","inode":4}`, "details.inode is not registered"},
		{"WB_GENERATION_CONFLICT", `{"path":"a"}`, ""},
		{"WB_GENERATION_CONFLICT", `{"path":"a","current_generation":1.5}`, "want integer"},
	} {
		r, ok := c.Reason(k.reason)
		if !ok {
			t.Fatalf("no reason %s", k.reason)
		}
		err := r.CheckDetails(decode(t, k.details).(map[string]any))
		if (err == nil) != (k.want == "") || err != nil && !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s %s: %v, want %q", k.reason, k.details, err, k.want)
		}
	}
}

func TestFramesFollowTheAsyncAPIDocument(t *testing.T) {
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for frame, good := range map[string]bool{
		`{"type":"pong","ts":1.5}`:                       true,
		`{"error":"Unknown command"}`:                    true,
		`{"message":"m","mode":"text"}`:                  true,
		`{"type":"rpc_response","request_id":"1"}`:       false,
		`{"command":"get_capabilities","request_id":""}`: false,
		`[]`: false,
		`{"type":"rpc_response","request_id":"1","command":"x","error":{"code":"C","message":"m","retryable":false}}`: true,
	} {
		if err := c.CheckFrame(decode(t, frame)); (err == nil) != good {
			t.Errorf("%s: %v", frame, err)
		}
	}
}
