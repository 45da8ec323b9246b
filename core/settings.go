package core

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// The root that holds the settings of the whole directory, and their names.
// Part of the store's format.
const (
	settingsArea = "core"
	settingsName = "settings"

	settingWorkbenchRoot = "workbench_root"
	settingCursorKey     = "cursor_key"
)

const cursorKeyLen = 32

// settings are written once, by the first opening (CORE-2).
type settings struct {
	root      jail.Root
	cursorKey []byte
}

// loadSettings reads the settings and writes those that are missing. wanted is
// the presentation root asked for, "" when none was.
func loadSettings(ctx context.Context, s *kv.Store, wanted jail.Root) (settings, error) {
	at, err := s.Root(ctx, settingsArea, "", settingsName)
	if err != nil {
		return settings{}, err
	}
	fresh := make([]byte, cursorKeyLen)
	if _, err := io.ReadFull(s.IDs(), fresh); err != nil {
		return settings{}, fmt.Errorf("core: id source: %w", err)
	}
	var out settings
	err = s.Update(ctx, at, func(tx *kv.Tx) error {
		root := wanted
		if root == "" {
			root = jail.DefaultRoot
		}
		stored, err := keep(tx, settingWorkbenchRoot, []byte(root))
		if err != nil {
			return err
		}
		if wanted != "" && string(stored) != string(wanted) {
			return fmt.Errorf("%w: the data directory was made with %q, and %q was asked for", ErrWorkbenchRoot, stored, wanted)
		}
		out.root = jail.Root(stored)
		out.cursorKey, err = keep(tx, settingCursorKey, fresh)
		return err
	})
	return out, err
}

// keep returns the stored value of a setting, after storing value when there is
// none.
func keep(tx *kv.Tx, name string, value []byte) ([]byte, error) {
	key := keys.AppendSetting(nil, tx.Root().ID(), name)
	row, ok, err := tx.Get(key)
	if err != nil {
		return nil, err
	}
	if !ok {
		tx.Put(key, record.AppendSetting(nil, record.Setting{Value: value}))
		return value, nil
	}
	s, err := record.DecodeSetting(row.Bytes)
	if err != nil {
		return nil, fmt.Errorf("core: setting %s: %w", name, err)
	}
	return bytes.Clone(s.Value), nil
}
