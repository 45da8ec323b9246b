package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// mutant is a server that is wrong in one way.
type mutant struct {
	breakage breakage
	// over is where the mistake shows; HTTP when empty.
	over []driver.Protocol
	// in is the mode that must see it; Single when empty.
	in Mode
	// forgetful says that a power cut takes everything.
	forgetful bool
}

// seenBy names, for each mutant, the scenarios and tables that are there to see it: each of them must turn red.
var seenBy = map[string][]string{
	"a replace keeps the generation":        {"workbench/each-replace-publishes-a-generation", "workbench/one-generation-never-shows-two-digests"},
	"an append counts twice":                {"workbench/append-creates-then-adds"},
	"a put is an upsert":                    {"workbench/a-put-is-never-an-upsert", "workbench/create-only-refuses-an-existing-path"},
	"a replace creates":                     {"workbench/a-put-is-never-an-upsert", "workbench/replace-refuses-a-missing-path"},
	"an edit bumps on a no-op":              {"workbench/edit-that-changes-nothing"},
	"a list is unsorted":                    {"workbench/order-is-by-component", "workbench/the-root-lists-the-sections"},
	"a cursor crosses scopes":               {"workbench/a-cursor-belongs-to-its-scope"},
	"pages of two versions":                 {"workbench/a-cursor-dies-when-its-workbench-moves-on"},
	"a page loses its last row":             {"workbench/cursors-give-every-child-once"},
	"a wrong digest":                        {"workbench/a-put-answers-what-is-stored", "workbench/an-empty-body-is-a-file"},
	"an append digests the whole body":      {"workbench/append-creates-then-adds", "workbench/a-repeated-append-appends-again"},
	"a read is stale":                       {"workbench/a-read-sees-the-write-before-it"},
	"if_none_match is ignored":              {"workbench/a-known-generation-skips-the-body", "workbench/an-agent-keeps-files"},
	"numbers go through a double":           {"workbench/numbers-keep-their-digits"},
	"a final line feed makes a line":        {"workbench/text-is-read-as-lines"},
	"an error changes its code":             {"workbench/what-is-missing-is-named"},
	"an error shows a host path":            {"workbench/what-is-missing-is-named", "workbench/errors-say-nothing-internal"},
	"an error loses its details":            {"workbench/an-ambiguous-edit-says-how-often"},
	"an error gains a detail":               {"workbench/what-is-missing-is-named"},
	"an error names no member":              {"workbench/exactly-one-payload", "malformed/paths-that-leave-their-section"},
	"dots are cleaned away":                 {"malformed/paths-that-leave-their-section"},
	"ids are folded to lower case":          {"workbench/an-id-obeys-its-alphabet"},
	"a content type is dropped":             {"workbench/a-put-answers-what-is-stored"},
	"an upload is an upsert":                {"files/a-put-without-precondition-creates"},
	"capabilities promise jobs":             {"jobs/capabilities-promise-only-what-is-there"},
	"a null member is left out":             {"workbench/the-root-lists-the-sections"},
	"retryable is turned round":             {"workbench/what-is-missing-is-named", "malformed/unknown-members"},
	"health says more":                      {"operator/health-says-ok"},
	"an error is a success":                 {"workbench/what-is-missing-is-named", "malformed/wrong-types"},
	"the ETag is missing":                   {"files/upload-then-download"},
	"ranges are ignored":                    {"files/a-range-is-a-part"},
	"If-Match is ignored":                   {"files/if-match-replaces-one-generation"},
	"any host may call":                     {"http/only-local-callers-are-answered"},
	"unknown members pass":                  {"malformed/unknown-members", "malformed/duplicate-members"},
	"MCP errors are not marked":             {"workbench/what-is-missing-is-named"},
	"MCP text differs":                      {"workbench/create-shows-five-sections"},
	"MCP offers a looser tool":              {"workbench/create-shows-five-sections"},
	"Connect writes bare integers":          {"workbench/each-replace-publishes-a-generation", "connect/json-members-are-snake-case"},
	"Connect leaves zeros out":              {"workbench/create-only-refuses-an-existing-path"},
	"one protocol has another version":      {"jobs/capabilities-promise-only-what-is-there"},
	"a power cut takes acknowledged writes": {"workbench/an-acknowledged-write-survives-a-power-cut"},
}

