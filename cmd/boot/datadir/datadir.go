package datadir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockName     = "owner.lock"
	endpointName = "endpoint"
	socketName   = "owner.sock"

	// maxSocketPath is below the smallest sun_path of the systems we build for (104 bytes with its NUL on Darwin, 108 on Linux).
	maxSocketPath = 100

	// maxEndpointBytes bounds what is read from an endpoint file, which a broken disk may have filled with anything.
	maxEndpointBytes = 64 << 10
)

// Endpoint says who owns a data directory and how to reach the owner. It is the content of DIR/endpoint.
type Endpoint struct {
	PID           int       `json:"pid"`
	Role          string    `json:"role"`                     // the command that owns: serve, mcp or workbench
	Socket        string    `json:"socket"`                   // absolute path of the owner's Unix socket
	URL           string    `json:"url,omitempty"`            // http://HOST:PORT, when the owner also serves TCP
	WorkbenchRoot string    `json:"workbench_root,omitempty"` // presentation root stored in the directory
	Version       string    `json:"version,omitempty"`
	StartedAt     time.Time `json:"started_at"`
}

// HeldError says that another process owns the directory. Holder is what is known of it; its PID is 0 when nothing is.
type HeldError struct {
	Dir    string
	Holder Endpoint
}

// Error names the holder as far as it is known.
func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return "the data directory is owned by another process"
	}
	s := fmt.Sprintf("the data directory is owned by sawhorse %s (pid %d", e.Holder.Role, e.Holder.PID)
	if e.Holder.URL != "" {
		s += ", " + e.Holder.URL
	}
	return s + ")"
}

// ErrNoOwner says that nobody answers for the directory right now. A caller may try again: a new owner may publish.
var ErrNoOwner = errors.New("no process owns the data directory right now")

// Owner is the ownership of one data directory. Its methods may be called by several goroutines, Close once.
type Owner struct {
	dir       string
	lock      *os.File
	listener  net.Listener
	socketDir string // a directory of ours outside DIR, when DIR's own path is too long for a socket

	mu        sync.Mutex
	self      Endpoint
	published []byte // what DIR/endpoint holds; nil while it is not there
}

