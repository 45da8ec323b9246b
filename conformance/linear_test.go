package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/history"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/spec"
)

// carriers are the protocols that carry the tools: all but the WebSocket.
func carriers(t *testing.T, judged *contract.Contract) []driver.Protocol {
	t.Helper()
	commit, ok := judged.Operation("workbench.commit")
	if !ok {
		t.Fatal("no commit")
	}
	over := slices.DeleteFunc(driver.Protocols(), func(p driver.Protocol) bool { return !p.Carries(commit) })
	if len(over) != 8 {
		t.Fatalf("commit goes over %v", over)
	}
	return over
}

// historyOf plays the work of a history against a server in memory: each client has a connection of its own, and every
// call of it goes over the client's protocol.
func historyOf(t *testing.T, b breakage, w history.Work) []history.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), untilDone)
	defer cancel()
	target, err := inMemory(b).Fresh(ctx, Start{Clock: kvtest.Epoch, Seed: w.Seed + 1})
	if err != nil {
		t.Fatal(err)
	}
	judged, err := contract.Load(spec.FS)
	if err != nil {
		t.Fatal(err)
	}
	over := carriers(t, judged)
	clients := make([]driver.Driver, w.Clients)
	for i := range clients {
		over := over[i%len(over)]
		if clients[i], err = driver.Open(ctx, over, driver.Endpoint{URL: target.URL, Dial: target.Dial, Stdio: target.Stdio, Contract: judged}); err != nil {
			t.Fatalf("%s: %v", over, err)
		}
	}
	records, err := w.Run(func(client int, c history.Call) (history.Answer, error) {
		id, text := c.Arguments()
		operation, ok := judged.Operation(id)
		if !ok {
			return history.Answer{}, fmt.Errorf("no operation %s", id)
		}
		arguments, err := value.Decode(text)
		if err != nil {
			return history.Answer{}, err
		}
		got, err := clients[client].Call(ctx, operation, arguments)
		switch {
		case err != nil:
			return history.Answer{}, err
		case len(got.Breaches) > 0:
			return history.Answer{}, fmt.Errorf("%v", got.Breaches)
		case got.Fault != nil:
			return history.Answer{}, fmt.Errorf("fault %d: %s", got.Fault.Code, got.Fault.Message)
		case got.Refusal != nil:
			details, err := json.Marshal(numbers(got.Refusal.Details))
			if err != nil {
				return history.Answer{}, err
			}
			return c.Refused(got.Refusal.Code, details)
		}
		return c.Answered(value.Encode(got.Result))
	})
	for _, d := range clients {
		err = errors.Join(err, d.Close())
	}
	if err := errors.Join(err, target.Check(ctx), target.Close()); err != nil {
		t.Fatal(err)
	}
	return records
}

// numbers is details in the form that encoding/json writes.
func numbers(details map[string]any) any { return json.RawMessage(value.Encode(details)) }

// 32 clients over all protocols at once put, append, edit, commit and restore: one order of their calls explains all that
// they were told. More seeds are played when more are asked for.
func TestHistoriesOverAllProtocolsAreLinearizable(t *testing.T) {
	for seed := range uint64(kvtest.Draws(1, 100)) {
		w := history.Work{Clients: 32, Rounds: 60, Families: 16, Seed: seed, Root: memoryRoot, Seconds: kvtest.Epoch.Unix()}
		began := time.Now()
		records := historyOf(t, breakage{}, w)
		ran := time.Since(began)
		if err := w.Check(records, 2*time.Minute); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		outcomes := history.Outcomes(records)
		t.Logf("seed %d: %d calls in %v, checked in %v: %v", seed, len(records), ran, time.Since(began)-ran, outcomes)
		for _, outcome := range []string{"put ok", "append ok", "edit ok", "commit ok", "commit WorkbenchCommitConflict", "restore ok", "restore Conflict"} {
			if outcomes[outcome] == 0 {
				t.Errorf("seed %d: no call ended as %s", seed, outcome)
			}
		}
	}
}

// forgetsAppends acknowledges appends that it does not keep, now and then.
type forgetsAppends struct {
	op.Workbench
	calls atomic.Int64
}

func (f *forgetsAppends) Append(ctx context.Context, req *op.WorkbenchAppendRequest) (*op.WorkbenchAppendResult, error) {
	if f.calls.Add(1)%9 != 0 {
		return f.Workbench.Append(ctx, req)
	}
	nothing := *req
	empty := ""
	nothing.Text = &empty
	res, err := f.Workbench.Append(ctx, &nothing)
	if err == nil {
		res.SizeBytes += int64(len(*req.Text))
		res.AppendedBytes = int64(len(*req.Text))
	}
	return res, err
}

// A server that loses an append is found out over the protocols too.
func TestALostAppendIsFoundOut(t *testing.T) {
	w := history.Work{Clients: 10, Rounds: 40, Families: 4, Root: memoryRoot, Seconds: kvtest.Epoch.Unix()}
	records := historyOf(t, breakage{api: func(api *op.API) { api.Workbench = &forgetsAppends{Workbench: api.Workbench} }}, w)
	if err := w.Check(records, time.Minute); err == nil || err.Error()[:len("no order")] != "no order" {
		t.Errorf("found: %v", err)
	}
}
