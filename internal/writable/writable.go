// Package writable tests whether the agent can write to a directory. The packages state and recorder use this package
// in their functions Probe, which only the command `check` calls.
package writable

import (
	"fmt"
	"os"
)

// Directory creates a temporary file in an existing directory, writes to the file, and removes it. The pattern is the
// name of the file, as for os.CreateTemp.
func Directory(path, pattern string) error {
	file, err := os.CreateTemp(path, pattern)
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
	return nil
}
