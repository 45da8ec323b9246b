package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// peekSize is the body length from which a refusal is looked for before the body is read: uploading a large body only
// to hear that the name is taken is a waste, and a small one costs less than the look.
const peekSize = 256 << 10

// store answers PUT.
func (h *Handler) store(w http.ResponseWriter, r *http.Request, files op.Files, ref op.FileRef) {
	caller := h.o.Pipeline.Via(call.HTTP, requestID(w))
	var card op.FileCard
	var cond op.FileCondition
	var up *upload
	err := caller.Stream(r.Context(), op.WorkbenchStoreFileOp, func(ctx context.Context) (err error) {
		if up, err = h.upload(w, r); err != nil {
			return err
		}
		if cond, err = condition(ctx, files, ref, up); err != nil {
			return err
		}
		card, err = files.StoreFile(ctx, ref, cond, up.contentType, up, r.ContentLength)
		if theirs := up.failure(); theirs != nil {
			return theirs
		}
		return preconditioned(err, cond)
	})
	if err != nil {
		hangUp(w, r, up)
		h.Fail(w, r, op.AreaWorkbench, err)
		if r.ProtoMajor > 1 && (up == nil || !up.paced.Ended()) {
			discard(w, r)
		}
		return
	}
	res := op.WorkbenchPutFileResult{
		WorkbenchID: ref.ID, Section: ref.Section, RelativePath: ref.Path, Path: card.Path, SizeBytes: card.SizeBytes,
		Generation: card.Generation, DigestURI: card.DigestURI, ContentType: card.ContentType, Replace: cond.IfGeneration != nil,
	}
	status := http.StatusCreated
	if res.Replace {
		status = http.StatusOK
	}
	w.Header()["Etag"] = []string{strongTag(card.Generation)}
	out := answers.Get().(*[]byte)
	*out = res.AppendJSON((*out)[:0])
	writeJSON(w, r, op.AreaWorkbench, status, *out)
	recycle(out)
}

// restSize is how much of a refused body is read so that the connection can go on; net/http does so by itself.
const restSize = 256 << 10

// hangUp says before a refusal that nothing comes after it on the connection, when much of the body is still to come. The
// answer is then sent at once, without waiting for any of that.
func hangUp(w http.ResponseWriter, r *http.Request, up *upload) {
	if r.ProtoMajor != 1 || r.ContentLength == 0 || up != nil && up.paced.Ended() {
		return
	}
	left := r.ContentLength
	if up != nil && left > 0 {
		left -= up.paced.Count()
	}
	if left < 0 || left > restSize {
		w.Header()["Connection"] = []string{"close"}
	}
}

// discard lets an answer over HTTP/2 arrive before its stream is reset: some clients that are sending still drop it otherwise,
// though they must not. Others stop sending and wait for the end, which then comes soon. Over HTTP/1.1 the connection sees to
// that when it is closed.
func discard(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	if rc.Flush() != nil {
		return
	}
	buf := make([]byte, 32<<10)
	began := time.Now()
	for left := int64(body.LingerMost); left > 0 && time.Since(began) < body.LingerFor; {
		if rc.SetReadDeadline(time.Now().Add(stopped)) != nil {
			return
		}
		n, err := r.Body.Read(buf)
		if left -= int64(n); err != nil {
			return
		}
	}
}

// stopped is how long a client sends nothing when it has seen that its body is not wanted.
const stopped = 200 * time.Millisecond

// upload is the body of a PUT on its way in, and what its headers say.
type upload struct {
	io.Reader
	paced       *body.Reader
	limit       int64
	length      int64 // announced; -1 when not
	contentType string
	ifMatch     tagList
	verified    []*verifyingReader
}

