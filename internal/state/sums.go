package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// The sums for the command `kubectl podlapse report` have their own file. The agent saves the sums less often than it
// saves the start-ups in progress. Damage to the file of the sums does not affect the state file.

// Sums returns the sums that the previous agent saved. If the file of the sums does not exist, the result is nil.
func (d *Dir) Sums() ([]byte, error) {
	text, err := readFile(d.dir.sums())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the hourly sums for the report: %w", err)
	}
	return text, nil
}

// SaveSums atomically replaces the saved sums with the given text.
func (d *Dir) SaveSums(text []byte) error {
	if err := d.dir.replaceFile(d.dir.sums(), [][]byte{text}); err != nil {
		return fmt.Errorf("write the hourly sums for the report: %w", err)
	}
	return nil
}

func (d dir) sums() string { return filepath.Join(d.path, sumsName) }