// TestMutants proves that the suite turns red: every scenario that is there to see a mistake must fail on the server that
// makes it. That the same scenarios pass on the whole server is TestSuite's business.
func TestMutants(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), untilDone)
			defer cancel()
			if len(m.over) == 0 {
				m.over = []driver.Protocol{driver.HTTP}
			}
			if m.in == "" {
				m.in = Single
			}
			target := inMemory(m.breakage)
			if m.forgetful {
				target = forgetful(target)
			}
			if len(seenBy[name]) == 0 {
				t.Fatal("nothing is there to see it")
			}
			for _, id := range seenBy[name] {
				report, err := Run(ctx, target, Options{
					Modes: []Mode{m.in}, Protocols: m.over, KnownFailing: []string{}, Scenarios: []string{id},
				})
				if err != nil {
					t.Fatal(err)
				}
				if report.OK() {
					t.Errorf("%s is green: %d passed", id, report.Count(Passed))
				}
				for _, r := range report.Results {
					if r.Outcome == Failed {
						t.Logf("%s: %s", r.Key(), r.Failures[0])
						if r.Mode != m.in {
							t.Errorf("seen in mode %s, want %s", r.Mode, m.in)
						}
					}
				}
			}
		})
	}
	for name := range seenBy {
		if _, ok := mutants()[name]; !ok {
			t.Errorf("no mutant %q", name)
		}
	}
}

