package workbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// OpenFile pins the present revision of a file. The caller closes it.
func (w *Workbench) OpenFile(ctx context.Context, ref op.FileRef) (op.File, error) {
	p, err := jail.ParseTarget(ref.ID, ref.Section, ref.Path)
	if err != nil {
		return nil, named(err)
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	r, err := w.open(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return &openFile{r, w.card(p, &r.file)}, nil
}

func (w *Workbench) card(p jail.Place, f *record.File) op.FileCard {
	return op.FileCard{
		Generation: int64(f.Generation), SizeBytes: f.Body.Length, DigestURI: digestURI(f.Body.SHA256),
		ContentType: f.ContentType, Path: w.root.Path(p.ID, p.Full), ModifiedAt: time.UnixMilli(f.ModifiedMillis).UTC(),
	}
}

// openFile implements op.File.
type openFile struct {
	*reading
	card op.FileCard
}

func (f *openFile) Card() op.FileCard { return f.card }

func (f *openFile) WriteRange(ctx context.Context, out io.Writer, off, n int64) error {
	return bodyFault(f.body.WriteRange(ctx, out, off, n))
}

func (f *openFile) Close() error {
	f.body.Close()
	return nil
}

// sourceError marks the failure of a body that a caller sends, which is not the
// store's.
type sourceError struct{ err error }

func (e sourceError) Error() string { return "reading the body: " + e.err.Error() }
func (e sourceError) Unwrap() error { return e.err }

// StoreFile publishes a body that streams in; it holds a bounded part of it in
// memory. The condition is looked at before the first byte is taken, and decided
// when the last one is there.
func (w *Workbench) StoreFile(ctx context.Context, ref op.FileRef, cond op.FileCondition, contentType string, body io.Reader, declaredSize int64) (op.FileCard, error) {
	p, err := jail.ParseWritable(ref.ID, ref.Section, ref.Path)
	if err != nil {
		return op.FileCard{}, named(err)
	}
	if contentType == "" {
		contentType = binaryType
	}
	if err := checkContentType(contentType); err != nil {
		return op.FileCard{}, err
	}
	if declaredSize > w.o.MaxBodyBytes {
		return op.FileCard{}, w.bodyTooLarge(declaredSize)
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return op.FileCard{}, err
	}
	c := condition{kind: createOnly}
	if cond.IfGeneration != nil {
		c = condition{replaceExactly, *cond.IfGeneration}
	}
	if err := w.foresee(ctx, t, p, c); err != nil {
		return op.FileCard{}, err
	}
	source := &limitedSource{r: body, left: w.o.MaxBodyBytes}
	sealed, err := w.bodies.Put(ctx, t.root, source)
	if err != nil {
		return op.FileCard{}, w.uploadFault(err, source)
	}
	defer sealed.Release()
	if declaredSize >= 0 && sealed.Size() != declaredSize {
		return op.FileCard{}, invalid("$", fmt.Sprintf("the body has %d bytes, and %d were announced", sealed.Size(), declaredSize))
	}
	f, err := w.put(ctx, t, p, c, record.File{ContentType: contentType}, sealed)
	if err != nil {
		return op.FileCard{}, err
	}
	return w.card(p, &f), nil
}

func (w *Workbench) bodyTooLarge(actual int64) error {
	return tooLarge(actual, w.o.MaxBodyBytes, "The body is larger than this server stores.")
}

func (w *Workbench) uploadFault(err error, source *limitedSource) error {
	var s sourceError
	switch {
	case source.over:
		return w.bodyTooLarge(w.o.MaxBodyBytes + 1)
	case errors.As(err, &s):
		var coded *fault.Error
		if errors.As(err, &coded) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return fault.From(s.err)
		}
		return fault.New(op.ReasonCancelled, "The body ended before it was complete.").Because(err)
	}
	return bodyFault(err)
}

// limitedSource reads at most left bytes, and one more to see that there are no
// more.
type limitedSource struct {
	r    io.Reader
	left int64
	over bool
}

var errOverLimit = errors.New("workbench: the body is over the limit")

func (l *limitedSource) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		l.over = true
		return 0, sourceError{errOverLimit}
	}
	l.left -= int64(n)
	if err != nil && err != io.EOF {
		err = sourceError{err}
	}
	return n, err
}
