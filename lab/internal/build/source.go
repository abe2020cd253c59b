// Package build builds the programs that the lab runs, and keeps them in a cache outside the tree.
package build

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// SourceVariable is the environment variable with the directory of the lab's source, in case FindSource cannot find it.
const SourceVariable = "PODLAPSE_LAB_SOURCE"

const modulePath = "github.com/podlapse/podlapse/lab"

// FindSource returns the lab's source directory: the one in the variable, otherwise the nearest one at or above the
// working directory, otherwise the one that this program was compiled from.
func FindSource() (string, error) {
	if dir := os.Getenv(SourceVariable); dir != "" {
		if isLab(dir) {
			return filepath.Abs(dir)
		}
		return "", errors.New(SourceVariable + "=" + dir + " is not the lab's source directory")
	}
	if dir, err := os.Getwd(); err == nil {
		for ; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "lab")} {
				if isLab(candidate) {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		if dir := filepath.Dir(filepath.Dir(filepath.Dir(file))); isLab(dir) {
			return dir, nil
		}
	}
	return "",
		errors.New("cannot find the lab's source directory: run the lab inside the repository, or set " +
			SourceVariable)
}

func isLab(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && regexp.MustCompile(`(?m)^module `+regexp.QuoteMeta(modulePath)+`$`).Match(data)
}
