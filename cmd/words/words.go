// Package words says in public words what a command met on this machine: which operand, what is wrong with it, what to do.
// No path, no system call and no text of a library is in them; those are for the log.
package words

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Place is something of this machine that a command was told of.
type Place struct {
	// Name is what the usage calls it: DEST, or --data.
	Name string
	// Path is where it is.
	Path string
}

// someFile is what an error is about whose path is in no place.
const someFile = "A file that this command needs"

// kinds are what the system's errors mean to somebody at a shell. %s is the operand.
var kinds = []struct {
	is     syscall.Errno
	reason op.Reason
	short  string // beside the name of a file
	text   string
}{
	{syscall.ENOSPC, op.ReasonResourceExhausted, "the disk is full", "%s is on a disk that is full: make room there, and run it again."},
	{syscall.EDQUOT, op.ReasonResourceExhausted, "the disk quota is used up", "%s is on a disk whose quota is used up: make room there, and run it again."},
	{syscall.EFBIG, op.ReasonResourceExhausted, "the file is larger than this disk or user may have", "%s would hold a larger file than its disk or this user may have: choose another place, or raise the limit."},
	{syscall.EROFS, op.ReasonWBInvalidState, "the disk cannot be written", "%s is on a disk that cannot be written: choose another place."},
	{syscall.EACCES, op.ReasonWBInvalidState, "this user may not do that", "%s is closed to this user: change its permissions or those of what is in it, or run it as another user."},
	{syscall.EPERM, op.ReasonWBInvalidState, "this user may not do that", "%s is closed to this user: change its permissions or those of what is in it, or run it as another user."},
	{syscall.ENOENT, op.ReasonWBNotFound, "it is not there", "%s is not there, or something in it went away: look at how it is spelled, and run it again."},
	{syscall.ENOTDIR, op.ReasonWBInvalidArguments, "a file is where a directory should be", "%s is no directory, or a file is where one of its directories should be: name another place."},
	{syscall.EEXIST, op.ReasonWBInvalidArguments, "something else has this name", "%s has something else where a directory should be: name another place."},
	{syscall.EISDIR, op.ReasonWBInvalidArguments, "a directory is where a file should be", "%s has a directory where a file should be: name another place."},
	{syscall.ENOTEMPTY, op.ReasonWBInvalidState, "the directory is not empty", "%s has a directory that is not empty where it should be: look at what else writes there, and run it again."},
	{syscall.ELOOP, op.ReasonWBInvalidArguments, "a symbolic link is in the way", "%s is a symbolic link, or has one in the way: name the directory itself."},
	{syscall.EXDEV, op.ReasonWBInvalidArguments, "it is on another disk", "%s reaches over several disks: name a place that is on one."},
	{syscall.ENAMETOOLONG, op.ReasonWBInvalidArguments, "the name is too long for this disk", "%s has a name that is too long for its disk: name another place."},
	{syscall.EINVAL, op.ReasonWBInvalidArguments, "this disk does not do that", "%s is on a disk that does not take what was asked: choose another place."},
	{syscall.EMFILE, op.ReasonUnavailable, "too many files are open", "%s cannot be opened, because too many files are open: raise the limit (ulimit -n), and run it again."},
	{syscall.ENFILE, op.ReasonUnavailable, "too many files are open", "%s cannot be opened, because too many files are open on this machine: run it again later."},
	{syscall.ENOMEM, op.ReasonUnavailable, "this machine has no memory left", "%s cannot be opened, because this machine has no memory left: run it again later."},
	{syscall.EBUSY, op.ReasonUnavailable, "something else uses it", "%s is in use by something else: run it again later."},
	{syscall.EIO, op.ReasonWBInvalidState, "the disk fails", "%s is on a disk that fails: look at the disk before anything else."},
}

// any other error of the system.
const (
	otherShort = "the disk does not do that"
	otherText  = "%s is on a disk that does not do what was asked: run it again with --log-level debug for what the system said."
)

// OfFile is what may be said of an error of the file system, in the places that the command was told of; nil when there is
// none in err.
func OfFile(err error, places ...Place) *fault.Error {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return nil
	}
	name := someFile
	if path := pathOf(err); path != "" {
		name = nameOf(path, places, name)
	} else if len(places) == 1 {
		name = places[0].Name
	}
	reason, text := op.ReasonWBInvalidState, otherText
	for _, k := range kinds {
		if no == k.is {
			reason, text = k.reason, k.text
		}
	}
	return fault.New(reason, strings.Replace(text, "%s", name, 1)).Because(err)
}

// Short is what may be said of an error of the file system beside the name of the file.
func Short(err error) string {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return otherShort
	}
	for _, k := range kinds {
		if no == k.is {
			return k.short
		}
	}
	return otherShort
}

// pathOf is the path that an error names, "" when it names none.
func pathOf(err error) string {
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return one.Path
	case errors.As(err, &two):
		return two.New
	}
	return ""
}

// nameOf is the place that a path lies in, or that lies in it: making a directory begins above. The innermost counts.
func nameOf(path string, places []Place, otherwise string) string {
	path = real(path)
	name, inner := otherwise, -1
	for _, p := range places {
		at := real(p.Path)
		switch {
		case below(path, at):
			if len(at) > inner {
				name, inner = p.Name, len(at)
			}
		case inner < 0 && below(at, path):
			name = p.Name
		}
	}
	return name
}

// real is a path by one name, as far as it is there: the same place may be reached through links.
func real(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return path
		}
		rest, at = filepath.Join(filepath.Base(at), rest), up
	}
}

func below(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}
