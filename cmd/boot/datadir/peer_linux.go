package datadir

import (
	"net"

	"golang.org/x/sys/unix"
)

// trusted refuses a connection whose other end is a stranger's process: the socket may have been replaced since it was
// looked at.
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
	return ofOurs(dir, peer.Uid)
}
