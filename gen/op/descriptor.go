// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/descriptor.go. DO NOT EDIT.

package op

import (
	"context"
	"io"
	"time"
)

// Area is a family of operations with one error envelope and one interface.
type Area uint8

// The areas.
const (
	AreaWorkbench Area = iota
	AreaJobs
	AreaOperator
	AreaStorage
	areaCount
)

var areaNames = [areaCount]string{"workbench", "jobs", "operator", "storage"}

// String gives the area's word in operation ids.
func (a Area) String() string {
	if a < areaCount {
		return areaNames[a]
	}
	return "area(" + itoa(int(a)) + ")"
}

// Effect says what an operation does to state.
type Effect uint8

// The effects. A stream has no JSON request: its body is raw bytes or a sequence of frames.
const (
	Read Effect = iota
	Write
	Stream
)

// String gives the effect's word in the catalogue.
func (e Effect) String() string {
	switch e {
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return "stream"
}

// Request is the neutral form of an operation's arguments.
type Request interface {
	// AppendJSON writes the request as one compact JSON object, members sorted by name, absent members left out.
	AppendJSON(dst []byte) []byte
	// Validate checks what the Go types cannot say: bounds, closed sets, patterns. nil means valid.
	Validate() *Invalid
}

// Result is the neutral form of an operation's success object.
type Result interface {
	// AppendJSON writes the result as one compact JSON object, members sorted by name. It allocates nothing when dst
	// has the room.
	AppendJSON(dst []byte) []byte
}

// Descriptor is one row of the catalogue, with the code that was generated for it. Descriptors are never changed.
type Descriptor struct {
	// ID is the operation's one name, "workbench.put_file": scenario verb, span name, metric label, log field.
	ID   string
	Area Area
	// Name, Title and Description are for readers; Description is what an agent sees.
	Name, Title, Description string
	Effect                   Effect
	// Built is false while the operation answers UNIMPLEMENTED on every protocol.
	Built bool

	// Where the operation stands on each protocol; empty where the catalogue withholds it.
	HTTPMethod, HTTPPath, ConnectProcedure, MCPTool, WSCommand string

	ReadOnly, Destructive, Idempotent, OpenWorld bool

	// Reasons are the area's own refusals that this operation may give, beside those common to all.
	Reasons []Reason

	// Decode reads and validates arguments, strictly: exact member names, no unknown or duplicate members, no text
	// after the value, valid UTF-8. It keeps no reference to its input. The strings of a small request share one
	// copy of it: clone what must outlive the call by long. nil for streams.
	Decode func([]byte) (Request, *Invalid)
	// DecodeResult reads a success object just as strictly. nil for streams.
	DecodeResult func([]byte) (Result, *Invalid)
	// New gives an empty request. nil for streams.
	New func() Request
	// Invoke calls the operation's method. req must be of the operation's own type, as Decode and New give it. nil
	// for streams.
	Invoke func(ctx context.Context, api *API, req Request) (Result, error)

	// Index is the position in Descriptors: dense, for tables by operation.
	Index int
}

// FileRef names an artifact of a workbench for the raw file routes. The parts are as the caller sent them, decoded
// once and not yet checked.
type FileRef struct {
	ID, Section, Path string
}

// FileCard describes one revision of an artifact.
type FileCard struct {
	// Generation counts the publications at this path, from 1.
	Generation int64
	SizeBytes  int64
	// DigestURI is "sha256:" and 64 hexadecimal digits.
	DigestURI   string
	ContentType string
	// Path is the presentation path.
	Path string
	// ModifiedAt is when this generation was published, UTC.
	ModifiedAt time.Time
}

// FileCondition is what must hold for a store to publish.
type FileCondition struct {
	// IfGeneration is the generation to replace; nil creates only.
	IfGeneration *int64
}

// File pins one revision: whatever is written later, the bytes stay readable until Close.
type File interface {
	Card() FileCard
	// WriteRange writes n bytes from off on to w, verifying them on the way. A mismatch with what was stored ends it
	// with an error before the bad chunk is written.
	WriteRange(ctx context.Context, w io.Writer, off, n int64) error
	// Close releases the pin. It may be called twice.
	Close() error
}

// Files serves bodies that do not belong in JSON. Both methods work in memory independent of the body's size.
type Files interface {
	// OpenFile pins the artifact's present revision.
	OpenFile(ctx context.Context, ref FileRef) (File, error)
	// StoreFile publishes body as the artifact's next revision when cond holds; it returns when that is durable.
	// declaredSize is the announced length, -1 when unknown; a body of another length publishes nothing.
	StoreFile(ctx context.Context, ref FileRef, cond FileCondition, contentType string, body io.Reader, declaredSize int64) (FileCard, error)
}

// API is the whole of what a gateway serves: one interface an area. A nil area is not served.
type API struct {
	Workbench Workbench
	Jobs      Jobs
	Operator  Operator
	Storage   Storage
	Files     Files
}
