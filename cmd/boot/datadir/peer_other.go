//go:build !linux

package datadir

import "net"

// trusted cannot be told here; the permissions of the directory and of the endpoint file have to do.
func trusted(net.Conn, string) error { return nil }
