package httpapi

import (
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

const (
	filesPrefix = "/v1/workbenches/"
	filesAllow  = "GET, HEAD, PUT"
	defaultType = "application/octet-stream"
)

// serveFiles answers /v1/workbenches/{id}/files/{section}/{path...}.
func (h *Handler) serveFiles(w http.ResponseWriter, r *http.Request) {
	ref, err := parseFilePath(r.URL)
	if err != nil {
		h.Fail(w, r, op.AreaWorkbench, err)
		return
	}
	files := h.o.Pipeline.Files()
	if files == nil {
		h.Fail(w, r, op.AreaWorkbench, fault.New(op.ReasonUnimplemented, ""))
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.send(w, r, files, ref, op.WorkbenchGetFileOp)
	case http.MethodHead:
		h.send(w, r, files, ref, op.WorkbenchHeadFileOp)
	case http.MethodPut:
		h.store(w, r, files, ref)
	default:
		w.Header()["Allow"] = []string{filesAllow}
		h.Fail(w, r, op.AreaWorkbench, fault.New(op.ReasonMethodNotAllowed, ""))
	}
}

// parseFilePath reads a file's address off the escaped path: split first, then decoded once (invariant 3).
func parseFilePath(u *url.URL) (op.FileRef, error) {
	var ref op.FileRef
	if u.RawQuery != "" {
		return ref, fault.New(op.ReasonWBInvalidArguments, "A file's address has no query string; encode a question mark in a name as %3F.")
	}
	parts := strings.SplitN(strings.TrimPrefix(u.EscapedPath(), filesPrefix), "/", 4)
	if len(parts) < 2 || parts[1] != "files" {
		return ref, fault.New(op.ReasonNotFoundRoute, "")
	}
	if len(parts) < 4 {
		return ref, fault.New(op.ReasonWBBadPath, "A file's address is /v1/workbenches/ID/files/SECTION/PATH.")
	}
	id, err := decodeComponent(parts[0])
	if err != nil {
		return ref, err
	}
	section, err := decodeComponent(parts[2])
	if err != nil {
		return ref, err
	}
	components := strings.Split(parts[3], "/")
	for i, c := range components {
		if components[i], err = decodeComponent(c); err != nil {
			return ref, err
		}
	}
	return op.FileRef{ID: id, Section: section, Path: strings.Join(components, "/")}, nil
}

// decodeComponent undoes the percent encoding of one path component, once: what is still encoded afterwards is a name.
// A component that decodes to a dot segment, or to something with a separator or NUL in it, names no file.
func decodeComponent(raw string) (string, error) {
	name, err := url.PathUnescape(raw)
	if err != nil || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return "", badPath()
	}
	return name, nil
}

func badPath() error { return fault.New(op.ReasonWBBadPath, "") }

// send answers GET and HEAD.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, files op.Files, ref op.FileRef, d *op.Descriptor) {
	caller := h.o.Pipeline.Via(call.HTTP, requestID(w))
	out := body.NewWriter(w)
	err := caller.Stream(r.Context(), d, func(ctx context.Context) error {
		f, err := files.OpenFile(ctx, ref)
		if err != nil {
			return err
		}
		defer f.Close()
		err = h.sendFile(ctx, w, r, out, ref, f)
		if gone := out.Failure(); gone != nil {
			return gone
		}
		return err
	})
	if err == nil {
		return
	}
	if out.Started() {
		// The status is out already. Only a broken connection tells the client that the body is not whole.
		panic(http.ErrAbortHandler)
	}
	var unsatisfiable *unsatisfiableError
	if errors.As(err, &unsatisfiable) {
		w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(unsatisfiable.size, 10))
	}
	h.Fail(w, r, op.AreaWorkbench, err)
}

type unsatisfiableError struct{ size int64 }

func (e *unsatisfiableError) Error() string { return "unsatisfiable range" }

