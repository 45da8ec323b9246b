package operator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/operator"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

var instant = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestHealthIsOneWord(t *testing.T) {
	o := operator.New(operator.Options{Clock: clock.NewFake(instant)})
	res, err := o.GetHealth(context.Background(), &op.OperatorGetHealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(res.AppendJSON(nil)); got != `{"data":{"status":"ok"},"generated_at":"2026-01-02T03:04:05Z","ok":true}` {
		t.Error(got)
	}
}

// OP-2: a fresh start without engine state, whatever the build says of itself.
func TestRuntimeStatusOfAFreshStart(t *testing.T) {
	full := strings.Repeat("4f0c1bb2a9d1", 3) + "abcd"
	for revision, want := range map[string]string{"": "unknown", full: "4f0c1bb2a9d1", "devel": "unknown", "4f0c": "unknown", strings.ToUpper(full): "unknown"} {
		o := operator.New(operator.Options{Clock: clock.NewFake(instant), Revision: revision})
		res, err := o.GetRuntimeStatus(context.Background(), &op.OperatorGetRuntimeStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if inv := res.Validate(); inv != nil {
			t.Error(inv)
		}
		want := op.OperatorRuntimeStatus{Backend: "unknown", GitRevision: want, CheckpointRevision: "unknown", MutationMode: "read_only"}
		if res.Data != want {
			t.Errorf("%q: %+v", revision, res.Data)
		}
	}
}

func TestGeneratedAtFollowsTheClock(t *testing.T) {
	c := clock.NewFake(instant)
	o := operator.New(operator.Options{Clock: c})
	c.Advance(1500 * time.Millisecond)
	res, err := o.GetHealth(context.Background(), &op.OperatorGetHealthRequest{})
	if err != nil || res.GeneratedAt != "2026-01-02T03:04:06.5Z" {
		t.Error(res, err)
	}
}
