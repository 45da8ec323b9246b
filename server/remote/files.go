package remote

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

var _ op.Files = (*Client)(nil)

// OpenFile asks for a file's card. What is read through it later is of the same generation, or refused with
// PRECONDITION_FAILED: the server keeps nothing open for a client.
func (c *Client) OpenFile(ctx context.Context, ref op.FileRef) (op.File, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, c.fileURL(ref), nil)
	if err != nil {
		return nil, fault.New(op.ReasonInternal, "").Because(err)
	}
	resp, err := c.do(r)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// The answer to a HEAD has no envelope. A GET of nothing says the same in words.
		return nil, c.refusedFile(ctx, ref)
	}
	card, err := cardOf(resp)
	if err != nil {
		return nil, notOurs(err)
	}
	return &file{client: c, ref: ref, card: card}, nil
}

// refusedFile asks for a file in a way that is answered with an envelope.
func (c *Client) refusedFile(ctx context.Context, ref op.FileRef) error {
	resp, err := c.get(ctx, ref, "", "bytes=0-0")
	if err != nil {
		return err
	}
	resp.Body.Close()
	return fault.New(op.ReasonUnavailable, "The server answered two equal requests in two ways; try again.")
}

// get returns an answer with a body of the file, or the refusal.
func (c *Client) get(ctx context.Context, ref op.FileRef, ifMatch, span string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.fileURL(ref), nil)
	if err != nil {
		return nil, fault.New(op.ReasonInternal, "").Because(err)
	}
	if ifMatch != "" {
		r.Header.Set("If-Match", ifMatch)
	}
	if span != "" {
		r.Header.Set("Range", span)
	}
	resp, err := c.do(r)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refusedWith(ctx, resp)
}

func (c *Client) refusedWith(ctx context.Context, resp *http.Response) error {
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.unanswered(ctx, err)
	}
	return refusal(op.WorkbenchGetFileOp, resp.StatusCode, answer)
}

// StoreFile sends a body. A failure of the connection leaves open whether it was stored; the caller looks.
func (c *Client) StoreFile(ctx context.Context, ref op.FileRef, cond op.FileCondition, contentType string, body io.Reader, declaredSize int64) (op.FileCard, error) {
	// The client closes what it sends; the body is the caller's.
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.fileURL(ref), io.NopCloser(body))
	if err != nil {
		return op.FileCard{}, fault.New(op.ReasonInternal, "").Because(err)
	}
	r.ContentLength = declaredSize
	if declaredSize == 0 {
		r.Body = http.NoBody
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if cond.IfGeneration != nil {
		r.Header.Set("If-Match", tag(*cond.IfGeneration))
	}
	resp, err := c.do(r)
	if err != nil {
		return op.FileCard{}, c.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return op.FileCard{}, c.refusedWith(ctx, resp)
	}
	var res struct {
		Path        string `json:"path"`
		SizeBytes   int64  `json:"size_bytes"`
		Generation  int64  `json:"generation"`
		DigestURI   string `json:"digest_uri"`
		ContentType string `json:"content_type"`
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return op.FileCard{}, c.unanswered(ctx, err)
	}
	if err := json.Unmarshal(answer, &res); err != nil {
		return op.FileCard{}, notOurs(err)
	}
	return op.FileCard{Path: res.Path, SizeBytes: res.SizeBytes, Generation: res.Generation, DigestURI: res.DigestURI, ContentType: res.ContentType}, nil
}

func (c *Client) fileURL(ref op.FileRef) string {
	parts := strings.Split(ref.Path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return c.base + "/v1/workbenches/" + url.PathEscape(ref.ID) + "/files/" + url.PathEscape(ref.Section) + "/" + strings.Join(parts, "/")
}

func tag(generation int64) string { return `"` + strconv.FormatInt(generation, 10) + `"` }

// cardOf reads a card off the headers of a download.
func cardOf(resp *http.Response) (op.FileCard, error) {
	h := resp.Header
	generation, err := strconv.ParseInt(strings.Trim(h.Get("Etag"), `"`), 10, 64)
	if err != nil {
		return op.FileCard{}, errors.New("no generation in Etag")
	}
	sum, found := strings.CutPrefix(h.Get("Repr-Digest"), "sha-256=:")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(sum, ":"))
	if !found || err != nil || resp.ContentLength < 0 {
		return op.FileCard{}, errors.New("no digest or no length")
	}
	modified, _ := http.ParseTime(h.Get("Last-Modified")) // of no use to anybody here when it is not there
	return op.FileCard{Generation: generation, SizeBytes: resp.ContentLength, DigestURI: "sha256:" + hex.EncodeToString(raw),
		ContentType: h.Get("Content-Type"), ModifiedAt: modified.In(time.UTC)}, nil
}

// file is one generation of a file at a server.
type file struct {
	client *Client
	ref    op.FileRef
	card   op.FileCard
}

// Card implements op.File.
func (f *file) Card() op.FileCard { return f.card }

// Close implements op.File.
func (f *file) Close() error { return nil }

// WriteRange implements op.File. What was written before an error is good.
func (f *file) WriteRange(ctx context.Context, w io.Writer, off, n int64) error {
	if n == 0 {
		return nil
	}
	span := ""
	if off != 0 || n != f.card.SizeBytes {
		span = fmt.Sprintf("bytes=%d-%d", off, off+n-1)
	}
	resp, err := f.client.get(ctx, f.ref, tag(f.card.Generation), span)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if span != "" && resp.StatusCode != http.StatusPartialContent {
		return notOurs(errors.New("a range was answered with everything"))
	}
	written, err := io.Copy(w, io.LimitReader(resp.Body, n))
	switch {
	case err != nil:
		return f.client.unanswered(ctx, err)
	case written != n:
		return f.client.unanswered(ctx, io.ErrUnexpectedEOF)
	}
	return nil
}
