package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sawhorse-dev/sawhorse/gen/op"
	workbenchv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1"
	"github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1/workbenchv1connect"
)

const (
	workbenchID = "go-tree"
	section     = "input"
)

// errLost is a call whose outcome is unknown: the connection broke, or the
// server said that it is going away. The caller looks before it repeats.
var errLost = errors.New("the outcome is unknown")

// refused is a coded answer of the server.
type refused struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Retryable  bool   `json:"retryable"`
	Generation int64  `json:"-"`
	Digest     string `json:"-"`
}

func (r *refused) Error() string { return r.Code + ": " + r.Message }

// agent is an MCP client, as an agent would hold one: a session that ends with
// its server and is opened anew.
type agent struct {
	server  *server
	http    *http.Client
	session *mcp.ClientSession
	url     string
}

func (a *agent) call(ctx context.Context, tool string, arguments map[string]any, result any) error {
	url := a.server.address()
	if a.session == nil || a.url != url {
		client := mcp.NewClient(&mcp.Implementation{Name: "sawhorse-demo", Version: "1"}, nil)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp/workbench", HTTPClient: a.http, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
		if err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		a.session, a.url = session, url
	}
	answer, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.session = nil
		return fmt.Errorf("%w: %w", errLost, err)
	}
	structured, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return err
	}
	if answer.IsError {
		return decodeRefusal(structured)
	}
	return json.Unmarshal(structured, result)
}

func decodeRefusal(envelope []byte) error {
	var body struct {
		refused
		Details struct {
			Generation int64  `json:"generation"`
			Digest     string `json:"digest_uri"`
		} `json:"details"`
	}
	if err := json.Unmarshal(envelope, &body); err != nil {
		return fmt.Errorf("an error answer that is no envelope: %w", err)
	}
	body.refused.Generation, body.refused.Digest = body.Details.Generation, body.Details.Digest
	if body.Code == "" {
		return fmt.Errorf("an error answer without a code: %s", envelope)
	}
	if body.Retryable {
		return fmt.Errorf("%w: %w", errLost, &body.refused)
	}
	return &body.refused
}

// put stores one file over MCP, create-only. A repeat after a lost answer
// recognises its own success by the digest in the refusal.
func (a *agent) put(ctx context.Context, f *file) (repeated bool, err error) {
	arguments := map[string]any{"id": workbenchID, "section": section, "path": f.path}
	if f.isText() {
		arguments["text"] = string(f.body)
	} else {
		arguments["base64"] = base64.StdEncoding.EncodeToString(f.body)
	}
	var result struct {
		Generation int64  `json:"generation"`
		Size       int64  `json:"size_bytes"`
		Digest     string `json:"digest_uri"`
	}
	lost := false
	for attempt := 0; ; attempt++ {
		err := a.call(ctx, "workbench_put_file", arguments, &result)
		var no *refused
		switch {
		case err == nil:
			if result.Digest != f.digest() || result.Size != int64(len(f.body)) {
				return false, fmt.Errorf("%s: the acknowledged digest or size is not that of the bytes sent", f.path)
			}
			f.generation = result.Generation
			return false, nil
		case errors.Is(err, errLost) && attempt < maxAttempts:
			lost = true
		case errors.As(err, &no) && no.Code == "AlreadyExists" && lost && no.Digest == f.digest():
			f.generation = no.Generation
			return true, nil
		default:
			return false, fmt.Errorf("put %s: %w", f.path, err)
		}
	}
}

// program is a client of the generated Connect stubs.
type program struct {
	server  *server
	http    *http.Client
	options []connect.ClientOption
	client  workbenchv1connect.WorkbenchServiceClient
	url     string
}

func (p *program) stub() workbenchv1connect.WorkbenchServiceClient {
	if url := p.server.address(); p.client == nil || p.url != url {
		p.client, p.url = workbenchv1connect.NewWorkbenchServiceClient(p.http, url, p.options...), url
	}
	return p.client
}

