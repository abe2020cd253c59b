package state

import (
	"fmt"
	"os"
)

// fileTemporary is a name that the next agent removes, if check is killed before it does.
const fileTemporary = ".state.jsonl.check-*"

// Probe checks whether an agent could keep its state in the directory, which it creates if it is
// absent. It does not change the contents. The error is ErrInUse if the only obstacle is an agent
// that uses the directory.
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
