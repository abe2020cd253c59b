package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/writable"
)

// fileTemporary is the pattern of a temporary file's name.
const fileTemporary = ".recording.check-*"

// Probe tests whether an agent can record to the file. Probe does not create or change the file, so an agent can record
// to the file at the same time. The caller adds the path to the error.
func Probe(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return writable.Directory(filepath.Dir(destination(path)), fileTemporary)
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	if err != nil {
		return err
	}
	_, size, err := measure(file)
	switch {
	case err == nil && size >= MaxFile:
		err = fullError(MaxFile)
	case err == nil && size > MaxFile-recording.MaxLine: // the recorder stops at the first line that does not fit
		err = fmt.Errorf("the file has almost reached its limit of %d MiB: record to another file", MaxFile>>20)
	}
	return errors.Join(err, file.Close())
}

// destination returns the path of the file that the agent would create. If the given path is a symbolic link,
// destination follows the link.
func destination(path string) string {
	const most = 40 // the Linux kernel has the same limit
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}
