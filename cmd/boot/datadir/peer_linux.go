package datadir

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// trusted refuses a connection whose other end is neither this user's nor the directory owner's process: an endpoint
// file may have been changed to name somebody else's socket.
func trusted(conn net.Conn, dir string) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var sockErr error
	if err := raw.Control(func(fd uintptr) { peer, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return err
	}
	if sockErr != nil {
		return sockErr
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	if int(peer.Uid) != os.Geteuid() && peer.Uid != st.Uid {
		return fmt.Errorf("its socket belongs to user %d, who owns neither this process nor the data directory", peer.Uid)
	}
	return nil
}
