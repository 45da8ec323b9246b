package kvtest_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

func TestTheEmbeddedStorePassesTheKit(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kvtest.Engine { return kvtest.Adapt(kvtest.New(t).Store) })
}
