package call

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Scope is the instrumentation scope of our traces and metrics.
const Scope = "github.com/sawhorse-dev/sawhorse"

// outcomeOK is the outcome of a call that succeeded. Any other outcome is the name of a reason.
const outcomeOK = "ok"

// durationBounds are the upper bounds of the duration histogram, in seconds: from a cached read to the default deadline.
var durationBounds = []float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// metrics holds what the pipeline measures. Attribute sets of successes are made at the start, those of refusals when
// they first occur; both are bounded by the catalogue and the registry.
type metrics struct {
	duration metric.Float64Histogram
	ok       [][protocolCount][]metric.RecordOption // by operation index
	refused  sync.Map                               // refusalKey -> []metric.RecordOption
	inFlight atomic.Int64
}

type refusalKey struct {
	index    int
	protocol Protocol
	reason   op.Reason
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	meter := provider.Meter(Scope)
	m := &metrics{}
	var err error
	m.duration, err = meter.Float64Histogram("sawhorse.operation.duration",
		metric.WithDescription("How long operations took, by operation, protocol and outcome."),
		metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(durationBounds...))
	if err != nil {
		return nil, err
	}
	_, err = meter.Int64ObservableGauge("sawhorse.operation.in_flight",
		metric.WithDescription("Operations that have begun and not ended."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(m.inFlight.Load())
			return nil
		}))
	if err != nil {
		return nil, err
	}
	m.ok = make([][protocolCount][]metric.RecordOption, len(op.Descriptors))
	for i, d := range op.Descriptors {
		for p := range protocolCount {
			m.ok[i][p] = recordOptions(d.ID, p, outcomeOK)
		}
	}
	return m, nil
}

func recordOptions(operation string, p Protocol, outcome string) []metric.RecordOption {
	set := attribute.NewSet(
		attribute.String("operation", operation),
		attribute.String("protocol", p.String()),
		attribute.String("outcome", outcome))
	return []metric.RecordOption{metric.WithAttributeSet(set)}
}

// record counts one call (invariant 1). reason is empty for a success.
func (m *metrics) record(ctx context.Context, d *op.Descriptor, p Protocol, reason op.Reason, took time.Duration) {
	options := m.ok[d.Index][p]
	if reason != "" {
		key := refusalKey{d.Index, p, reason}
		known, ok := m.refused.Load(key)
		if !ok {
			known, _ = m.refused.LoadOrStore(key, recordOptions(d.ID, p, string(reason)))
		}
		options = known.([]metric.RecordOption)
	}
	m.duration.Record(ctx, took.Seconds(), options...)
}
