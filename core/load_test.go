package core_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// progress is how far each client has come: its calls are numbered from 1.
type progress struct {
	mu           sync.Mutex
	tried, acked map[int]int
}

func (p *progress) set(m map[int]int, client, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m[client] = n
}

func (p *progress) copyOf(m map[int]int) map[int]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(m)
}

// work is one round of a client: it replaces a file of its own, whose body says
// the round, and appends a line to a file that all clients share.
func work(api *op.API, client, n int) error {
	body := fmt.Sprintf("round %d%s", n, strings.Repeat(".", n%7*1500))
	_, err := api.Workbench.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: fmt.Sprintf("own/%d", client), Text: &body, Replace: ptr(n > 1)})
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%d:%d%s\n", client, n, strings.Repeat("-", n%5*300))
	_, err = api.Workbench.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: "shared", Text: &line})
	return err
}

// CORE-1 under load: clients write, and the power is cut again and again at
// moments that nobody chose.
func TestPowerCutsUnderLoad(t *testing.T) {
	for run := range kvtest.Draws(1, 100) {
		powerCutsUnderLoad(t, run)
	}
}

func powerCutsUnderLoad(t *testing.T, run int) {
	fs := kvtest.NewCrashFS()
	o := options(fs)
	o.NoBackground = false
	c := open(t, o)
	if _, err := c.API().Workbench.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Fatal(err)
	}
	const clients, rounds, every = 8, 40, 8
	p := &progress{tried: map[int]int{}, acked: map[int]int{}}
	ticks := make(chan struct{})
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for n := 1; n <= rounds; n++ {
				p.set(p.tried, client, n)
				if err := work(c.API(), client, n); err != nil {
					t.Errorf("client %d, round %d: %v", client, n, err)
				} else {
					p.set(p.acked, client, n)
				}
				ticks <- struct{}{}
			}
		})
	}
	type cut struct {
		left         kv.FS
		acked, tried map[int]int
	}
	var cuts []cut
	for n := range clients * rounds {
		<-ticks
		if n%every == 0 {
			// Whoever is in the middle of a round goes on meanwhile.
			acked := p.copyOf(p.acked)
			left := kvtest.CrashClone(fs, uint64(run<<32|n))
			cuts = append(cuts, cut{left, acked, p.copyOf(p.tried)})
		}
	}
	wg.Wait()
	shut(t, c)
	for i, cut := range cuts {
		if err := survived(cut.left, cut.acked, cut.tried); err != nil {
			t.Fatalf("power cut %d: %v", i, err)
		}
	}
}

// survived opens what a power cut left and compares it with what clients know.
func survived(left kv.FS, acked, tried map[int]int) (err error) {
	c, err := core.Open(ctx, options(left))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if report, err := c.Check(ctx); err != nil || report.Err() != nil {
		return errors.Join(err, report.Err())
	}
	got, err := observe(c)
	if err != nil {
		return err
	}
	last := map[int]int{}
	_, log, _ := strings.Cut(strings.TrimPrefix(got["wb1/outputs/shared"], "0 "), textType+" ")
	for line := range strings.Lines(log) {
		var client, n int
		if _, err := fmt.Sscanf(line, "%d:%d", &client, &n); err != nil || n != last[client]+1 {
			return fmt.Errorf("the shared file has %.40q after round %d of that client", line, last[client])
		}
		last[client] = n
	}
	for client, most := range tried {
		var n int
		own := got[fmt.Sprintf("wb1/outputs/own/%d", client)]
		if own != "" {
			var round int
			if _, err := fmt.Sscanf(own, "%d "+textType+" round %d", &n, &round); err != nil || n != round {
				return fmt.Errorf("client %d: %.60q (%v)", client, own, err)
			}
		}
		if n < acked[client] || n > most || last[client] < acked[client] || last[client] > n {
			return fmt.Errorf("client %d: own file at round %d, its lines at %d; acknowledged %d, tried %d", client, n, last[client], acked[client], most)
		}
	}
	return nil
}