func mutants() map[string]mutant {
	inAPI := func(change func(*broken)) mutant {
		return mutant{breakage: breakage{api: func(api *op.API) {
			b := &broken{Workbench: api.Workbench}
			change(b)
			api.Workbench = b
		}}}
	}
	inBody := func(under string, rewrite func([]byte) []byte, over ...driver.Protocol) mutant {
		return mutant{over: over, breakage: breakage{handler: func(h http.Handler) http.Handler {
			return rewriteAnswers(h, under, rewrite)
		}}}
	}
	inRequest := func(change func(*http.Request)) mutant {
		return mutant{breakage: breakage{handler: func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { change(r); h.ServeHTTP(w, r) })
		}}}
	}
	replace := func(old, with string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(old), []byte(with)) }
	}
	return map[string]mutant{
		"a replace keeps the generation": inAPI(func(b *broken) {
			b.afterPut = func(r *op.WorkbenchPutFileResult) { r.Generation = 1 }
		}),
		"an append counts twice": inAPI(func(b *broken) {
			b.afterAppend = func(_ context.Context, r *op.WorkbenchAppendResult) { r.Generation++ }
		}),
		"a put is an upsert":        inAPI(func(b *broken) { b.upsert = true }),
		"a replace creates":         inAPI(func(b *broken) { b.replaceCreates = true }),
		"an edit bumps on a no-op":  inAPI(func(b *broken) { b.editBumps = true }),
		"a list is unsorted":        inAPI(func(b *broken) { b.afterList = func(r *op.WorkbenchListResult) { slices.Reverse(r.Entries) } }),
		"a cursor crosses scopes":   inAPI(func(b *broken) { b.forgiveCursor = op.ReasonWBBadCursor }),
		"pages of two versions":     inAPI(func(b *broken) { b.forgiveCursor = op.ReasonWBReadFenceChanged }),
		"a page loses its last row": inAPI(func(b *broken) { b.afterList = loseLast }),
		"a wrong digest": inAPI(func(b *broken) {
			b.afterPut = func(r *op.WorkbenchPutFileResult) { r.DigestURI = "sha256:" + strings.Repeat("0", 64) }
		}),
		"an append digests the whole body": inAPI(func(b *broken) {
			b.afterAppend = func(ctx context.Context, r *op.WorkbenchAppendResult) {
				section := r.Section
				card, err := b.Workbench.Stat(ctx, &op.WorkbenchStatRequest{ID: r.WorkbenchID, Section: &section, Path: &r.RelativePath})
				if err == nil {
					r.Digest = *card.Card.DigestURI
				}
			}
		}),
		"a read is stale":             inAPI(func(b *broken) { b.stale = map[string]*op.WorkbenchReadResult{} }),
		"if_none_match is ignored":    inAPI(func(b *broken) { b.beforeRead = func(r *op.WorkbenchReadRequest) { r.IfNoneMatch = nil } }),
		"numbers go through a double": inAPI(func(b *broken) { b.afterRead = roundNumbers }),
		"a final line feed makes a line": inAPI(func(b *broken) {
			b.afterRead = func(r *op.WorkbenchReadResult) {
				if r.RecordType != nil && *r.RecordType == "text_lines" && !r.Truncated {
					r.Items = append(r.Items, op.WorkbenchReadItem{Index: int64(len(r.Items)), Value: op.RawJSON(`""`)})
				}
			}
		}),
		"an error changes its code": inAPI(func(b *broken) { b.onError = func(e *fault.Error) { e.Reason = swapReason(e.Reason) } }),
		"an error shows a host path": inAPI(func(b *broken) {
			b.onError = func(e *fault.Error) { e.Message = "open /var/lib/gateway/000004.sst: not found" }
		}),
		"an error loses its details":   inAPI(func(b *broken) { b.onError = func(e *fault.Error) { e.Details = nil } }),
		"an error gains a detail":      inBody("/v1/", replace(`"details":{"path"`, `"details":{"inode":7,"path"`)),
		"an error names no member":     inAPI(func(b *broken) { b.onError = func(e *fault.Error) { e.Message = "No." } }),
		"dots are cleaned away":        inAPI(func(b *broken) { b.beforePut = func(r *op.WorkbenchPutFileRequest) { r.Path = path.Clean(r.Path) } }),
		"ids are folded to lower case": inAPI(func(b *broken) { b.foldIDs = true }),
		"a content type is dropped":    inAPI(func(b *broken) { b.beforePut = func(r *op.WorkbenchPutFileRequest) { r.ContentType = nil } }),
		"an upload is an upsert": {breakage: breakage{api: func(api *op.API) {
			api.Files = upsertingFiles{api.Files}
		}}},
		"capabilities promise jobs": inBody("/api/", replace(`"jobs":"unavailable"`, `"jobs":"available"`)),
		"a null member is left out": inBody("/v1/", replace(`"next_cursor":null,`, ``)),
		"retryable is turned round": inBody("/v1/", replace(`"retryable":false`, `"retryable":true`)),
		"health says more":          inBody("/health", replace(`{"status":"ok"}`, `{"mood":"fine","status":"ok"}`)),
		"an error is a success":     {breakage: breakage{handler: alwaysOK}},
		"the ETag is missing":       {breakage: breakage{handler: withoutHeader("Etag")}},
		"ranges are ignored":        inRequest(func(r *http.Request) { r.Header.Del("Range") }),
		"If-Match is ignored":       inRequest(func(r *http.Request) { r.Header.Del("If-Match") }),
		"any host may call":         inRequest(func(r *http.Request) { r.Host = "127.0.0.1:8080"; r.Header.Del("Origin") }),
		"unknown members pass":      inRequest(dropUnknownMembers),
		"MCP errors are not marked": inBody("/mcp/", replace(`"isError":true`, `"isError":false`), driver.MCP),
		"MCP text differs":          inBody("/mcp/", replace(`\"success\"`, `\"good\"`), driver.MCP2025),
		"MCP offers a looser tool":  inBody("/mcp/", replace(`"maximum":100`, `"maximum":1000`), driver.MCP),
		"Connect writes bare integers": inBody("/sawhorse.", func(b []byte) []byte {
			return regexp.MustCompile(`"generation":"(\d+)"`).ReplaceAll(b, []byte(`"generation":$1`))
		}, driver.ConnectJSON),
		"Connect leaves zeros out": inBody("/sawhorse.", replace(`,"replace":false`, ``), driver.ConnectJSON),
		"one protocol has another version": {
			in: Parity, over: []driver.Protocol{driver.HTTP, driver.ConnectJSON},
			breakage: breakage{handler: func(h http.Handler) http.Handler {
				return rewriteAnswers(h, "/sawhorse.jobs.", replace("judged", "jugded"))
			}},
		},
		"a power cut takes acknowledged writes": {forgetful: true},
	}
}