func (h *Handler) sendFile(ctx context.Context, w http.ResponseWriter, r *http.Request, out *body.Writer, ref op.FileRef, f op.File) error {
	card := f.Card()
	ifMatch, ok1 := parseTags(r.Header["If-Match"])
	ifNoneMatch, ok2 := parseTags(r.Header["If-None-Match"])
	if !ok1 || !ok2 {
		return malformedTags()
	}
	if ifMatch.present && !ifMatch.matchesStrong(card.Generation) {
		return fault.New(op.ReasonPreconditionFailed, "").With("path", ref.Section+"/"+ref.Path).With("current_generation", card.Generation)
	}
	header := w.Header()
	tag := strongTag(card.Generation)
	header["Etag"] = []string{tag}
	header["Last-Modified"] = []string{card.ModifiedAt.UTC().Format(http.TimeFormat)}
	header["Cache-Control"] = revalidate
	if ifNoneMatch.present && ifNoneMatch.matchesWeak(card.Generation) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	digest := digestHeader(card.DigestURI)
	if digest != "" {
		header["Repr-Digest"] = []string{digest}
	}
	header["Accept-Ranges"] = acceptRanges
	header["X-Content-Type-Options"] = noSniff
	// A stored page must not run as a page of this server.
	header["Content-Security-Policy"] = sandbox
	contentType := card.ContentType
	if contentType == "" {
		contentType = defaultType
	}

	parts, verdict := []byteRange(nil), rangeNone
	if ranges := r.Header["Range"]; len(ranges) == 1 && r.Method == http.MethodGet && ifRange(r, tag) {
		parts, verdict = parseRange(ranges[0], card.SizeBytes)
	}
	switch {
	case verdict == rangeUnsatisfiable:
		for _, name := range []string{"Etag", "Last-Modified", "Repr-Digest"} {
			delete(header, name)
		}
		return fault.New(op.ReasonRangeNotSatisfiable, "").With("size_bytes", card.SizeBytes).Because(&unsatisfiableError{card.SizeBytes})
	case verdict == rangeParts && len(parts) == 1:
		header["Content-Type"] = []string{contentType}
		header["Content-Range"] = []string{parts[0].contentRange(card.SizeBytes)}
		header["Content-Length"] = []string{strconv.FormatInt(parts[0].length, 10)}
		w.WriteHeader(http.StatusPartialContent)
		return f.WriteRange(ctx, out, parts[0].offset, parts[0].length)
	case verdict == rangeParts:
		return sendParts(ctx, w, out, f, parts, contentType)
	}
	header["Content-Type"] = []string{contentType}
	header["Content-Length"] = []string{strconv.FormatInt(card.SizeBytes, 10)}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if digest != "" {
		header["Content-Digest"] = header["Repr-Digest"]
	}
	w.WriteHeader(http.StatusOK)
	if card.SizeBytes == 0 {
		return nil
	}
	return f.WriteRange(ctx, out, 0, card.SizeBytes)
}

var (
	acceptRanges = []string{"bytes"}
	sandbox      = []string{"default-src 'none'; sandbox"}
	revalidate   = []string{"no-cache"}
)

// ifRange reports whether a Range header counts: If-Range is absent, or names exactly this version. A date never
// does, since two versions may share one.
func ifRange(r *http.Request, tag string) bool {
	lines := r.Header["If-Range"]
	return len(lines) == 0 || len(lines) == 1 && lines[0] == tag
}

// sendParts answers with several ranges.
func sendParts(ctx context.Context, w http.ResponseWriter, out *body.Writer, f op.File, parts []byteRange, contentType string) error {
	size := f.Card().SizeBytes
	partHeader := func(p byteRange) textproto.MIMEHeader {
		return textproto.MIMEHeader{"Content-Type": {contentType}, "Content-Range": {p.contentRange(size)}}
	}
	// The envelope's length is found by writing it to nowhere.
	var length countingWriter
	measure := multipart.NewWriter(&length)
	for _, p := range parts {
		if _, err := measure.CreatePart(partHeader(p)); err != nil {
			return fmt.Errorf("measure a part: %w", err)
		}
		length += countingWriter(p.length)
	}
	if err := measure.Close(); err != nil {
		return fmt.Errorf("measure the parts: %w", err)
	}
	mw := multipart.NewWriter(out)
	if err := mw.SetBoundary(measure.Boundary()); err != nil {
		return fmt.Errorf("boundary: %w", err)
	}
	header := w.Header()
	header["Content-Type"] = []string{"multipart/byteranges; boundary=" + mw.Boundary()}
	header["Content-Length"] = []string{strconv.FormatInt(int64(length), 10)}
	w.WriteHeader(http.StatusPartialContent)
	for _, p := range parts {
		pw, err := mw.CreatePart(partHeader(p))
		if err != nil {
			return err
		}
		if err := f.WriteRange(ctx, pw, p.offset, p.length); err != nil {
			return err
		}
	}
	return mw.Close()
}

type countingWriter int64

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

func malformedTags() error {
	return fault.New(op.ReasonWBInvalidArguments, `If-Match and If-None-Match hold a star or entity tags, such as "7".`)
}
