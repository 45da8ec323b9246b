package boot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/core/backup"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// What the owner of a directory does for other processes of the same user, beside the operations. It is asked on the
// owner's Unix socket, which only that user can reach, and nowhere else: it writes where it is told to.
const (
	ownerPrefix = "/owner/"
	backupPath  = ownerPrefix + "backup"
)

// progressEvery is how often a backup tells how far it is.
const progressEvery = 200 * time.Millisecond

// backupRequest asks the owner for a backup; Dest is absolute.
type backupRequest struct {
	Dest string `json:"dest"`
	Keep int    `json:"keep"`
}

// backupLine is one line of the answer: how far it is, or in the last one how it ended.
type backupLine struct {
	Done   int64          `json:"done,omitempty"`
	Total  int64          `json:"total,omitempty"`
	File   string         `json:"file,omitempty"`
	Result *backup.Result `json:"result,omitempty"`
	// Reason and Error are set when it failed, in public words: the asker has no log of this process.
	Reason op.Reason `json:"reason,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// ownerRoutes answers what is asked on the owner's socket.
func (n *Node) ownerRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+backupPath, n.serveBackup)
	return mux
}

func (n *Node) serveBackup(w http.ResponseWriter, r *http.Request) {
	var req backupRequest
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil || !filepath.IsAbs(req.Dest) || req.Keep < 0 {
		http.Error(w, "say dest, an absolute path, and keep", http.StatusBadRequest)
		return
	}
	// A backup takes as long as it takes; it ends when the asker leaves.
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{})
	_ = rc.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	said := time.Now()
	res, err := n.core.Backup(r.Context(), backup.Options{Dest: req.Dest, Keep: req.Keep, Progress: func(done, total int64, file string) {
		if now := time.Now(); now.Sub(said) >= progressEvery {
			said = now
			_ = enc.Encode(backupLine{Done: done, Total: total, File: file}) // who does not listen has left, which ends r's context
			_ = rc.Flush()
		}
	}})
	last := backupLine{Result: &res}
	if err != nil {
		f := Explain(err, words.Place{Name: "DEST", Path: req.Dest}, DataPlace(n.owner.Dir()))
		last = backupLine{Reason: f.Reason, Error: f.Message}
		n.log.LogAttrs(r.Context(), slog.LevelWarn, "backup", slog.String("cause", err.Error()))
	}
	_ = enc.Encode(last)
}

// Backup makes a backup of c.Dir below dest, in the process that has the directory open: this one when nobody has.
func Backup(ctx context.Context, c Config, dest string, keep int, progress backup.Progress) (backup.Result, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return backup.Result{}, err
	}
	// The same place under two names, such as through a link, is one place.
	if real, err := filepath.EvalSymlinks(dest); err == nil {
		dest = real
	}
	n, err := Own(ctx, c)
	var held *datadir.HeldError
	if errors.As(err, &held) {
		return askForBackup(ctx, c.Dir, backupRequest{dest, keep}, progress)
	}
	if err != nil {
		return backup.Result{}, err
	}
	res, err := n.core.Backup(ctx, backup.Options{Dest: dest, Keep: keep, Progress: progress})
	return res, errors.Join(err, n.Close())
}

func askForBackup(ctx context.Context, dir string, req backupRequest, progress backup.Progress) (res backup.Result, err error) {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return datadir.Dial(ctx, dir) }}}
	defer client.CloseIdleConnections()
	body, err := json.Marshal(req)
	if err != nil {
		return res, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+backupPath, bytes.NewReader(body))
	if err != nil {
		return res, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return res, ownerGone("The process that has the data directory open does not answer; run it again.", ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return res, fault.New(op.ReasonWBInvalidState, "The process that has the data directory open makes no backup; it may be of another version. Stop it, or run the command of its version.").
			Because(fmt.Errorf("%d: %s", resp.StatusCode, bytes.TrimSpace(text)))
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var l backupLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return res, ownerGone("The process that has the data directory open does not answer as it should; run it again.", ctx, err)
		}
		switch {
		case l.Error != "":
			return res, fault.New(l.Reason, l.Error)
		case l.Result != nil:
			return *l.Result, nil
		case progress != nil:
			progress(l.Done, l.Total, l.File)
		}
	}
	return res, ownerGone("The process that has the data directory open ended before the backup did; run it again.", ctx, lines.Err())
}

// ownerGone is the retryable refusal of who has lost the owner, unless the caller has given up.
func ownerGone(text string, ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.From(ctx.Err())
	}
	return fault.New(op.ReasonUnavailable, text).Because(err)
}
