package workbench

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// A list cursor is base64url of
//
//	version 2 | incarnation 16 | snapshot id 8 | fence 8 | name of the last child | MAC 16
//
// The MAC also covers what the token does not hold: the root, the workbench,
// the directory and the selector as it was given. A token shown for another scope
// fails as a forged one does (WB-7).
const (
	listCursorVersion = 2
	listCursorHeader  = 1 + keys.IncarnationLen + 8 + 8
	cursorMACLen      = 16
	maxListCursor     = 8 << 10
)

const listCursorDomain = "sawhorse.workbench.list-cursor.v2\x00"

// Kinds of selector, in what the MAC covers.
const (
	selectorLive byte = 0
	selectorID   byte = 1
	selectorName byte = 2
)

// listCursor is where a listing goes on.
type listCursor struct {
	incarnation keys.Incarnation
	snapshot    uint64 // 0 in a live listing
	// fence must be what it was when the token was made: the content revision of a
	// live listing, the revision that a snapshot shows.
	fence uint64
	last  string
}

func (w *Workbench) sealListCursor(t *tenant, p jail.Place, sel *op.IntOrString, c listCursor) string {
	token := make([]byte, 0, listCursorHeader+len(c.last)+cursorMACLen)
	token = append(append(token, listCursorVersion), c.incarnation[:]...)
	token = binary.BigEndian.AppendUint64(token, c.snapshot)
	token = binary.BigEndian.AppendUint64(token, c.fence)
	token = append(token, c.last...)
	mac := w.listCursorMAC(t, p, sel, token)
	return base64.RawURLEncoding.EncodeToString(append(token, mac[:cursorMACLen]...))
}

// decodeToken reads a cursor's bytes. A token has one spelling: line breaks, which
// the decoder would pass over, are none.
func decodeToken(s string) (token []byte, ok bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	token, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return token, err == nil
}

// openListCursor returns false for a token that was not made here for this very
// scope.
func (w *Workbench) openListCursor(t *tenant, p jail.Place, sel *op.IntOrString, s string) (c listCursor, ok bool) {
	if len(s) > maxListCursor {
		return c, false
	}
	token, ok := decodeToken(s)
	if !ok || len(token) < listCursorHeader+1+cursorMACLen {
		return c, false
	}
	token, given := token[:len(token)-cursorMACLen], token[len(token)-cursorMACLen:]
	mac := w.listCursorMAC(t, p, sel, token)
	if !hmac.Equal(mac[:cursorMACLen], given) || token[0] != listCursorVersion {
		return c, false
	}
	copy(c.incarnation[:], token[1:])
	c.snapshot = binary.BigEndian.Uint64(token[1+keys.IncarnationLen:])
	c.fence = binary.BigEndian.Uint64(token[1+keys.IncarnationLen+8:])
	c.last = string(token[listCursorHeader:])
	return c, true
}

func (w *Workbench) listCursorMAC(t *tenant, p jail.Place, sel *op.IntOrString, token []byte) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, w.o.CursorKey)
	scope := append(make([]byte, 0, 256), listCursorDomain...)
	scope = binary.BigEndian.AppendUint32(scope, t.root.ID())
	for _, part := range [...]string{p.ID, p.Full} {
		scope = binary.BigEndian.AppendUint64(scope, uint64(len(part)))
		scope = append(scope, part...)
	}
	switch {
	case sel == nil:
		scope = append(scope, selectorLive)
	case sel.IsString:
		scope = binary.BigEndian.AppendUint64(append(scope, selectorName), uint64(len(sel.Str)))
		scope = append(scope, sel.Str...)
	default:
		scope = binary.BigEndian.AppendUint64(append(scope, selectorID), uint64(sel.Int))
	}
	h.Write(scope)
	h.Write(token)
	h.Sum(sum[:0])
	return sum
}
