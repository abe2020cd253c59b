// Package writable tests whether the agent can write to a directory. The functions state.Probe and recorder.Probe use
// this package. Only the command `check` calls state.Probe and recorder.Probe.
package writable

import (
	"fmt"
	"os"
)

// Directory creates a temporary file in an existing directory, writes to the file, and removes it. The argument
// "pattern" determines the name of the file, as in os.CreateTemp.
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