// lostOrRefused tells an answer of the server from a connection that broke:
// only the former is an error that came over the wire.
func lostOrRefused(err error) error {
	if !connect.IsWireError(err) || connect.CodeOf(err) == connect.CodeUnavailable || connect.CodeOf(err) == connect.CodeAborted {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

func (p *program) stat(ctx context.Context, path string) (*workbenchv1.Card, error) {
	scope := section
	answer, err := p.stub().Stat(ctx, &workbenchv1.StatRequest{Id: workbenchID, Section: &scope, Path: &path})
	if err != nil {
		return nil, lostOrRefused(err)
	}
	return answer.Card, nil
}

// write runs one change and settles a lost answer by looking: the change took
// effect exactly if the file now has the digest that it should lead to.
func (p *program) write(ctx context.Context, f *file, next []byte, change func(workbenchv1connect.WorkbenchServiceClient) (int64, error)) (settled bool, err error) {
	for attempt := 0; ; attempt++ {
		generation, err := change(p.stub())
		if err == nil {
			if generation <= f.generation {
				return settled, fmt.Errorf("%s: generation %d after %d", f.path, generation, f.generation)
			}
			f.body, f.generation = next, generation
			return settled, nil
		}
		if err = lostOrRefused(err); !errors.Is(err, errLost) || attempt == maxAttempts {
			return settled, fmt.Errorf("change %s: %w", f.path, err)
		}
		card, err := p.stat(ctx, f.path)
		for again := 0; errors.Is(err, errLost) && again < maxAttempts; again++ {
			card, err = p.stat(ctx, f.path)
		}
		if err != nil {
			return settled, fmt.Errorf("look at %s: %w", f.path, err)
		}
		settled = true
		switch {
		case card.GetDigestUri() == digestURI(next):
			f.body, f.generation = next, card.GetGeneration()
			return settled, nil
		case card.GetDigestUri() != f.digest() || card.GetGeneration() != f.generation:
			return settled, fmt.Errorf("%s: neither the old bytes nor the new ones after a lost answer", f.path)
		}
	}
}

func (p *program) edit(ctx context.Context, f *file, old, replacement string) (bool, error) {
	next := []byte(strings.Replace(string(f.body), old, replacement, 1))
	return p.write(ctx, f, next, func(c workbenchv1connect.WorkbenchServiceClient) (int64, error) {
		answer, err := c.Edit(ctx, &workbenchv1.EditRequest{Id: workbenchID, Section: section, Path: f.path, OldString: old, NewString: &replacement})
		return answer.GetGeneration(), err
	})
}

func (p *program) append(ctx context.Context, f *file, text string) (bool, error) {
	next := append(bytes.Clone(f.body), text...)
	return p.write(ctx, f, next, func(c workbenchv1connect.WorkbenchServiceClient) (int64, error) {
		answer, err := c.Append(ctx, &workbenchv1.AppendRequest{Id: workbenchID, Section: section, Path: f.path, Text: &text})
		return answer.GetGeneration(), err
	})
}

// browser reads over plain HTTP: JSON for listings, the raw routes for bodies.
type browser struct {
	server *server
	http   *http.Client
}

func (b *browser) list(ctx context.Context, path, cursor string) (*op.WorkbenchListResult, error) {
	scope := section
	request := &op.WorkbenchListRequest{ID: workbenchID, Section: &scope}
	if path != "" {
		request.Path = &path
	}
	if cursor != "" {
		request.Cursor = &cursor
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.address()+"/v1/workbench/list", bytes.NewReader(request.AppendJSON(nil)))
	if err != nil {
		return nil, err
	}
	call.Header.Set("Content-Type", "application/json")
	answer, err := b.http.Do(call)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, decodeRefusal(body)
	}
	result, invalid := op.WorkbenchListOp.DecodeResult(body)
	if invalid != nil {
		return nil, invalid
	}
	return result.(*op.WorkbenchListResult), nil
}

// walk lists the section page by page, directory by directory, and calls visit
// for each file.
func (b *browser) walk(ctx context.Context, visit func(path string, size int64) error) error {
	pending := []string{""}
	for len(pending) > 0 {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for cursor := ""; ; {
			page, err := b.list(ctx, dir, cursor)
			if err != nil {
				return fmt.Errorf("list %q: %w", dir, err)
			}
			for _, entry := range page.Entries {
				if entry.Kind == "directory" {
					pending = append(pending, *entry.RelativePath)
				} else if err := visit(*entry.RelativePath, *entry.SizeBytes); err != nil {
					return err
				}
			}
			if page.NextCursor == nil {
				break
			}
			cursor = *page.NextCursor
		}
	}
	return nil
}

// compare fetches the whole body and holds it against what must be there.
func (b *browser) compare(ctx context.Context, f *file) error {
	parts := strings.Split(f.path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.address()+"/v1/workbenches/"+workbenchID+"/files/"+section+"/"+strings.Join(parts, "/"), nil)
	if err != nil {
		return err
	}
	answer, err := b.http.Do(call)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("get %s: status %d: %.300s", f.path, answer.StatusCode, body)
	case !bytes.Equal(body, f.body):
		return fmt.Errorf("get %s: %d bytes that are not the %d expected", f.path, len(body), len(f.body))
	case answer.Header.Get("ETag") != strconv.Quote(strconv.FormatInt(f.generation, 10)):
		return fmt.Errorf("get %s: ETag %s, generation %d", f.path, answer.Header.Get("ETag"), f.generation)
	}
	return nil
}

// compareCard holds a stat card against what must be there.
func (p *program) compareCard(ctx context.Context, f *file) error {
	card, err := p.stat(ctx, f.path)
	if err != nil {
		return fmt.Errorf("stat %s: %w", f.path, err)
	}
	if card.GetGeneration() != f.generation || card.GetDigestUri() != f.digest() || card.GetSizeBytes() != int64(len(f.body)) {
		return fmt.Errorf("stat %s: generation %d, %d bytes, %s; expected %d, %d, %s", f.path,
			card.GetGeneration(), card.GetSizeBytes(), card.GetDigestUri(), f.generation, len(f.body), f.digest())
	}
	return nil
}

// compareLines reads every record of a text file, page by page, and holds the
// lines against our own splitting.
func (p *program) compareLines(ctx context.Context, f *file) error {
	expected := textLines(string(f.body))
	var cursor *string
	limit := int32(300)
	for next := 0; ; {
		page, err := p.stub().Read(ctx, &workbenchv1.ReadRequest{Id: workbenchID, Section: section, Path: f.path, Cursor: cursor, Limit: &limit})
		if err != nil {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
		if page.GetRecordType() != "text_lines" || page.GetRecordCount() != int64(len(expected)) {
			return fmt.Errorf("read %s: %d %s, expected %d lines", f.path, page.GetRecordCount(), page.GetRecordType(), len(expected))
		}
		for _, item := range page.Items {
			var line string
			if err := json.Unmarshal([]byte(item.GetValueJson()), &line); err != nil {
				return fmt.Errorf("read %s: record %d is no string: %w", f.path, item.GetIndex(), err)
			}
			if int64(item.GetIndex()) != int64(next) || line != expected[next] {
				return fmt.Errorf("read %s: record %d differs", f.path, next)
			}
			next++
		}
		if page.NextCursor == nil {
			if next != len(expected) {
				return fmt.Errorf("read %s: %d of %d lines", f.path, next, len(expected))
			}
			return nil
		}
		cursor = page.NextCursor
	}
}
