//go:build !windows

package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// lock reserves the directory for one agent. The reservation ends when the caller closes the returned Closer, or when
// the agent's process ends.
func (d dir) lock() (io.Closer, error) {
	held, err := os.Open(d.path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = held.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock the directory: %w: choose a directory on a local disk", err)
	}
	return held, nil
}

// append appends the lines to the file. If the file does not have the given size, another program has changed the file,
// and append fails. If the agent is killed during a call of append, the file ends with an unfinished section. append
// does not flush the lines to the disk. Only a power failure can lose the lines. A power failure also ends all
// start-ups on the node.
func (d dir) append(lines [][]byte, size int64) error {
	// Without O_NONBLOCK, opening a pipe would block forever.
	file, err := os.OpenFile(d.file(), os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != size {
		err = errors.New("another program has changed the file")
	}
	if err == nil {
		_, err = file.Write(slices.Concat(lines...))
	}
	return errors.Join(err, file.Close())
}

// replace atomically replaces the content of the state file with the lines.
func (d dir) replace(lines [][]byte) error { return d.replaceFile(d.file(), lines) }

// replaceFile atomically replaces the content of a file in the directory. Even if the agent is killed during the
// replacement, the file has either the old or the new content. replaceFile writes the lines to the disk before the
// rename. If the power fails before the rename is on the disk, the old content remains. The result is the same as if
// the agent had been killed before the save.
func (d dir) replaceFile(path string, lines [][]byte) error {
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(d.path),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = pending.Cleanup() }() // ignore the error, because an earlier error explains the failure better
	buffered := bufio.NewWriterSize(pending, 64<<10)
	for _, line := range lines {
		_, _ = buffered.Write(line) // if Write fails, Flush returns the error
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return pending.CloseAtomicallyReplace()
}
