package kv

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// queueUp starts a goroutine that waits for its turn, and returns when it does.
// run is called in the turn.
func queueUp(t *testing.T, s *sequencer, ctx context.Context, c class, run func()) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		err := s.acquire(ctx, c)
		if err == nil {
			run()
			s.release()
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

func mustAcquire(t *testing.T, s *sequencer) {
	t.Helper()
	if err := s.acquire(context.Background(), foreground); err != nil {
		t.Fatal(err)
	}
}

func TestTurnsComeInTheOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequencer(10)
		mustAcquire(t, s)
		var order []int
		for i := range 5 {
			queueUp(t, s, context.Background(), foreground, func() { order = append(order, i) })
		}
		s.release()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("KV-5: order %v", order)
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequencer(2)
		mustAcquire(t, s)
		a := queueUp(t, s, context.Background(), foreground, func() {})
		b := queueUp(t, s, context.Background(), foreground, func() {})
		if err := s.acquire(context.Background(), foreground); !fault.Is(err, op.ReasonUnavailable) {
			t.Fatalf("third waiter: %v", err)
		}
		s.release()
		if err := errors.Join(<-a, <-b); err != nil {
			t.Fatal(err)
		}
		if n, refused := s.waiting(); n != 0 || refused != 1 {
			t.Fatalf("waiting %d, refused %d", n, refused)
		}
		mustAcquire(t, s)
		s.release()
	})
}

func TestAWaiterWhoseContextEndsLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequencer(2)
		mustAcquire(t, s)
		ctx, cancel := context.WithCancel(context.Background())
		ran := false
		first := queueUp(t, s, ctx, foreground, func() { ran = true })
		second := queueUp(t, s, context.Background(), foreground, func() {})
		cancel()
		if err := <-first; !fault.Is(err, op.ReasonCancelled) || !errors.Is(err, context.Canceled) {
			t.Fatalf("the one that left: %v", err)
		}
		// Its place is free at once, not only when its turn would have come.
		third := queueUp(t, s, context.Background(), foreground, func() {})
		s.release()
		if err := errors.Join(<-second, <-third); err != nil {
			t.Fatal(err)
		}
		if ran {
			t.Fatal("KV-5: the closure of a caller that left ran")
		}
	})
}

// A turn that is handed over at the very moment at which its owner leaves is
// passed on.
func TestATurnThatNobodyWantsIsPassedOn(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			s := newSequencer(2)
			mustAcquire(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			first := queueUp(t, s, ctx, foreground, func() {})
			second := queueUp(t, s, context.Background(), foreground, func() {})
			go cancel()
			s.release()
			<-first
			if err := <-second; err != nil {
				t.Fatal(err)
			}
			mustAcquire(t, s)
			s.release()
		})
	}
}

func TestBackgroundYieldsButIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequencer(2 * backgroundEvery)
		mustAcquire(t, s)
		var order []string
		queueUp(t, s, context.Background(), background, func() { order = append(order, "background") })
		for range backgroundEvery + 10 {
			queueUp(t, s, context.Background(), foreground, func() { order = append(order, "foreground") })
		}
		s.release()
		synctest.Wait()
		if at := slices.Index(order, "background"); at != backgroundEvery {
			t.Fatalf("background had turn %d of %d", at, len(order))
		}
	})
}

func TestCloseRefusesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequencer(4)
		mustAcquire(t, s)
		waits := queueUp(t, s, context.Background(), foreground, func() {})
		s.close(ErrClosed)
		if err := <-waits; !errors.Is(err, ErrClosed) {
			t.Fatalf("who waited: %v", err)
		}
		if err := s.acquire(context.Background(), foreground); !errors.Is(err, ErrClosed) {
			t.Fatalf("who came later: %v", err)
		}
		s.release()
	})
}
