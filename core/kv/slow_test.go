package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// stalled is a store whose disk stands still: how many updates wait for it, and their answers.
type stalled struct {
	*gated
	begun   int
	ran     atomic.Int64
	answers chan error
}

func stall(t *testing.T, change func(*Options)) *stalled {
	s := &stalled{gated: openGated(t, change), answers: make(chan error, 10_000)}
	updateWith(t, s.Store, s.root, func(tx *Tx) error { tx.Put(testKey(s.root, "before"), []byte("there")); return nil })
	s.gate.hold()
	return s
}

// fill begins updates, one after the other, until one is refused at once, and returns that refusal. Each begun one waits
// for the disk, or for its turn behind one that waits for the disk.
func (s *stalled) fill(t *testing.T, most int) error {
	for n := range most {
		refused := make(chan error, 1)
		go func() {
			err := s.Update(context.Background(), s.root, func(tx *Tx) error {
				tx.Put(testKey(s.root, fmt.Sprint(n)), make([]byte, 100_000))
				s.ran.Add(1)
				return nil
			})
			if fault.Is(err, op.ReasonUnavailable) {
				refused <- err
			}
			s.answers <- err
		}()
		s.begun++
		for waiting := 0; int(s.ran.Load())+waiting < s.begun; waiting, _ = s.seq.waiting() {
			select {
			case err := <-refused:
				s.begun--
				<-s.answers
				return err
			default:
				runtime.Gosched()
			}
		}
	}
	t.Fatalf("%d updates wait, and none is refused", most)
	return nil
}

// serves finds that everything but updates goes on.
func (s *stalled) serves(t *testing.T) {
	t.Helper()
	for range 100 {
		err := s.View(context.Background(), s.root, func(v *View) error {
			got, ok, err := v.Get(testKey(s.root, "before"))
			if !ok || string(got.Bytes) != "there" {
				t.Errorf("a read: %q, %v", got.Bytes, err)
			}
			// KV-4: and nothing that the disk does not have.
			if _, ok, _ := v.Get(testKey(s.root, "0")); ok || v.Revision() != 1 {
				t.Errorf("KV-4: a View at %d shows what waits for the disk", v.Revision())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.UpdatesTurnedAway == 0 {
			t.Errorf("nobody was turned away: %+v", st)
		}
	}
}

// settle lets the disk go on: every update that was begun succeeds, and so does a new one.
func (s *stalled) settle(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.answers:
		t.Fatalf("KV-3: answered (%v) before the disk went on", err)
	default:
	}
	s.gate.open()
	for range s.begun {
		if err := <-s.answers; err != nil {
			t.Fatalf("an update that waited: %v", err)
		}
	}
	updateWith(t, s.Store, s.root, func(tx *Tx) error { tx.Put(testKey(s.root, "after"), nil); return nil })
	for n := range s.begun {
		if _, ok := s.afterPowerCut(t, testKey(s.root, fmt.Sprint(n))); !ok {
			t.Fatalf("KV-3: update %d of %d was acknowledged and is lost", n, s.begun)
		}
	}
}

// What waits for a disk that stands still is bounded: Pebble's log takes a MiB more or so, and then the turn lasts as long as
// the disk. Those behind it are as many as the queue is deep, and whoever comes then is told to come again.
func TestADiskThatStandsStillBoundsWhatWaits(t *testing.T) {
	const depth = 8
	for _, c := range []struct {
		name     string
		memTable int64
	}{{"log", 64 << 20}, {"log that is full", 256 << 10}} {
		t.Run(c.name, func(t *testing.T) {
			s := stall(t, func(o *Options) { o.QueueDepth, o.MemTableBytes, o.CacheBytes = depth, c.memTable, 256<<20 })
			if err := s.fill(t, 1000); !fault.Is(err, op.ReasonUnavailable) || !op.ReasonUnavailable.Face().Retryable {
				t.Fatalf("the one too many: %v", err)
			}
			// One of those that waited may have got its turn since.
			n, _ := s.seq.waiting()
			if n > depth || (s.begun-depth)*100_000 > 2<<20 {
				t.Fatalf("%d wait for their turn, of %d, and %d were begun", n, depth, s.begun)
			}
			s.serves(t)
			s.settle(t)
		})
	}
}

// A caller's deadline ends the wait for its turn, on the slowest disk.
func TestADeadlineEndsTheWaitForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequencer(8)
		mustAcquire(t, s) // and its disk takes an hour
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		if err := s.acquire(ctx, foreground); !fault.Is(err, op.ReasonDeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if n, _ := s.waiting(); n != 0 {
			t.Errorf("%d wait still", n)
		}
		s.release()
	})
}

// Close refuses at once who waits for a turn, and waits for who waits for the disk: what they are told then is true.
func TestClosingWhileTheDiskStandsStill(t *testing.T) {
	s := stall(t, func(o *Options) { o.QueueDepth = 4 })
	if err := s.fill(t, 1000); !fault.Is(err, op.ReasonUnavailable) {
		t.Fatal(err)
	}
	waiting, _ := s.seq.waiting()
	closed := make(chan error, 1)
	go func() { closed <- s.Store.Close() }()
	for n := waiting; n > 0; n, _ = s.seq.waiting() {
		runtime.Gosched()
	}
	select {
	case err := <-closed:
		t.Fatalf("closed (%v) under those who wait for the disk", err)
	default:
	}
	s.gate.open()
	acknowledged := 0
	for range s.begun {
		switch err := <-s.answers; {
		case err == nil:
			acknowledged++
		case !errors.Is(err, ErrClosed):
			t.Error(err)
		}
	}
	if ran := int(s.ran.Load()); acknowledged != ran || ran != s.begun-waiting {
		t.Errorf("KV-3: %d of %d had run, and %d were acknowledged", ran, s.begun, acknowledged)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, ok := s.afterPowerCut(t, testKey(s.root, "0")); !ok {
		t.Error("KV-3: acknowledged, and lost")
	}
	if err := s.Update(context.Background(), s.root, func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
}

// The engine tries a flush that met a full disk again and again. It is held back between the tries, and says so once in a
// while; when there is space it goes through.
func TestAFullDiskDoesNotMakeTheEngineSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		disk := &fullAtTables{FS: vfs.NewMem()}
		s, err := Open(Options{FS: disk, Dir: "data", Clock: clock.System(), CacheBytes: 8 << 20, MemTableBytes: 256 << 10, FreeSpaceFloorBytes: -1,
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		root, err := s.Root(context.Background(), "test", "tenant", "a")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		disk.full.Store(true)
		for n := range 5 {
			updateWith(t, s, root, func(tx *Tx) error { tx.Put(testKey(root, fmt.Sprint(n)), make([]byte, 100_000)); return nil })
		}
		time.Sleep(10 * time.Second)
		// An update may have waited for the flush: the bubble's time goes on meanwhile.
		seconds := int64(time.Since(began)/time.Second) + 1
		// Two writers at most, which try twice each.
		if tries := disk.tries.Load(); tries == 0 || tries > 4*seconds*int64(time.Second/fullPause) {
			t.Errorf("%d tries in %d seconds", tries, seconds)
		}
		if lines := strings.Count(log.String(), "\n"); lines == 0 || int64(lines) > 2+seconds/10 {
			t.Errorf("%d lines in the log:\n%s", lines, log.String())
		}
		disk.full.Store(false)
		if err := s.db.Flush(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
