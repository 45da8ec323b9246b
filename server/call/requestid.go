package call

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

// maxRequestIDLen bounds an id that a client brings.
const maxRequestIDLen = 128

// IDs makes request ids: unique within the process by a counter, and between processes by a random prefix.
type IDs struct {
	prefix string
	next   atomic.Uint64
}

// NewIDs returns a source of request ids.
func NewIDs() *IDs {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand ends the process instead)
	return &IDs{prefix: hex.EncodeToString(b[:]) + "-"}
}

// Next returns a new id.
func (s *IDs) Next() string {
	var b [40]byte
	id := append(b[:0], s.prefix...)
	return string(strconv.AppendUint(id, s.next.Add(1), 36))
}

// Accept returns a client's id when it is fit for logs and headers, and a new one otherwise.
func (s *IDs) Accept(theirs string) string {
	if theirs == "" || len(theirs) > maxRequestIDLen {
		return s.Next()
	}
	for i := range len(theirs) {
		switch c := theirs[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return s.Next()
		}
	}
	return theirs
}
