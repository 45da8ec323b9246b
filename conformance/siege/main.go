// Command siege kills a server with SIGKILL, over and over, while clients work on it, and demands at the end that every acknowledged result
// is there, that every exact retry gets the first answer, and that the store is clean.
//
//	go run ./conformance/siege [--bin bin/sawhorse] [--duration 60s] [--clients 8]
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/sawhorse", "the server")
	duration := flag.Duration("duration", time.Minute, "how long it is besieged")
	clients := flag.Int("clients", 8, "clients, each on a workbench of its own")
	flag.Parse()
	if err := run(*bin, *duration, *clients); err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

func run(bin string, duration time.Duration, clients int) (err error) {
	work := filepath.Join(".cache", "siege")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(work, "data-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := newServer(bin, dir)
	if err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	defer s.kill()
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	var working sync.WaitGroup
	all := make([]*client, clients)
	failures := make(chan error, clients)
	for i := range all {
		all[i] = &client{server: s, id: fmt.Sprintf("w%d", i)}
		working.Go(func() {
			if err := all[i].work(ctx); err != nil {
				failures <- fmt.Errorf("client %d: %w", i, err)
				cancel()
			}
		})
	}
	kills := 0
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(300*time.Millisecond + time.Duration(rand.IntN(1500))*time.Millisecond):
			s.kill()
			kills++
			if err := s.start(); err != nil {
				return err
			}
			if kills%10 == 0 {
				fmt.Printf("%d kills, %d acknowledged calls\n", kills, s.acknowledged.Load())
			}
		}
	}
	working.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}
	for _, c := range all {
		if err := c.verify(); err != nil {
			return fmt.Errorf("client %s: %w", c.id, err)
		}
	}
	s.kill()
	out, err := exec.Command(bin, "check", "--data", dir).CombinedOutput()
	for _, tool := range tools {
		if _, ok := s.used.Load(tool); !ok {
			err = errors.Join(err, fmt.Errorf("%s was never acknowledged", tool))
		}
	}
	fmt.Printf("%d kills, %d acknowledged calls (%d commits, %d snapshots, %d restores), slowest start %.2f s; check: %s", kills, s.acknowledged.Load(),
		s.commits.Load(), s.snapshots.Load(), s.restores.Load(), s.slowest.Seconds(), lastLine(out))
	return err
}

func lastLine(out []byte) string {
	lines := strings.SplitAfter(strings.TrimRight(string(out), "\n")+"\n", "\n")
	return lines[len(lines)-2]
}

// server is a process that dies often, always at one address.
type server struct {
	bin, dir, addr string
	cmd            *exec.Cmd
	slowest        time.Duration

	acknowledged, commits, snapshots, restores atomic.Int64
	used                                       sync.Map // tools that were acknowledged
}

func newServer(bin, dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return &server{bin: bin, dir: dir, addr: l.Addr().String()}, nil
}

func (s *server) start() error {
	began := time.Now()
	s.cmd = exec.Command(s.bin, "serve", "--data", s.dir, "--listen", s.addr)
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ready := make([]byte, len("ready"))
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ready" {
		_ = s.cmd.Wait()
		return fmt.Errorf("the server does not start: %s", stderr.String())
	}
	s.slowest = max(s.slowest, time.Since(began))
	return nil
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// refusal is an answer of the server that is an error.
type refusal struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

// errLost says that no answer came: the call took effect or not.
var errLost = errors.New("no answer")

