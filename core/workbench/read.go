package workbench

import (
	"context"
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/core/workbench/shape"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Formats of a read.
const (
	formatStructured = "structured"
	formatBytes      = "bytes"
)

// Read gives one page of a file: records in structured format, base64 of a byte
// range in bytes format, or nothing but the generation when the caller holds it
// already. At a snapshot it gives what the snapshot keeps.
func (w *Workbench) Read(ctx context.Context, req *op.WorkbenchReadRequest) (*op.WorkbenchReadResult, error) {
	p, err := jail.ParseTarget(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	if req.IfNoneMatch != nil && *req.IfNoneMatch < 0 {
		return nil, invalid("$.if_none_match", "must not be negative")
	}
	// What is wrong with the page matters only when there is going to be one.
	page, pageErr := parsePage(req)
	if pageErr != nil && req.IfNoneMatch == nil {
		return nil, pageErr
	}
	if err := checkSelector(req.AtSnapshot); err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	r := new(reading)
	defer r.close()
	unmodified := false
	err = w.look(ctx, t, p, req.AtSnapshot, func(v *kv.View, m moment) error {
		var ok bool
		var err error
		if r.file, ok, err = t.file(v, m.in, p.Full); err != nil {
			return err
		}
		if !ok {
			return notFound(p)
		}
		if err := m.accept(t, v, p.Full, &r.file); err != nil {
			return err
		}
		if req.IfNoneMatch != nil && uint64(*req.IfNoneMatch) == r.file.Generation {
			unmodified = true
			return nil
		}
		if pageErr != nil {
			return pageErr
		}
		r.pin(w, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	path := w.root.Path(p.ID, p.Full)
	res := &op.WorkbenchReadResult{
		WorkbenchID: p.ID, WorkbenchPath: path[:len(w.root)+1+len(p.ID)], Section: req.Section, RelativePath: p.Relative, Path: path,
		Generation: int64(r.file.Generation), NotModified: unmodified, AtSnapshot: req.AtSnapshot,
	}
	if unmodified {
		return res, nil
	}
	res.TotalSizeBytes, res.Format, res.Cursor = r.file.Body.Length, page.format, req.Cursor
	if page.format == formatBytes {
		err = r.fillBytes(ctx, res, page)
	} else {
		err = w.fillRecords(ctx, r, p, res, page)
	}
	if err != nil {
		return nil, err
	}
	res.Truncated = res.NextCursor != nil
	return res, nil
}

// readPage is where a page begins and how much it holds.
type readPage struct {
	format string
	at     int64
	limit  int64
}

func parsePage(req *op.WorkbenchReadRequest) (readPage, error) {
	page := readPage{format: formatStructured, limit: op.LimitReadDefaultLimit}
	if req.Format != nil {
		page.format = *req.Format
	}
	if page.format != formatStructured && page.format != formatBytes {
		return page, invalid("$.format", "must be structured or bytes")
	}
	if req.Limit != nil {
		page.limit = int64(*req.Limit)
	}
	if page.limit < 1 || page.limit > op.LimitReadMaxLimit {
		return page, invalid("$.limit", "must be from 1 to 300")
	}
	offset := int64(0)
	if req.Offset != nil {
		offset = *req.Offset
	}
	switch {
	case offset < 0:
		return page, invalid("$.offset", "must not be negative")
	case offset != 0 && page.format == formatStructured:
		return page, invalid("$.offset", "counts bytes and goes with format: bytes; records are paged with cursor")
	case offset != 0 && req.Cursor != nil:
		return page, invalid("$.offset", "and cursor exclude each other")
	}
	page.at = offset
	if req.Cursor != nil {
		var err error
		if page.at, err = parseReadCursor(*req.Cursor, page.format); err != nil {
			return page, err
		}
	}
	return page, nil
}

// The forms of a read cursor: the kind of thing counted, and how many come
// before the page.
const (
	recordCursor = "r:"
	byteCursor   = "b:"
)

func readCursorKind(format string) string {
	if format == formatBytes {
		return byteCursor
	}
	return recordCursor
}

func parseReadCursor(s, format string) (int64, error) {
	kind := readCursorKind(format)
	digits, ok := strings.CutPrefix(s, kind)
	if !ok || digits == "" || len(digits) > 19 {
		return 0, badCursor("must be one that this tool gave for format: " + format)
	}
	n := uint64(0)
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, badCursor("must be one that this tool gave for format: " + format)
		}
		n = n*10 + uint64(d)
	}
	if n > math.MaxInt64 {
		return 0, badCursor("lies past the end")
	}
	return int64(n), nil
}

func badCursor(rule string) error {
	return fault.New(op.ReasonWBBadCursor, "$.cursor: "+rule+"; start again without a cursor.")
}

// beyond refuses a page that begins after the end.
func (page readPage) beyond(req *string) error {
	if req != nil {
		return badCursor("lies past the end")
	}
	return invalid("$.offset", "lies past the end")
}

// nextReadCursor is null when nothing is left.
func nextReadCursor(format string, at, total int64) *string {
	if at >= total {
		return nil
	}
	s := readCursorKind(format) + strconv.FormatInt(at, 10)
	return &s
}

func (r *reading) fillBytes(ctx context.Context, res *op.WorkbenchReadResult, page readPage) error {
	total := r.file.Body.Length
	if page.at > total {
		return page.beyond(res.Cursor)
	}
	n := min(page.limit, total-page.at)
	data, err := r.span(ctx, page.at, n)
	if err != nil {
		return err
	}
	encoded, encoding := base64.StdEncoding.EncodeToString(data), "base64"
	res.Items = []op.WorkbenchReadItem{}
	res.Bytes, res.BytesEncoding = &encoded, &encoding
	res.NextCursor = nextReadCursor(page.format, page.at+n, total)
	return nil
}

// yamlWeight is how much more memory than its own size a YAML body takes while
// it is parsed.
const yamlWeight = 16

func (w *Workbench) fillRecords(ctx context.Context, r *reading, p jail.Place, res *op.WorkbenchReadResult, page readPage) error {
	size := r.file.Body.Length
	if size > w.o.MaxArtifactBytes {
		return tooLarge(size, w.o.MaxArtifactBytes, "The file is too large to be read by records; read it with format: bytes, or through the file route.")
	}
	weight := size
	if shape.FormOf(r.file.ContentType, p.Full) == shape.YAML {
		weight *= yamlWeight
	}
	release, err := w.reserve(ctx, weight)
	if err != nil {
		return err
	}
	defer release()
	body, err := r.all(ctx)
	if err != nil {
		return err
	}
	first := int(min(page.at, math.MaxInt32)) // a body has fewer records than bytes
	records, err := shape.Records(r.file.ContentType, p.Full, body, first, int(page.limit))
	if err != nil {
		return undecodable(err, p)
	}
	total := int64(records.Count)
	if page.at > total {
		return page.beyond(res.Cursor)
	}
	res.RecordType, res.RecordCount = &records.RecordType, &total
	res.Items = make([]op.WorkbenchReadItem, len(records.Items))
	for i, item := range records.Items {
		res.Items[i] = op.WorkbenchReadItem{Index: page.at + int64(i), Value: item}
	}
	res.NextCursor = nextReadCursor(page.format, page.at+int64(len(records.Items)), total)
	return nil
}

func undecodable(err error, p jail.Place) error {
	var d *shape.DecodeError
	switch {
	case errors.As(err, &d):
		return fault.New(op.ReasonWBStructuredDecodeFailed, d.Text+" format: bytes reads any file.").With("format", d.Format).With("path", p.Full)
	case errors.Is(err, shape.ErrInvalidUTF8):
		return fault.New(op.ReasonWBInvalidUTF8, "").With("path", p.Full)
	}
	return err
}
