package httpapi

import (
	"strconv"
	"strings"
)

// maxRanges bounds the parts of one answer. More ranges than that, or ranges that overlap, cost the server more than
// they save the client; HTTP lets us answer with the whole file then.
const maxRanges = 16

// byteRange is a stretch of a file: length bytes from offset on. length is at least 1.
type byteRange struct {
	offset, length int64
}

// contentRange is the value of the Content-Range header for r in a file of size bytes.
func (r byteRange) contentRange(size int64) string {
	return "bytes " + strconv.FormatInt(r.offset, 10) + "-" + strconv.FormatInt(r.offset+r.length-1, 10) + "/" + strconv.FormatInt(size, 10)
}

// rangeVerdict says what to do about a Range header.
type rangeVerdict uint8

const (
	rangeNone          rangeVerdict = iota // send the whole file
	rangeParts                             // send the ranges
	rangeUnsatisfiable                     // 416
)

// parseRange reads a Range header against a file of size bytes.
//
// A header that does not follow the grammar, has another unit, asks for too many ranges or for overlapping ones is
// ignored, as HTTP allows. It is unsatisfiable when it is well formed and none of its ranges touches the file.
func parseRange(header string, size int64) ([]byteRange, rangeVerdict) {
	unit, set, found := strings.Cut(header, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return nil, rangeNone
	}
	var parts []byteRange
	specs := 0
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" {
			continue
		}
		if specs++; specs > maxRanges {
			return nil, rangeNone
		}
		first, last, found := strings.Cut(spec, "-")
		if !found {
			return nil, rangeNone
		}
		r, satisfiable, ok := resolveRange(first, last, size)
		if !ok {
			return nil, rangeNone
		}
		if satisfiable {
			parts = append(parts, r)
		}
	}
	if specs == 0 {
		return nil, rangeNone
	}
	if len(parts) == 0 {
		return nil, rangeUnsatisfiable
	}
	if overlap(parts) {
		return nil, rangeNone
	}
	return parts, rangeParts
}

func resolveRange(first, last string, size int64) (r byteRange, satisfiable, ok bool) {
	if first == "" {
		n, ok := parsePosition(last)
		if !ok {
			return r, false, false
		}
		n = min(n, size)
		return byteRange{size - n, n}, n > 0, true
	}
	from, ok := parsePosition(first)
	if !ok {
		return r, false, false
	}
	to := size - 1
	if last != "" {
		if to, ok = parsePosition(last); !ok || to < from {
			return r, false, false
		}
		to = min(to, size-1)
	}
	return byteRange{from, to - from + 1}, from < size, true
}

// parsePosition reads decimal digits only: no sign, no blank. A number beyond int64 is taken as the largest one.
func parsePosition(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 1<<63 - 1, true
	}
	return n, true
}

// overlap reports whether two of the ranges share a byte.
func overlap(parts []byteRange) bool {
	for i, a := range parts {
		for _, b := range parts[:i] {
			if a.offset < b.offset+b.length && b.offset < a.offset+a.length {
				return true
			}
		}
	}
	return false
}
