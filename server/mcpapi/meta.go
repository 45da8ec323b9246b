package mcpapi

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	maxMetas     = 256
	maxMetaBytes = 4 << 10
)

// metaVerdict is what the short path needs to know of a request's _meta.
type metaVerdict struct {
	version string // protocol version named there; "" when none is
	usable  bool   // the SDK would accept it as well
	parent  trace.SpanContext
}

// The members of _meta in which a client hands on its trace. They have no prefix, and the form of the headers.
var traceMembers = []string{"traceparent", "tracestate"}

// parentIn reads the trace that a _meta carries. What is malformed is no trace, and no mistake either.
func parentIn[T any](members map[string]T, text func(T) string) trace.SpanContext {
	carrier := propagation.MapCarrier{}
	for _, name := range traceMembers {
		if v, there := members[name]; there {
			carrier[name] = text(v)
		}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

func rawText(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func anyText(v any) string {
	s, _ := v.(string)
	return s
}

// under makes parent the trace of ctx, unless an HTTP header has already named one.
func under(ctx context.Context, parent trace.SpanContext) context.Context {
	if !parent.IsValid() || trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, parent)
}

// metaCache remembers verdicts. A client sends the same _meta with every request, so that it is parsed once. The
// cache is bounded, and starts over when hostile or chatty clients have filled it.
type metaCache struct {
	known atomic.Pointer[map[string]metaVerdict]
	mu    sync.Mutex
}

func (c *metaCache) judge(raw []byte) metaVerdict {
	if raw == nil {
		return metaVerdict{usable: true}
	}
	if m := c.known.Load(); m != nil {
		if v, ok := (*m)[string(raw)]; ok {
			return v
		}
	}
	v, lasting := judgeMeta(raw)
	if lasting && len(raw) <= maxMetaBytes {
		c.remember(raw, v)
	}
	return v
}

func (c *metaCache) remember(raw []byte, v metaVerdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[string]metaVerdict{}
	if old := c.known.Load(); old != nil && len(*old) < maxMetas {
		for k, have := range *old {
			next[k] = have
		}
	}
	next[string(raw)] = v
	c.known.Store(&next)
}

// judgeMeta reads _meta. It errs on the side of calling it unusable: the SDK has the last word then. lasting is false
// for a _meta that will not come again.
func judgeMeta(raw []byte) (v metaVerdict, lasting bool) {
	if misshapenMeta(raw, saidInside) != "" {
		return v, true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return v, true
	}
	_, once := members["progressToken"]
	if _, traced := members[traceMembers[0]]; traced {
		once = true
		v.parent = parentIn(members, rawText)
	}
	if version, ok := members[sdk.MetaKeyProtocolVersion]; ok {
		if json.Unmarshal(version, &v.version) != nil || v.version == "" {
			return metaVerdict{}, !once
		}
	}
	// A revision that is not known here is the SDK's to judge.
	v.usable = v.version <= version20260728
	return v, !once
}