// upload checks the headers of a PUT and opens its body.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request) (*upload, error) {
	if enc := r.Header["Content-Encoding"]; len(enc) > 0 && !(len(enc) == 1 && strings.EqualFold(enc[0], "identity")) {
		return nil, fault.New(op.ReasonUnsupportedMediaType, "Send the file without a content encoding: its bytes are stored as they come.")
	}
	if len(r.Header["Content-Range"]) > 0 {
		return nil, fault.New(op.ReasonWBInvalidArguments, "A PUT stores a whole file; Content-Range is not understood.")
	}
	up := &upload{limit: h.o.MaxFileBytes, length: r.ContentLength, contentType: defaultType}
	switch types := r.Header["Content-Type"]; len(types) {
	case 0:
	case 1:
		if types[0] != "" {
			up.contentType = types[0]
		}
	default:
		return nil, fault.New(op.ReasonWBInvalidArguments, "Content-Type is given more than once.")
	}
	var ok bool
	if up.ifMatch, ok = parseTags(r.Header["If-Match"]); !ok {
		return nil, malformedTags()
	}
	none, ok := parseTags(r.Header["If-None-Match"])
	switch {
	case !ok:
		return nil, malformedTags()
	case none.present && up.ifMatch.present:
		return nil, fault.New(op.ReasonWBInvalidArguments, "If-Match replaces and If-None-Match creates; send one of them.")
	case none.present && !none.any:
		return nil, fault.New(op.ReasonWBInvalidArguments, "On a PUT, If-None-Match is a star: it creates, which is the default.")
	}
	if r.ContentLength > up.limit {
		return nil, fault.New(op.ReasonWBPayloadTooLarge, "The file is larger than this server stores.").With("actual_bytes", r.ContentLength).With("maximum_bytes", up.limit)
	}
	up.paced = body.NewReader(w, http.MaxBytesReader(w, r.Body, up.limit))
	up.Reader = up.paced
	for _, name := range []string{"Content-Digest", "Repr-Digest"} {
		lines := r.Header[name]
		if len(lines) == 0 {
			continue
		}
		sum, ok := parseDigest(lines)
		if !ok {
			return nil, fault.Newf(op.ReasonWBInvalidArguments, "%s is malformed; it reads sha-256=:BASE64:", name)
		}
		if sum != nil {
			v := newVerifyingReader(up.Reader, sum, fault.Newf(op.ReasonWBInvalidArguments, "The body does not have the digest that %s announces.", name))
			up.verified = append(up.verified, v)
			up.Reader = v
		}
	}
	return up, nil
}

// failure is what the client did wrong while the body came in; nil when it did nothing wrong.
func (u *upload) failure() error {
	err := u.paced.Failure()
	if err == nil {
		for _, v := range u.verified {
			if v.failed {
				return v.err
			}
		}
		return nil
	}
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return fault.New(op.ReasonWBPayloadTooLarge, "The file is larger than this server stores.").With("actual_bytes", u.paced.Count()+1).With("maximum_bytes", u.limit)
	}
	return err
}

// condition turns the preconditions into the one generation that may be replaced, or into none, which creates
// (invariant 5). Where the present state already decides against the client, it says so before the body is read.
func condition(ctx context.Context, files op.Files, ref op.FileRef, up *upload) (op.FileCondition, error) {
	if !up.ifMatch.present {
		if up.length >= 0 && up.length < peekSize {
			return op.FileCondition{}, nil
		}
		f, err := files.OpenFile(ctx, ref)
		if err != nil {
			// Nothing there is what a creation hopes for; whatever else is wrong, the store itself will say.
			return op.FileCondition{}, nil
		}
		defer f.Close()
		card := f.Card()
		return op.FileCondition{}, fault.New(op.ReasonWBAlreadyExists, taken).With("conflict", "PathGeneration").
			With("path", ref.Section+"/"+ref.Path).With("generation", card.Generation).With("digest_uri", card.DigestURI)
	}
	f, err := files.OpenFile(ctx, ref)
	if fault.Is(err, op.ReasonWBNotFound) {
		return op.FileCondition{}, fault.New(op.ReasonPreconditionFailed, "No file is stored here, so there is nothing to replace.").With("path", ref.Section+"/"+ref.Path)
	}
	if err != nil {
		return op.FileCondition{}, err
	}
	defer f.Close()
	card := f.Card()
	if !up.ifMatch.matchesStrong(card.Generation) {
		return op.FileCondition{}, fault.New(op.ReasonPreconditionFailed, "").With("path", ref.Section+"/"+ref.Path).With("current_generation", card.Generation)
	}
	return op.FileCondition{IfGeneration: &card.Generation}, nil
}

// taken says how to replace a file on this route.
const taken = "A file is already stored at this path. To replace it, send its ETag in If-Match."

// preconditioned says in HTTP's words that the file changed while its successor was on the way.
func preconditioned(err error, cond op.FileCondition) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	if cond.IfGeneration == nil {
		if e.Reason == op.ReasonWBAlreadyExists {
			said := *e
			said.Message = taken
			return &said
		}
		return err
	}
	switch e.Reason {
	case op.ReasonWBGenerationConflict, op.ReasonWBNotFound:
		out := fault.New(op.ReasonPreconditionFailed, "").Because(e)
		for _, key := range []string{"path", "current_generation"} {
			if v, ok := e.Detail(key); ok {
				out.With(key, v)
			}
		}
		return out
	}
	return err
}
