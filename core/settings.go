package core

import (
	"context"
	"fmt"
	"io"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// Names of facts about the data directory. Part of the store's format.
const (
	factWorkbenchRoot = "workbench_root"
	factCursorKey     = "workbench_cursor_key"
)

const cursorKeyLen = 32

// settings are those of the first opening (CORE-2).
type settings struct {
	root      jail.Root
	cursorKey []byte
}

// loadSettings reads the settings, after writing those that are missing. wanted
// is the presentation root asked for, "" when none was.
func loadSettings(ctx context.Context, s *kv.Store, wanted jail.Root) (settings, error) {
	root := wanted
	if root == "" {
		root = jail.DefaultRoot
	}
	stored, err := s.SetFact(ctx, factWorkbenchRoot, []byte(root))
	if err != nil {
		return settings{}, err
	}
	if wanted != "" && string(stored) != string(wanted) {
		return settings{}, OtherRoot(string(stored), string(wanted))
	}
	key, ok, err := s.Fact(factCursorKey)
	if err == nil && !ok {
		key = make([]byte, cursorKeyLen)
		if _, err := io.ReadFull(s.IDs(), key); err != nil {
			return settings{}, fmt.Errorf("core: id source: %w", err)
		}
		key, err = s.SetFact(ctx, factCursorKey, key)
	}
	return settings{jail.Root(stored), key}, err
}
