//go:build !windows

package state

import (
	"bufio"

	"github.com/google/renameio/v2"
)

// replace puts the lines in place of the file at once: whoever is killed at any moment leaves the older
// file or the newer one. The lines are on the disk before the name is; if power fails before the name
// is, the older file stands, which costs no more than a kill that came a moment sooner.
func (d dir) replace(lines [][]byte) error {
	pending, err := renameio.NewPendingFile(d.file(), renameio.WithTempDir(d.path), renameio.WithStaticPermissions(0o600))
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
