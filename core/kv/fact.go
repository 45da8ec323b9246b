package kv

import (
	"bytes"
	"context"
	"errors"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Fact returns a fact about the data directory that SetFact stored, in memory of
// the caller's own.
func (s *Store) Fact(name string) (fact []byte, ok bool, err error) {
	if err := s.enter(); err != nil {
		return nil, false, err
	}
	defer s.leave()
	return s.readMeta(name)
}

// SetFact stores a fact about the data directory once and for all. When there is
// one of that name already it changes nothing and returns that one; the result
// is durable in both cases. Names of the store's own facts are taken.
func (s *Store) SetFact(ctx context.Context, name string, fact []byte) ([]byte, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	stored, own, err := s.setFact(ctx, name, fact)
	if err != nil {
		return nil, err
	}
	if own.batch == nil {
		return stored, s.waitDurable(own.number)
	}
	return stored, s.syncWait(&own)
}

func (s *Store) setFact(ctx context.Context, name string, fact []byte) ([]byte, commit, error) {
	if err := s.seq.acquire(ctx, foreground); err != nil {
		return nil, commit{}, err
	}
	defer s.seq.release()
	stored, ok, err := s.readMeta(name)
	if err != nil || ok {
		return stored, commit{number: s.lastNumber}, err
	}
	if err := s.space.admit(s, foreground); err != nil {
		return nil, commit{}, err
	}
	b := s.db.NewBatch()
	if err := b.Set(appendBare(nil, keys.AppendMeta(nil, name)), record.AppendMeta(nil, fact), nil); err != nil {
		return nil, commit{}, errors.Join(err, b.Close())
	}
	own, err := s.apply(b, nil, 0)
	if err != nil {
		return nil, commit{}, err
	}
	return bytes.Clone(fact), *own, nil
}