// broken is the Workbench with mistakes.
type broken struct {
	op.Workbench
	afterPut       func(*op.WorkbenchPutFileResult)
	afterAppend    func(context.Context, *op.WorkbenchAppendResult)
	afterList      func(*op.WorkbenchListResult)
	afterRead      func(*op.WorkbenchReadResult)
	beforePut      func(*op.WorkbenchPutFileRequest)
	beforeRead     func(*op.WorkbenchReadRequest)
	onError        func(*fault.Error)
	upsert         bool
	replaceCreates bool
	editBumps      bool
	foldIDs        bool
	forgiveCursor  op.Reason

	mu    sync.Mutex
	stale map[string]*op.WorkbenchReadResult
}

func (b *broken) fail(err error) error {
	if err == nil || b.onError == nil {
		return err
	}
	e := *fault.From(err)
	e.Details = slices.Clone(e.Details)
	b.onError(&e)
	return &e
}

func (b *broken) fold(id *string) {
	if b.foldIDs {
		*id = strings.ToLower(*id)
	}
}

func (b *broken) Create(ctx context.Context, r *op.WorkbenchCreateRequest) (*op.WorkbenchCreateResult, error) {
	b.fold(&r.ID)
	res, err := b.Workbench.Create(ctx, r)
	return res, b.fail(err)
}

func (b *broken) PutFile(ctx context.Context, r *op.WorkbenchPutFileRequest) (*op.WorkbenchPutFileResult, error) {
	b.fold(&r.ID)
	if b.beforePut != nil {
		b.beforePut(r)
	}
	res, err := b.Workbench.PutFile(ctx, r)
	other := *r
	turned := r.Replace == nil || !*r.Replace
	other.Replace = &turned
	if b.upsert && fault.Is(err, op.ReasonWBAlreadyExists) || b.replaceCreates && fault.Is(err, op.ReasonWBNotFound) {
		res, err = b.Workbench.PutFile(ctx, &other)
	}
	if err == nil && b.afterPut != nil {
		b.afterPut(res)
	}
	return res, b.fail(err)
}

func (b *broken) Append(ctx context.Context, r *op.WorkbenchAppendRequest) (*op.WorkbenchAppendResult, error) {
	b.fold(&r.ID)
	res, err := b.Workbench.Append(ctx, r)
	if err == nil && b.afterAppend != nil {
		b.afterAppend(ctx, res)
	}
	return res, b.fail(err)
}

func (b *broken) Edit(ctx context.Context, r *op.WorkbenchEditRequest) (*op.WorkbenchEditResult, error) {
	res, err := b.Workbench.Edit(ctx, r)
	if err == nil && b.editBumps && res.NoChange {
		nothing := ""
		bumped, err := b.Workbench.Append(ctx, &op.WorkbenchAppendRequest{ID: r.ID, Section: r.Section, Path: r.Path, Text: &nothing})
		if err != nil {
			return nil, err
		}
		res.Generation = bumped.Generation
	}
	return res, b.fail(err)
}

func (b *broken) List(ctx context.Context, r *op.WorkbenchListRequest) (*op.WorkbenchListResult, error) {
	b.fold(&r.ID)
	res, err := b.Workbench.List(ctx, r)
	if b.forgiveCursor != "" && fault.Is(err, b.forgiveCursor) {
		again := *r
		again.Cursor = nil
		res, err = b.Workbench.List(ctx, &again)
	}
	if err == nil && b.afterList != nil {
		b.afterList(res)
	}
	return res, b.fail(err)
}

func (b *broken) Stat(ctx context.Context, r *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
	b.fold(&r.ID)
	res, err := b.Workbench.Stat(ctx, r)
	return res, b.fail(err)
}

func (b *broken) Read(ctx context.Context, r *op.WorkbenchReadRequest) (*op.WorkbenchReadResult, error) {
	if b.beforeRead != nil {
		b.beforeRead(r)
	}
	res, err := b.Workbench.Read(ctx, r)
	if err != nil {
		return nil, b.fail(err)
	}
	if b.stale != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		key := r.ID + "/" + r.Section + "/" + r.Path
		if old, ok := b.stale[key]; ok && r.Cursor == nil && r.IfNoneMatch == nil {
			return old, nil
		}
		b.stale[key] = res
	}
	if b.afterRead != nil {
		b.afterRead(res)
	}
	return res, nil
}

