package state

import (
	"fmt"
	"os"
)

// fileTemporary is the pattern of a temporary file's name. If the command `check` is killed before it removes the
// file, the next agent removes the file.
const fileTemporary = ".state.jsonl.check-*"

// Probe tests whether an agent can keep its state in the directory. Probe creates the directory if it is absent, but
// does not change the contents. If the directory is usable, but a running agent already uses the directory, the error
// is ErrInUse.
func Probe(path string) error {
	d, err := openDir(path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(path, fileTemporary)
	if err != nil {
		return fmt.Errorf("create a file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString("podlapse-agent check\n")
	if syncErr := file.Sync(); err == nil {
		err = syncErr
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	locked, err := d.lock()
	if err != nil {
		return err
	}
	return locked.Close()
}
