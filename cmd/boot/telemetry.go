package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// telemetry is what observes the process.
type telemetry struct {
	meters metric.MeterProvider
	traces trace.TracerProvider // nil unless the environment names a collector
	page   http.Handler         // /metrics
	stop   func(context.Context) error
}

// newTelemetry sets metrics up for scraping, and sends metrics and traces to a collector if the standard environment
// variables name one.
func newTelemetry(ctx context.Context, version string, log *slog.Logger) (*telemetry, error) {
	// A collector that does not answer is no matter for standard error, which the library would write to by itself.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.LogAttrs(context.Background(), slog.LevelWarn, "telemetry", slog.String("cause", err.Error()))
	}))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	what, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "sawhorse"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithReader(exporter), sdkmetric.WithResource(what)}
	if asked("METRICS", os.Getenv) {
		figures, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
		// How often is the environment's to say: OTEL_METRIC_EXPORT_INTERVAL.
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(figures)))
	}
	meters := sdkmetric.NewMeterProvider(options...)
	t := &telemetry{meters: meters, page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), stop: meters.Shutdown}
	if !asked("TRACES", os.Getenv) {
		return t, nil
	}
	spans, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), meters.Shutdown(ctx))
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(what))
	t.traces = traces
	t.stop = func(ctx context.Context) error {
		// Side by side: a collector that does not answer takes all the time that there is.
		ended := make(chan error, 1)
		go func() { ended <- traces.Shutdown(ctx) }()
		return errors.Join(meters.Shutdown(ctx), <-ended)
	}
	return t, nil
}

// asked reads the standard variables for a signal, TRACES or METRICS: a collector is named, and neither the SDK nor the
// signal's exporter is switched off.
func asked(signal string, getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	// Of the exporters that the variable may name, OTLP is the one to be had; what is scraped is there in any case.
	if names := getenv("OTEL_" + signal + "_EXPORTER"); names != "" && !slices.Contains(strings.Split(strings.ReplaceAll(names, " ", ""), ","), "otlp") {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// observeStore adds the store's figures to the metrics.
func (t *telemetry) observeStore(c *core.Core) error {
	meter := t.meters.Meter(call.Scope)
	type figure struct {
		name, about string
		counts      bool
		read        func(core.Stats) int64
	}
	figures := []figure{
		{"sawhorse.store.updates", "Updates that wrote something.", true, func(s core.Stats) int64 { return int64(s.KV.Updates) }},
		{"sawhorse.store.updates_without_write", "Updates that were refused or changed nothing.", true, func(s core.Stats) int64 { return int64(s.KV.UpdatesWithoutWrite) }},
		{"sawhorse.store.updates_turned_away", "Updates that found too many waiting.", true, func(s core.Stats) int64 { return int64(s.KV.UpdatesTurnedAway) }},
		{"sawhorse.store.updates_no_space", "Updates that found too little disk.", true, func(s core.Stats) int64 { return int64(s.KV.UpdatesNoSpace) }},
		{"sawhorse.store.views", "Views that were opened.", true, func(s core.Stats) int64 { return int64(s.KV.Views) }},
		{"sawhorse.store.batch_bytes", "Bytes that went into the write-ahead log.", true, func(s core.Stats) int64 { return int64(s.KV.BatchBytes) }},
		{"sawhorse.store.reaped", "Superseded versions that were dropped.", true, func(s core.Stats) int64 { return int64(s.KV.Reaped) }},
		{"sawhorse.store.background_errors", "Background errors that were tried again.", true, func(s core.Stats) int64 { return int64(s.KV.BackgroundErrors) }},
		{"sawhorse.store.slow_disk", "Slow disk operations.", true, func(s core.Stats) int64 { return int64(s.KV.SlowDisk) }},
		{"sawhorse.store.write_stalls", "Times that writes had to wait for the store.", true, func(s core.Stats) int64 { return int64(s.KV.WriteStalls) }},
		{"sawhorse.store.waiting", "Updates that wait for their turn.", false, func(s core.Stats) int64 { return int64(s.KV.Waiting) }},
		{"sawhorse.store.disk_bytes", "Bytes that the store's files take.", false, func(s core.Stats) int64 { return int64(s.KV.DiskBytes) }},
		{"sawhorse.store.read_amplification", "Places that a read may have to look at.", false, func(s core.Stats) int64 { return int64(s.KV.ReadAmp) }},
		{"sawhorse.store.low_space", "1 while updates are refused because the disk is nearly full.", false, func(s core.Stats) int64 {
			if s.KV.LowSpace {
				return 1
			}
			return 0
		}},
	}
	var instruments []metric.Observable
	observe := map[int]metric.Int64Observable{}
	for i, f := range figures {
		var in metric.Int64Observable
		var err error
		if f.counts {
			in, err = meter.Int64ObservableCounter(f.name, metric.WithDescription(f.about))
		} else {
			in, err = meter.Int64ObservableGauge(f.name, metric.WithDescription(f.about))
		}
		if err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		instruments = append(instruments, in)
		observe[i] = in
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := c.Stats()
		for i, f := range figures {
			o.ObserveInt64(observe[i], f.read(stats))
		}
		return nil
	}, instruments...)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// plainErrors logs an error as what it says. Some libraries' errors would print their stacks.
func plainErrors(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok && a.Value.Kind() == slog.KindAny {
		a.Value = slog.StringValue(err.Error())
	}
	return a
}

// NewLogger makes the process's logger, to standard error. level is debug, info, warn or error; format is text or json.
func NewLogger(level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q is none of debug, info, warn, error", level)
	}
	o := &slog.HandlerOptions{Level: l, ReplaceAttr: plainErrors}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	}
	return nil, fmt.Errorf("log format %q is neither text nor json", format)
}
