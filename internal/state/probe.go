package state

import "github.com/podlapse/podlapse/internal/writable"

// fileTemporary is the pattern of a temporary file's name. If the command `check` is killed before it removes the
// file, the next agent removes the file.
const fileTemporary = ".state.jsonl.check-*"

// Probe tests whether an agent can keep its state in the directory. If the directory is absent, Probe creates it. Probe
// leaves the existing files unchanged. If Probe can write to the directory, but a running agent uses the directory, the
// error is ErrInUse.
func Probe(path string) error {
	d, err := openDir(path)
	if err != nil {
		return err
	}
	if err := writable.Directory(path, fileTemporary); err != nil {
		return err
	}
	locked, err := d.lock()
	if err != nil {
		return err
	}
	return locked.Close()
}
