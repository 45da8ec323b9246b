package blob

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt says that stored bytes are not those that were written: a
	// checksum, a digest, a length or a row is wrong. Every such error wraps it.
	ErrCorrupt = errors.New("blob: stored bytes are damaged")
	// ErrStagingGone says that an upload can no longer be published: it was
	// published already, released, or so slow that it was given up.
	ErrStagingGone = errors.New("blob: the upload is no longer there to publish")
	// ErrNotReady says that an append needs work that an Update must not do. The
	// caller leaves the Update, calls Prepare with the same base, and tries again.
	ErrNotReady = errors.New("blob: the append has to be prepared outside of the update")
	// ErrRange says that a range is not inside the body.
	ErrRange = errors.New("blob: range is outside of the body")
	// ErrClosed says that the store, or an open body, was closed.
	ErrClosed = errors.New("blob: closed")
)

// corrupt returns an error that wraps ErrCorrupt. The text is for the log.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