// loseLast drops the last entry of a page that has another one behind it.
func loseLast(r *op.WorkbenchListResult) {
	if r.Truncated && len(r.Entries) > 1 {
		r.Entries = r.Entries[:len(r.Entries)-1]
		r.EntryCount--
	}
}

// roundNumbers does to items what a decoder without care does.
func roundNumbers(r *op.WorkbenchReadResult) {
	for i := range r.Items {
		var v any
		if json.Unmarshal(r.Items[i].Value, &v) == nil {
			if text, err := json.Marshal(v); err == nil {
				r.Items[i].Value = text
			}
		}
	}
}

func swapReason(r op.Reason) op.Reason {
	if r == op.ReasonWBNotFound {
		return op.ReasonWBNoMatch
	}
	return r
}

// upsertingFiles forgets the precondition of an upload.
type upsertingFiles struct{ op.Files }

func (f upsertingFiles) StoreFile(ctx context.Context, ref op.FileRef, cond op.FileCondition, contentType string, body io.Reader, size int64) (op.FileCard, error) {
	if cond.IfGeneration == nil {
		if there, err := f.OpenFile(ctx, ref); err == nil {
			generation := there.Card().Generation
			cond.IfGeneration = &generation
			if err := there.Close(); err != nil {
				return op.FileCard{}, err
			}
		}
	}
	return f.Files.StoreFile(ctx, ref, cond, contentType, body, size)
}

// answer holds an answer back until it was rewritten.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) Flush()                      {}

func (a *answer) send(body []byte) {
	a.ResponseWriter.Header().Set("Content-Length", strconv.Itoa(len(body)))
	a.ResponseWriter.WriteHeader(a.status)
	// The client may have left, which is its own affair.
	_, _ = a.ResponseWriter.Write(body)
}

func rewriteAnswers(h http.Handler, under string, rewrite func([]byte) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, under) {
			h.ServeHTTP(w, r)
			return
		}
		a := &answer{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(a, r)
		a.send(rewrite(a.body.Bytes()))
	})
}

func alwaysOK(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/workbench/") {
			h.ServeHTTP(w, r)
			return
		}
		a := &answer{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(a, r)
		a.status = http.StatusOK
		a.send(a.body.Bytes())
	})
}

type headerless struct {
	http.ResponseWriter
	name string
}

func (h headerless) WriteHeader(status int) {
	h.Header().Del(h.name)
	h.ResponseWriter.WriteHeader(status)
}

func withoutHeader(name string) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v1/workbenches/") {
				w = headerless{w, name}
			}
			h.ServeHTTP(w, r)
		})
	}
}

// dropUnknownMembers decodes calls as an ordinary decoder does: it drops what it does not know, and the last of two
// equal members wins.
func dropUnknownMembers(r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/workbench/") {
		return
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var members map[string]any
	if json.Unmarshal(data, &members) == nil {
		known := []string{"id", "section", "path", "text", "base64", "content_type", "replace", "old_string", "new_string",
			"replace_all", "cursor", "limit", "offset", "format", "if_none_match", "at_snapshot"}
		for name := range members {
			if !slices.Contains(known, name) {
				delete(members, name)
			}
		}
		if kept, err := json.Marshal(members); err == nil {
			data = kept
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
}

// forgetful gives a target that comes back from a power cut as it was at first.
func forgetful(target Target) Target {
	fresh := target.Fresh
	target.Fresh = func(ctx context.Context, start Start) (*Target, error) {
		first, err := fresh(ctx, start)
		if err != nil {
			return nil, err
		}
		all := []*Target{first}
		now := func() *Target { return all[len(all)-1] }
		t := *first
		t.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return now().Dial(ctx, network, address)
		}
		t.Check = func(ctx context.Context) error { return now().Check(ctx) }
		t.Crash = func(ctx context.Context) error {
			next, err := fresh(ctx, start)
			if err == nil {
				all = append(all, next)
			}
			return err
		}
		t.Close = func() error {
			var err error
			for _, one := range all {
				err = errors.Join(err, one.Close())
			}
			return err
		}
		return &t, nil
	}
	return target
}
