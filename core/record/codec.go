package record

import (
	"encoding/binary"
	"errors"
	"time"
)

var (
	// ErrMalformed says that bytes are not a record of the kind asked for.
	ErrMalformed = errors.New("record: malformed value")
	// ErrVersion says that a record was written by a newer version of the program.
	ErrVersion = errors.New("record: version is newer than this program")
)

// AppendUint appends n as a varint.
func AppendUint(dst []byte, n uint64) []byte { return binary.AppendUvarint(dst, n) }

// AppendInt appends n as a zigzag varint.
func AppendInt(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

// AppendBool appends one byte, 0 or 1.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendBytes appends the length of b and b.
func AppendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// AppendTime appends an instant with the resolution of a millisecond. The zero
// Time is an instant like others: a field that may be unset needs a bool.
func AppendTime(dst []byte, t time.Time) []byte { return AppendInt(dst, t.UnixMilli()) }

// AppendOptBytes appends a byte string that may be absent.
func AppendOptBytes[T ~string | ~[]byte](dst []byte, present bool, b T) []byte {
	dst = AppendBool(dst, present)
	if !present {
		return dst
	}
	return AppendBytes(dst, b)
}

// Reader takes a value apart. The first mistake sticks: after it every method
// returns zero, and Done returns the mistake. The zero Reader is at the end of
// an empty value.
type Reader struct {
	rest []byte
	err  error
}

// NewReader splits the version byte off value. Versions run from 1 to newest.
func NewReader(value []byte, newest byte) (version byte, r Reader) {
	switch {
	case len(value) == 0 || value[0] == 0:
		return 0, Reader{err: ErrMalformed}
	case value[0] > newest:
		return 0, Reader{err: ErrVersion}
	}
	return value[0], Reader{rest: value[1:]}
}

// Part returns a reader of a part that has no version byte of its own.
func Part(b []byte) Reader { return Reader{rest: b} }

func (r *Reader) fail() {
	if r.err == nil {
		r.err = ErrMalformed
	}
	r.rest = nil
}

// Fail marks the value as malformed, for a rule that the caller knows.
func (r *Reader) Fail() { r.fail() }

// Failed reports whether a mistake was met.
func (r *Reader) Failed() bool { return r.err != nil }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// Uint reads a varint in its shortest form.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 1 && r.rest[size-1] == 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Int reads a zigzag varint in its shortest form.
func (r *Reader) Int() int64 {
	u := r.Uint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// Bool reads one byte that is 0 or 1.
func (r *Reader) Bool() bool {
	switch r.Byte() {
	case 0:
		return false
	case 1:
		return true
	}
	r.fail()
	return false
}

// Bytes reads a byte string; the result aliases the value.
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	return r.Fixed(int(n))
}

// String reads a byte string into a string of its own.
func (r *Reader) String() string { return string(r.Bytes()) }

// Fixed reads n bytes; the result aliases the value.
func (r *Reader) Fixed(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// OptString reads what AppendOptBytes wrote.
func (r *Reader) OptString() (s string, present bool) {
	if !r.Bool() {
		return "", false
	}
	return r.String(), !r.Failed()
}

// Time reads an instant, in UTC.
func (r *Reader) Time() time.Time { return time.UnixMilli(r.Int()).UTC() }

// Done returns the first mistake; bytes left over are one.
func (r *Reader) Done() error {
	if r.err == nil && len(r.rest) != 0 {
		r.err = ErrMalformed
	}
	return r.err
}
