package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

// digestHeader is the value of Repr-Digest and Content-Digest (RFC 9530) for a digest URI of the core, or "" when the
// URI is not a SHA-256.
func digestHeader(uri string) string {
	sum, ok := decodeDigestURI(uri)
	if !ok {
		return ""
	}
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":"
}

func decodeDigestURI(uri string) ([]byte, bool) {
	hexSum, found := strings.CutPrefix(uri, "sha256:")
	if !found || len(hexSum) != 2*sha256.Size {
		return nil, false
	}
	sum, err := hex.DecodeString(hexSum)
	return sum, err == nil
}

// parseDigest reads the sha-256 of a Content-Digest or Repr-Digest header. Other algorithms are passed over, as RFC
// 9530 allows. ok is false when the header is malformed, so that a digest that cannot be read is never ignored.
func parseDigest(lines []string) (sum []byte, ok bool) {
	for _, line := range lines {
		for member := range strings.SplitSeq(line, ",") {
			member = strings.Trim(member, " \t")
			if member == "" {
				return nil, false
			}
			key, value, found := strings.Cut(member, "=")
			if !found || len(value) < 2 || value[0] != ':' || value[len(value)-1] != ':' {
				return nil, false
			}
			raw, err := base64.StdEncoding.DecodeString(value[1 : len(value)-1])
			if err != nil {
				return nil, false
			}
			if key != "sha-256" {
				continue
			}
			if len(raw) != sha256.Size || sum != nil && !bytes.Equal(sum, raw) {
				return nil, false
			}
			sum = raw
		}
	}
	return sum, true
}

// verifyingReader reads a body to its end only if the body has the digest that the client announced: at the end of
// another body it returns err instead of io.EOF, so that whoever stores the body gives it up.
type verifyingReader struct {
	r      io.Reader
	h      hash.Hash
	want   []byte
	err    error
	failed bool
}

func newVerifyingReader(r io.Reader, want []byte, mismatch error) *verifyingReader {
	return &verifyingReader{r: r, h: sha256.New(), want: want, err: mismatch}
}

func (v *verifyingReader) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.h.Write(p[:n])
	if err == io.EOF && !bytes.Equal(v.h.Sum(nil), v.want) {
		v.failed = true
		return n, v.err
	}
	return n, err
}
