package operator

import (
	"context"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Options say what an Operator reports.
type Options struct {
	Clock clock.Clock
	// Revision is the version-control revision that the program was built from;
	// "" or anything that is no revision is reported as unknown.
	Revision string
}

// Operator implements op.Operator. It is safe for concurrent use.
type Operator struct {
	clock    clock.Clock
	revision string
}

var _ op.Operator = (*Operator)(nil)

// unknown is the word for what is not known.
const unknown = "unknown"

// revisionLen is how much of a revision is shown.
const revisionLen = 12

var revisionForm = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// New returns an Operator.
func New(o Options) *Operator {
	r := unknown
	if revisionForm.MatchString(o.Revision) {
		r = o.Revision[:revisionLen]
	}
	return &Operator{clock: o.Clock, revision: r}
}

// BuildRevision is the revision that the Go tool recorded in the running
// program, or "" when it recorded none.
func BuildRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func (o *Operator) now() string { return o.clock.Now().UTC().Format(time.RFC3339Nano) }

// GetHealth says that the process answers.
func (o *Operator) GetHealth(context.Context, *op.OperatorGetHealthRequest) (*op.OperatorGetHealthResult, error) {
	return &op.OperatorGetHealthResult{GeneratedAt: o.now(), Data: op.OperatorHealth{Status: "ok"}}, nil
}

// GetRuntimeStatus describes the running program. There is no engine state
// beside it, so the facts about a checkpoint are those of a fresh start, and no
// two revisions can differ.
func (o *Operator) GetRuntimeStatus(context.Context, *op.OperatorGetRuntimeStatusRequest) (*op.OperatorGetRuntimeStatusResult, error) {
	return &op.OperatorGetRuntimeStatusResult{GeneratedAt: o.now(), Data: op.OperatorRuntimeStatus{
		Backend: unknown, GitRevision: o.revision, CheckpointRevision: unknown, MutationMode: "read_only",
	}}, nil
}
