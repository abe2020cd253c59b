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

// lock takes the directory for one agent, until what it returns is closed or the agent's process ends.
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
		return nil, fmt.Errorf("lock the directory: %w; choose one on a local disk", err)
	}
	return held, nil
}

// replace puts the lines in place of the file at once: whoever is killed at any moment leaves the older
// file or the newer one. The lines are on the disk before the name is; if power fails before the name
// is, the older file stands, which costs no more than a kill that came a moment sooner.
func (d dir) replace(lines [][]byte) error {
	pending, err := renameio.NewPendingFile(d.file(), renameio.WithTempDir(d.path),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = pending.Cleanup() }() // what went wrong before says more
	buffered := bufio.NewWriterSize(pending, 64<<10)
	for _, line := range lines {
		_, _ = buffered.Write(line) // Flush tells
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return pending.CloseAtomicallyReplace()
}
