//go:build !windows

package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// lock reserves the directory for one agent, until the caller closes the returned Closer or the agent's process
// ends.
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

// replace atomically replaces the content of the file with the lines. If the agent is killed at any time, either the
// older or the newer file exists. replace writes the lines to the disk before the rename. If the power fails before the
// rename is on the disk, the older file remains. A kill of the agent before the save would lose the same data.
func (d dir) replace(lines [][]byte) error {
	pending, err := renameio.NewPendingFile(d.file(), renameio.WithTempDir(d.path),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = pending.Cleanup() }() // an earlier error explains the failure better
	buffered := bufio.NewWriterSize(pending, 64<<10)
	for _, line := range lines {
		_, _ = buffered.Write(line) // Flush returns the error
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return pending.CloseAtomicallyReplace()
}
