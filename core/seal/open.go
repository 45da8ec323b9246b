package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// ErrKey says that the key file is missing or holds another key than the one
// that the store has seen (SEAL-3). Putting the right file back is the cure.
var ErrKey = errors.New("seal: the key file is not the one that belongs to this store")

// Open returns the sealer of an installation, and mints its key at the first
// start. root is where the key's name is remembered; it is the same at every
// start.
//
// Errors: ErrKey; what makes the file unusable; those of kv.Update.
func Open(ctx context.Context, s *kv.Store, root kv.Root, file KeyFile) (*Sealer, error) {
	known, err := knownKey(ctx, s, root)
	if err != nil {
		return nil, err
	}
	key, err := file.load()
	switch {
	case errors.Is(err, errNoKey) && known == nil:
		// The file first: a name without a key would look like a lost key.
		key = mint()
		if err := file.store(key); err != nil {
			return nil, err
		}
	case errors.Is(err, errNoKey):
		return nil, fmt.Errorf("%w: it is missing", ErrKey)
	case err != nil:
		return nil, err
	}
	sealer, err := New(key)
	clear(key)
	if err != nil {
		return nil, err
	}
	if known != nil && *known != sealer.id {
		return nil, fmt.Errorf("%w: it holds key %v, the store knows %v", ErrKey, sealer.id, *known)
	}
	if known == nil {
		if err := remember(ctx, s, root, sealer.id); err != nil {
			return nil, err
		}
	}
	s.RegisterCheck("seal", checkOf(root, sealer.id))
	return sealer, nil
}

func knownKey(ctx context.Context, s *kv.Store, root kv.Root) (known *KeyID, err error) {
	err = s.View(ctx, root, func(v *kv.View) error {
		row, ok, err := v.Get(keys.AppendSeal(nil, root.ID()))
		if err != nil || !ok {
			return err
		}
		rec, err := record.DecodeSealKey(row.Bytes)
		if err != nil {
			return fmt.Errorf("seal: row of the key: %w", err)
		}
		id := KeyID(rec.ID)
		known = &id
		return nil
	})
	return known, err
}

func remember(ctx context.Context, s *kv.Store, root kv.Root, id KeyID) error {
	return s.Update(ctx, root, func(tx *kv.Tx) error {
		tx.Put(keys.AppendSeal(nil, root.ID()), record.AppendSealKey(nil, record.SealKey{ID: id}))
		return nil
	})
}

// checkOf verifies SEAL-3: the store names the key that is open.
func checkOf(root kv.Root, id KeyID) kv.CheckFunc {
	return func(_ context.Context, v *kv.CheckView) (problems []kv.Problem) {
		key := keys.AppendSeal(nil, root.ID())
		view := v.View(root)
		defer v.Release(view)
		row, ok, err := view.Get(key)
		rec, recErr := record.DecodeSealKey(slices.Clone(row.Bytes))
		if err != nil || !ok || recErr != nil || KeyID(rec.ID) != id {
			problems = append(problems, kv.Problem{Invariant: "SEAL-3", Key: key,
				Text: fmt.Sprintf("the store names key %x, %v is open; %v, %v", rec.ID, id, err, recErr)})
		}
		return problems
	}
}