var transport = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (s *server) once(tool string, arguments map[string]any) (map[string]any, error) {
	body, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	resp, err := transport.Post("http://"+s.addr+"/v1/workbench/"+tool, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, errLost
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusServiceUnavailable {
		return nil, errLost
	}
	if resp.StatusCode != http.StatusOK {
		var r refusal
		if err := json.Unmarshal(answer, &r); err != nil {
			return nil, fmt.Errorf("%s: %d %.200s", tool, resp.StatusCode, answer)
		}
		return nil, &r
	}
	s.acknowledged.Add(1)
	s.used.Store(tool, true)
	var got map[string]any
	return got, json.Unmarshal(answer, &got)
}

// client works on one workbench, alone, so that it knows what must be there.
type client struct {
	*server
	id      string
	files   []string // their texts
	log     strings.Builder
	counter int
	commits []answered
	frozen  []frozen
	copies  []copied
}

// answered is a commit and its first answer.
type answered struct {
	arguments      map[string]any
	envelope, tree string
}

// frozen is a snapshot and what the counter was.
type frozen struct {
	id      float64
	counter int
}

// copied is a restore and how many files it must hold.
type copied struct {
	arguments map[string]any
	operation string
	counter   int
}

// insist makes a call until it is answered.
func (c *client) insist(tool string, arguments map[string]any) (map[string]any, error) {
	for {
		got, err := c.once(tool, arguments)
		if !errors.Is(err, errLost) {
			return got, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *client) at(path string) map[string]any {
	return map[string]any{"id": c.id, "section": "outputs", "path": path}
}

func with(m map[string]any, more map[string]any) map[string]any {
	for k, v := range more {
		m[k] = v
	}
	return m
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func is(err error, code string) bool {
	var r *refusal
	return errors.As(err, &r) && r.Code == code
}

func (c *client) work(ctx context.Context) error {
	if _, err := c.insist("create", map[string]any{"id": c.id}); err != nil {
		return err
	}
	if _, err := c.insist("put_file", with(c.at("counter"), map[string]any{"text": "0"})); err != nil && !is(err, "AlreadyExists") {
		return err
	}
	for i := 0; ctx.Err() == nil; i++ {
		for _, step := range []func(int) error{c.put, c.append, c.count, c.commit, c.snapshot, c.restore, c.look, c.lease} {
			if err := step(i); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
		}
	}
	return nil
}

// put creates a file. One that is there already is its own, from a call whose answer was lost.
func (c *client) put(i int) error {
	text := fmt.Sprintf("%s file %d %s", c.id, i, strings.Repeat("x", i%3*50_000))
	_, err := c.insist("put_file", with(c.at(fmt.Sprintf("f%d", i)), map[string]any{"text": text}))
	var r *refusal
	if errors.As(err, &r) && r.Code == "AlreadyExists" && r.Details["digest_uri"] == digest(text) {
		err = nil
	}
	if err == nil {
		c.files = append(c.files, text)
	}
	return err
}

// append adds a line. Whether a call took effect whose answer was lost is seen by the size.
func (c *client) append(i int) error {
	line := fmt.Sprintf("line %d\n", i)
	for {
		_, err := c.once("append", with(c.at("log"), map[string]any{"text": line}))
		if errors.Is(err, errLost) {
			size := 0.0
			got, err := c.insist("stat", c.at("log"))
			if err == nil {
				size = got["card"].(map[string]any)["size_bytes"].(float64)
			} else if !is(err, "NotFound") {
				return err
			}
			switch int(size) {
			case c.log.Len():
				time.Sleep(10 * time.Millisecond)
				continue
			case c.log.Len() + len(line):
			default:
				return fmt.Errorf("the log has %v bytes, and %d or %d would do", size, c.log.Len(), c.log.Len()+len(line))
			}
		} else if err != nil {
			return err
		}
		c.log.WriteString(line)
		return nil
	}
}

// count edits a number to the next one.
func (c *client) count(int) error {
	_, err := c.insist("edit", with(c.at("counter"), map[string]any{"old_string": fmt.Sprint(c.counter), "new_string": fmt.Sprint(c.counter + 1)}))
	if is(err, "NoMatch") {
		err = nil // it was done by a call whose answer was lost
	}
	if err == nil {
		c.counter++
	}
	return err
}

func (c *client) commit(i int) error {
	if i%5 != 0 {
		return nil
	}
	arguments := map[string]any{"id": c.id, "manifest": map[string]any{"run": i}, "content_digest_uri": digest(c.id), "replace": true}
	got, err := c.insist("commit", arguments)
	if err != nil {
		return err
	}
	c.server.commits.Add(1)
	c.commits = append(c.commits, answered{arguments, got["envelope_digest_uri"].(string), got["tree_digest_uri"].(string)})
	return nil
}

func (c *client) snapshot(i int) error {
	if i%10 != 0 {
		return nil
	}
	got, err := c.insist("snapshot", map[string]any{"id": c.id, "name": fmt.Sprint("s", i), "ttl_days": 1})
	if err != nil {
		return err
	}
	c.server.snapshots.Add(1)
	c.frozen = append(c.frozen, frozen{got["snapshot_id"].(float64), c.counter})
	return nil
}

func (c *client) restore(i int) error {
	if i%20 != 0 || len(c.frozen) == 0 {
		return nil
	}
	last := c.frozen[len(c.frozen)-1]
	arguments := map[string]any{"id": c.id, "destination_id": fmt.Sprintf("%s-r%d", c.id, i), "at_snapshot": last.id}
	got, err := c.insist("restore", arguments)
	if err != nil {
		return err
	}
	c.server.restores.Add(1)
	c.copies = append(c.copies, copied{arguments, got["operation_id"].(string), last.counter})
	return nil
}

// read returns a small text file.
func (c *client) read(id, path string, more map[string]any) (string, error) {
	got, err := c.insist("read", with(map[string]any{"id": id, "section": "outputs", "path": path}, more))
	if err != nil {
		return "", err
	}
	items := got["items"].([]any)
	if len(items) != 1 {
		return "", fmt.Errorf("%s has %d lines", path, len(items))
	}
	return items[0].(map[string]any)["value"].(string), nil
}

func (c *client) verify() error {
	for i, text := range c.files {
		got, err := c.insist("stat", c.at(fmt.Sprintf("f%d", i)))
		if err != nil {
			return fmt.Errorf("file %d: %w", i, err)
		}
		if card := got["card"].(map[string]any); card["digest_uri"] != digest(text) || card["generation"] != 1.0 {
			return fmt.Errorf("file %d is %v", i, card)
		}
	}
	if c.log.Len() > 0 {
		got, err := c.insist("stat", c.at("log"))
		if err != nil {
			return err
		}
		if card := got["card"].(map[string]any); card["digest_uri"] != digest(c.log.String()) {
			return fmt.Errorf("the log is %v", card)
		}
	}
	// The last edit may have been acknowledged or not; one that was is there.
	if text, err := c.read(c.id, "counter", nil); err != nil || text != fmt.Sprint(c.counter) {
		return fmt.Errorf("the counter is %q, and %d was acknowledged (%w)", text, c.counter, err)
	}
	for _, a := range c.commits {
		got, err := c.insist("commit", a.arguments)
		if err != nil || got["idempotent_replay"] != true || got["envelope_digest_uri"] != a.envelope || got["tree_digest_uri"] != a.tree {
			return fmt.Errorf("an exact retry of %v: %v %w", a.arguments, got, err)
		}
	}
	for _, f := range c.frozen {
		if text, err := c.read(c.id, "counter", map[string]any{"at_snapshot": f.id}); err != nil || text != fmt.Sprint(f.counter) {
			return fmt.Errorf("the counter at snapshot %v is %q, and was %d (%w)", f.id, text, f.counter, err)
		}
	}
	for _, r := range c.copies {
		got, err := c.insist("restore", r.arguments)
		if err != nil || got["idempotent_replay"] != true || got["operation_id"] != r.operation {
			return fmt.Errorf("an exact retry of %v: %v %w", r.arguments, got, err)
		}
		if text, err := c.read(r.arguments["destination_id"].(string), "counter", nil); err != nil || text != fmt.Sprint(r.counter) {
			return fmt.Errorf("the counter in the copy %v is %q, and was %d (%w)", r.arguments["destination_id"], text, r.counter, err)
		}
	}
	return nil
}
