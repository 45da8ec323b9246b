package boot

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// A store that does not close does not keep the process; one that does has its own say.
func TestClosingDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		if err := within(clock.System(), time.Second, func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("closed: %v", err)
		}
		disk := make(chan struct{})
		began := time.Now()
		if err := within(clock.System(), time.Second, func() error { <-disk; return nil }); !errors.Is(err, errSlowClose) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(disk)
	})
}
