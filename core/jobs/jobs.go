package jobs

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Options say what Jobs reports.
type Options struct {
	Clock clock.Clock
	// Version is the program's version, not empty.
	Version string
	// Disabled switches the lifecycle off. The switch is read where the process
	// starts and does not change while it runs.
	Disabled bool
}

// Jobs implements op.Jobs. It is safe for concurrent use.
type Jobs struct{ o Options }

var _ op.Jobs = (*Jobs)(nil)

// New returns Jobs.
func New(o Options) *Jobs {
	if o.Version == "" {
		o.Version = "devel"
	}
	return &Jobs{o}
}

// Words for the state of a part.
const unavailable = "unavailable"

// maxBatch bounds a batch request. None is served, and the contract wants a
// number above zero all the same.
const maxBatch = 100

// timeForm is RFC 3339 in UTC with milliseconds, as lifecycle clients expect it.
const timeForm = "2006-01-02T15:04:05.000Z"

// GetCapabilities says what this server offers. It needs no principal.
func (j *Jobs) GetCapabilities(context.Context, *op.JobsGetCapabilitiesRequest) (*op.JobsGetCapabilitiesResult, error) {
	if j.o.Disabled {
		return nil, fault.New(op.ReasonJobLifecycleDisabled, "")
	}
	return &op.JobsGetCapabilitiesResult{
		ProtocolVersion:    "1",
		NodetoolVersion:    j.o.Version,
		ServerTime:         j.o.Clock.Now().UTC().Format(timeForm),
		SupportedEncodings: []string{"messagepack", "json-text"},
		DefaultEncoding:    "messagepack",
		Profiles: op.JobsProfiles{
			Discovery: unavailable, Execution: unavailable, Preflight: unavailable, Jobs: unavailable,
			ModelCatalog: unavailable, ModelDownload: unavailable, TemporaryAssetUpload: unavailable,
		},
		PythonBridge:    "disabled",
		AuthModes:       []string{"trusted_local"},
		AssetURISchemes: []string{"asset"},
		Limits:          op.JobsLimits{MaxRpcBatch: maxBatch, RequestTimeoutSeconds: float64(op.LimitRequestTimeoutSeconds)},
	}, nil
}