// Acquire makes the calling process the owner of dir, which is created (mode 0700) when missing.
//
// Afterwards no other process can acquire dir until Close or the end of this process. Files that an earlier owner
// left (endpoint, socket) are gone. The error is *HeldError when another process owns dir.
func Acquire(dir, role string, now time.Time) (*Owner, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	// A link in its place is not followed: the file it leads to would be emptied below.
	lock, err := os.OpenFile(filepath.Join(abs, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &HeldError{Dir: abs, Holder: holder(abs)}
		}
		return nil, fmt.Errorf("data directory %s: lock: %w", abs, err)
	}
	o := &Owner{dir: abs, lock: lock, self: Endpoint{PID: os.Getpid(), Role: role, StartedAt: now.UTC()}}
	if err := o.clean(); err != nil {
		lock.Close()
		return nil, err
	}
	// The lock file names its holder from the first moment, also while the store is still being opened.
	note := strconv.Itoa(o.self.PID) + " " + role + "\n"
	if err := errors.Join(lock.Truncate(0), writeAt(lock, note)); err != nil {
		lock.Close()
		return nil, fmt.Errorf("data directory %s: %w", abs, err)
	}
	return o, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// clean removes what a dead owner left behind. It runs under the lock only.
func (o *Owner) clean() error {
	for _, name := range []string{endpointName, endpointName + ".new", socketName} {
		if err := os.Remove(filepath.Join(o.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data directory %s: %w", o.dir, err)
		}
	}
	return nil
}

// Dir is the absolute path of the directory.
func (o *Owner) Dir() string { return o.dir }

// Listen opens the owner's Unix socket, readable and writable by this user only. It is called at most once.
func (o *Owner) Listen() (net.Listener, error) {
	path := filepath.Join(o.dir, socketName)
	if len(path) > maxSocketPath {
		dir, err := os.MkdirTemp("", "sawhorse-")
		if err != nil {
			return nil, fmt.Errorf("owner socket: %w", err)
		}
		o.socketDir = dir
		path = filepath.Join(dir, socketName)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("owner socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("owner socket: %w", err)
	}
	o.listener = l
	o.mu.Lock()
	o.self.Socket = path
	o.mu.Unlock()
	return l, nil
}

// Publish writes DIR/endpoint. url is empty unless the owner serves TCP. Afterwards Dial reaches this process.
func (o *Owner) Publish(url, workbenchRoot, version string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.self.URL, o.self.WorkbenchRoot, o.self.Version = url, workbenchRoot, version
	data, err := json.MarshalIndent(o.self, "", "  ")
	if err != nil {
		return fmt.Errorf("endpoint file: %w", err)
	}
	o.published = append(data, '\n')
	return o.write()
}

func (o *Owner) write() error {
	if err := writeWhole(filepath.Join(o.dir, endpointName), o.published); err != nil {
		return fmt.Errorf("endpoint file: %w", err)
	}
	return nil
}

// Renew writes DIR/endpoint again when somebody has deleted or changed it, and reports whether it had to. Before Publish
// and after Withdraw it does nothing.
func (o *Owner) Renew() (renewed bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.published == nil {
		return false, nil
	}
	path := filepath.Join(o.dir, endpointName)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm() == 0o600 && info.Size() == int64(len(o.published)) {
		if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, o.published) {
			return false, nil
		}
	}
	return true, o.write()
}

func writeWhole(path string, data []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// Withdraw removes DIR/endpoint, so that newcomers are no longer sent here while the owner drains.
func (o *Owner) Withdraw() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.published = nil
	if err := os.Remove(filepath.Join(o.dir, endpointName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("endpoint file: %w", err)
	}
	return nil
}

// Close gives the directory up: endpoint and socket go first, the lock last. The store must be closed before.
func (o *Owner) Close() error {
	err := o.Withdraw()
	if o.listener != nil {
		if cerr := o.listener.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
			err = errors.Join(err, cerr)
		}
	}
	if o.socketDir != "" {
		err = errors.Join(err, os.RemoveAll(o.socketDir))
	}
	return errors.Join(err, o.lock.Truncate(0), o.lock.Close())
}

// IsOwn reports whether a name in a data directory is one of this package's files.
func IsOwn(name string) bool {
	switch name {
	case lockName, socketName, endpointName, endpointName + ".new":
		return true
	}
	return false
}

// Read returns the content of dir's endpoint file. The error is ErrNoOwner when there is none. A file that others could
// have written is refused.
func Read(dir string) (Endpoint, error) {
	f, err := os.OpenFile(filepath.Join(dir, endpointName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, ErrNoOwner
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint file: %w", err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Endpoint{}, fmt.Errorf("endpoint file: %w", err)
	}
	if err := private(dir, &st, unix.S_IFREG); err != nil {
		return Endpoint{}, fmt.Errorf("endpoint file: %w", err)
	}
	data := make([]byte, maxEndpointBytes)
	n, err := f.Read(data)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint file: %w", err)
	}
	var e Endpoint
	if err := json.Unmarshal(data[:n], &e); err != nil {
		return Endpoint{}, fmt.Errorf("endpoint file: %w", err)
	}
	if !filepath.IsAbs(e.Socket) {
		return Endpoint{}, errors.New("endpoint file: it names no socket")
	}
	return e, nil
}

// Dial connects to the owner of dir. The error wraps ErrNoOwner when nobody publishes or nobody answers. A socket of
// another user, or one that others may use, is not spoken to.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	e, err := Read(dir)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	switch err := unix.Lstat(e.Socket, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoOwner
	case err != nil:
		return nil, fmt.Errorf("owner socket: %w", err)
	}
	if err := private(dir, &st, unix.S_IFSOCK); err != nil {
		return nil, fmt.Errorf("owner socket: %w", err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", e.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoOwner, err)
	}
	if err := trusted(conn, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("owner socket: %w", err), conn.Close())
	}
	return conn, nil
}

// private refuses a file that is not of the kind expected, that others than its owner may touch, or whose owner is a
// stranger.
func private(dir string, st *unix.Stat_t, kind uint32) error {
	if mode := uint32(st.Mode); mode&unix.S_IFMT != kind {
		return errors.New("it is a file of another kind, or a link")
	} else if mode&0o077 != 0 {
		return fmt.Errorf("its mode is %04o, which lets others at it", mode&0o777)
	}
	return ofOurs(dir, st.Uid)
}

// ofOurs refuses a user who is not the one of this process. The administrator also speaks to the process of the one whose
// directory it is.
func ofOurs(dir string, uid uint32) error {
	me := os.Geteuid()
	if me == 0 {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return err
		}
		if uid == st.Uid {
			return nil
		}
	}
	if int64(uid) != int64(me) {
		return fmt.Errorf("it belongs to user %d, and this process to user %d", uid, me)
	}
	return nil
}

// holder reads who holds a lock that could not be had: from the endpoint when it is published, else from the lock file.
func holder(dir string) Endpoint {
	if e, err := Read(dir); err == nil {
		return e
	}
	data, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return Endpoint{}
	}
	pid, role, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return Endpoint{}
	}
	return Endpoint{PID: n, Role: role}
}
