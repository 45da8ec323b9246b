package workbench

import (
	"context"
	"encoding/hex"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// HoldsOf counts the holds of a kind.
func (w *Workbench) HoldsOf(ctx context.Context, kind byte) (n int, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return 0, err
	}
	return n, w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		n = 0
		for _, h := range tx.Holds() {
			if h.Kind == kind {
				n++
			}
		}
		return nil
	})
}

// Forge writes other bytes at the run manifest's path, as no tool can.
func (w *Workbench) Forge(ctx context.Context, id, text string) error {
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, []byte(text))
	if err != nil {
		return err
	}
	return w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		l, _, err := t.find(tx, id)
		if err != nil {
			return err
		}
		old, _, err := t.file(tx, l.incarnation, jail.RunManifest)
		if err != nil {
			return err
		}
		body, err := w.bodies.Publish(tx, sealed)
		if err != nil {
			return err
		}
		t.publish(tx, id, l.incarnation, jail.RunManifest, &old, &record.File{ContentType: manifestType, Body: body})
		return nil
	})
}

// ProjectionOf is the digest of what an envelope is made of.
func ProjectionOf(id, path, content, manifest string) string {
	e := runEnvelope{id: id, path: path, manifest: []byte(manifest), manifestSum: canon.Sum([]byte(manifest))}
	e.content, _ = canon.ParseDigestURI(content)
	e.identity = commitIdentity(id, content, digestURI(e.manifestSum))
	sum := e.projection()
	return hex.EncodeToString(sum[:])
}
