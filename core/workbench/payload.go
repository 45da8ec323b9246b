package workbench

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Content types of a payload whose caller names none.
const (
	textType   = "text/plain; charset=utf-8"
	binaryType = "application/octet-stream"
)

// maxContentTypeBytes bounds a content type.
const maxContentTypeBytes = 255

// payload is the body that a call brings, decoded.
type payload struct {
	data        []byte
	contentType string
	named       bool // the caller named the content type
}

// decodePayload takes exactly one of text and base64. An empty one beside a
// filled one counts as absent: agents send both.
func decodePayload(text, encoded, contentType *string, maximum int64) (payload, error) {
	if text != nil && encoded != nil {
		switch {
		case *text == "" && *encoded != "":
			text = nil
		case *encoded == "" && *text != "":
			encoded = nil
		}
	}
	var p payload
	switch {
	case text != nil && encoded != nil:
		return p, invalid("$", "text and base64 exclude each other; give one of them")
	case text != nil:
		if int64(len(*text)) > maximum {
			return p, oversized(int64(len(*text)), maximum)
		}
		if !utf8.ValidString(*text) {
			return p, invalid("$.text", "must be valid UTF-8; send other bytes as base64")
		}
		p.data, p.contentType = []byte(*text), textType
	case encoded != nil:
		var err error
		if p.data, err = decodeBase64(*encoded, maximum); err != nil {
			return p, err
		}
		p.contentType = binaryType
	default:
		return p, invalid("$", "needs one of text and base64; an empty text makes an empty file")
	}
	if contentType != nil {
		if err := checkContentType(*contentType); err != nil {
			return p, err
		}
		p.contentType, p.named = strings.Clone(*contentType), true
	}
	return p, nil
}

func oversized(actual, maximum int64) error {
	return tooLarge(actual, maximum, "The content is larger than this tool carries; store it through the file route, or in parts with workbench_append.")
}

// decodeBase64 reads the standard alphabet with padding, and nothing beside it:
// the library would skip line breaks.
func decodeBase64(encoded string, maximum int64) ([]byte, error) {
	if strings.ContainsAny(encoded, "\r\n") {
		return nil, invalid("$.base64", "must be standard base64 with padding, without line breaks")
	}
	size := int64(base64.StdEncoding.DecodedLen(len(encoded)))
	if strings.HasSuffix(encoded, "==") {
		size -= 2
	} else if strings.HasSuffix(encoded, "=") {
		size--
	}
	if size > maximum {
		return nil, oversized(size, maximum)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, invalid("$.base64", "must be standard base64 with padding")
	}
	return data, nil
}

// checkContentType refuses what could not stand in a header: it comes back as
// one.
func checkContentType(s string) error {
	if s == "" || len(s) > maxContentTypeBytes || !utf8.ValidString(s) {
		return invalid("$.content_type", "must be 1 to 255 bytes of UTF-8")
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7F {
			return invalid("$.content_type", "must not contain control characters")
		}
	}
	return nil
}
