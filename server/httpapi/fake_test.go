package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/httpapi"
)

var published = time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)

// memory is op.Files in memory: enough of its contract to see what the adapter asks of it.
type memory struct {
	mu     sync.Mutex
	files  map[op.FileRef]*stored
	stores int
	// broken makes reads fail after so many bytes.
	broken int64
}

type stored struct {
	data        []byte
	generation  int64
	contentType string
}

func (m *memory) card(ref op.FileRef, s *stored) op.FileCard {
	sum := sha256.Sum256(s.data)
	return op.FileCard{Generation: s.generation, SizeBytes: int64(len(s.data)), DigestURI: "sha256:" + hex.EncodeToString(sum[:]),
		ContentType: s.contentType, Path: "/agents/a/wb/" + ref.ID + "/" + ref.Section + "/" + ref.Path, ModifiedAt: published}
}

func (m *memory) OpenFile(_ context.Context, ref op.FileRef) (op.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.files[ref]
	if s == nil {
		return nil, fault.New(op.ReasonWBNotFound, "").With("path", ref.Section+"/"+ref.Path)
	}
	return &memoryFile{card: m.card(ref, s), data: s.data, broken: m.broken}, nil
}

func (m *memory) StoreFile(_ context.Context, ref op.FileRef, cond op.FileCondition, contentType string, in io.Reader, declared int64) (op.FileCard, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return op.FileCard{}, errors.New("store: " + err.Error()) // the reason of the reader's error is lost, as any layer might lose it
	}
	if declared >= 0 && declared != int64(len(data)) {
		return op.FileCard{}, fault.New(op.ReasonWBInvalidArguments, "short")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores++
	s := m.files[ref]
	switch {
	case cond.IfGeneration == nil && s != nil:
		return op.FileCard{}, fault.New(op.ReasonWBAlreadyExists, "").With("generation", s.generation).With("path", ref.Section+"/"+ref.Path)
	case cond.IfGeneration != nil && (s == nil || s.generation != *cond.IfGeneration):
		return op.FileCard{}, fault.New(op.ReasonWBGenerationConflict, "").With("path", ref.Section+"/"+ref.Path)
	}
	next := &stored{data: data, generation: 1, contentType: contentType}
	if s != nil {
		next.generation = s.generation + 1
	}
	m.files[ref] = next
	return m.card(ref, next), nil
}

func (m *memory) get(id, section, path string) *stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[op.FileRef{ID: id, Section: section, Path: path}]
}

type memoryFile struct {
	card   op.FileCard
	data   []byte
	broken int64
}

func (f *memoryFile) Card() op.FileCard { return f.card }
func (f *memoryFile) Close() error      { return nil }
func (f *memoryFile) WriteRange(_ context.Context, w io.Writer, off, n int64) error {
	if f.broken > 0 && off+n > f.broken {
		if _, err := w.Write(f.data[off:f.broken]); err != nil {
			return err
		}
		return fault.New(op.ReasonWBCorrupt, "")
	}
	_, err := io.Copy(w, bytes.NewReader(f.data[off:off+n]))
	return err
}

// stat is a Workbench with one operation, which echoes its id.
type stat struct{ op.Workbench }

func (stat) Stat(_ context.Context, req *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
	if req.ID == "missing" {
		return nil, fault.New(op.ReasonWBNotFound, "").With("path", "")
	}
	return &op.WorkbenchStatResult{WorkbenchID: req.ID, Card: op.WorkbenchCard{Kind: "directory"}}, nil
}

type operator struct{ op.Operator }

func (operator) GetHealth(context.Context, *op.OperatorGetHealthRequest) (*op.OperatorGetHealthResult, error) {
	return &op.OperatorGetHealthResult{GeneratedAt: "2026-01-02T03:04:05Z", Data: op.OperatorHealth{Status: "ok"}}, nil
}

// fixture is a handler over the fakes, behind a real server.
type fixture struct {
	*httptest.Server
	files *memory
}

func serve(t testing.TB, change func(*httpapi.Options)) *fixture {
	t.Helper()
	m := &memory{files: map[op.FileRef]*stored{}}
	p, err := call.New(call.Options{API: &op.API{Workbench: stat{}, Operator: operator{}, Files: m}, Principal: actor.Principal{User: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	o := httpapi.Options{Pipeline: p, Budget: body.NewBudget(0), Now: func() time.Time { return published }, MaxCallBytes: 1 << 20, MaxFileBytes: 1 << 20}
	if change != nil {
		change(&o)
	}
	s := httptest.NewServer(httpapi.New(o))
	t.Cleanup(s.Close)
	return &fixture{s, m}
}

type reply struct {
	*http.Response
	body string
}

// do sends one request. headers are pairs.
func (f *fixture) do(t testing.TB, method, path string, content io.Reader, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequest(method, f.URL, content)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = path // as it is written, dots and percent signs included
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := f.Client().Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{resp, string(b)}
}
