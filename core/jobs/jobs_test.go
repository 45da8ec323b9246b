package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/jobs"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func ask(j *jobs.Jobs) (*op.JobsGetCapabilitiesResult, error) {
	return j.GetCapabilities(context.Background(), &op.JobsGetCapabilitiesRequest{})
}

// JOB-1
func TestCapabilitiesPromiseNothingThatIsNotThere(t *testing.T) {
	c := clock.NewFake(time.Date(2026, 8, 22, 12, 0, 0, 0, time.UTC))
	j := jobs.New(jobs.Options{Clock: c, Version: "1.2.3"})
	res, err := ask(j)
	if err != nil {
		t.Fatal(err)
	}
	if inv := res.Validate(); inv != nil {
		t.Error(inv)
	}
	want := `{"asset_uri_schemes":["asset"],"auth_modes":["trusted_local"],"default_encoding":"messagepack",` +
		`"limits":{"max_inline_bytes":0,"max_job_event_replay":0,"max_queued_jobs":0,"max_rpc_batch":100,"max_upload_bytes":0,"request_timeout_seconds":30},` +
		`"nodetool_version":"1.2.3","profiles":{"discovery":"unavailable","execution":"unavailable","jobs":"unavailable","model_catalog":"unavailable",` +
		`"model_download":"unavailable","preflight":"unavailable","temporary_asset_upload":"unavailable"},"protocol_version":"1","python_bridge":"disabled",` +
		`"registry_revision":0,"server_time":"2026-08-22T12:00:00.000Z","supported_encodings":["messagepack","json-text"]}`
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.Advance(1234 * time.Millisecond)
	if res, err := ask(j); err != nil || res.ServerTime != "2026-08-22T12:00:01.234Z" {
		t.Errorf("cached, or of another form: %v, %v", res, err)
	}
}

func TestAVersionIsNeverEmpty(t *testing.T) {
	res, err := ask(jobs.New(jobs.Options{Clock: clock.System()}))
	if err != nil || res.NodetoolVersion == "" {
		t.Error(res, err)
	}
}

// JOB-2
func TestSwitchedOffEverythingIsRefused(t *testing.T) {
	res, err := ask(jobs.New(jobs.Options{Clock: clock.System(), Version: "1", Disabled: true}))
	if res != nil || !fault.Is(err, op.ReasonJobLifecycleDisabled) {
		t.Fatal(res, err)
	}
	if face := op.ReasonJobLifecycleDisabled.Face(); face.HTTPStatus != 503 || face.Retryable {
		t.Errorf("%+v", face)
	}
}
