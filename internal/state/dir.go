package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"
)

// Names of files in the directory. If a write was interrupted, the name of its file begins with a dot.
const (
	fileName    = "state.jsonl"
	badSuffix   = ".bad"
	pendingGlob = ".state.jsonl*"

	sumsName        = "sums.json"
	pendingSumsGlob = ".sums.json*"
)

// maxFile is the maximum size of the state file in bytes. The largest start-up seen so far requires about 30 KiB.
const maxFile = 16 << 20

// ErrInUse means that another agent uses the directory.
var ErrInUse = errors.New("another agent uses this directory: stop that agent, or give each agent its own directory")

// dir is the directory of the state file.
type dir struct{ path string }

func (d dir) file() string { return filepath.Join(d.path, fileName) }

// openDir creates the directory if it is absent. Only the owner can access the new directory.
func openDir(path string) (dir, error) {
	d := dir{path}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return dir{}, fmt.Errorf("create the directory: %w: create the directory manually, or choose another "+
			"directory", err)
	}
	return d, nil
}

// removeInterrupted removes the files of interrupted writes.
func (d dir) removeInterrupted() {
	// Ignore errors, because a remaining file is harmless and only uses space.
	for _, glob := range []string{pendingGlob, pendingSumsGlob} {
		leftovers, _ := filepath.Glob(filepath.Join(d.path, glob))
		for _, leftover := range leftovers {
			_ = os.Remove(leftover)
		}
	}
}

// load reads the file of the previous agent. If the file is unusable, load renames the file and returns empty Contents.
func (d dir) load(node string, logger *zap.Logger) Contents {
	text, err := readFile(d.file())
	if errors.Is(err, fs.ErrNotExist) {
		return Contents{}
	}
	var contents Contents
	if err == nil {
		contents, err = parse(text, node)
	}
	if err == nil {
		return contents
	}
	bad := d.file() + badSuffix
	logger.Warn("cannot use the state file: the agent lost the earlier observations of start-ups in progress, so the "+
		"agent can omit some start-ups and report others twice",
		zap.String("path", d.file()), zap.String("set_aside_as", bad), zap.String("reason", err.Error()))
	if err := setAside(d.file(), bad); err != nil {
		// The first save of the state will detect whether the agent can replace the file.
		logger.Warn("cannot rename the unusable state file", zap.Error(err))
	}
	return Contents{}
}

// readFile opens only a regular file, because opening a pipe would block forever.
func readFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the path is not a regular file (%s)", info.Mode())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	return text, nil
}

// setAside renames an unusable file from "path" to "bad", so that people can inspect it. If "bad" already exists,
// setAside replaces it.
func setAside(path, bad string) error {
	if err := os.Rename(path, bad); err == nil {
		return nil
	}
	// rename cannot replace a directory with a file, or a file with a directory
	if err := os.RemoveAll(bad); err != nil {
		return err
	}
	return os.Rename(path, bad)
}
