// Package build builds the programs that the lab runs. The package keeps the programs in a cache outside the source
// tree.
package build

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// SourceVariable is the name of the environment variable that contains the lab's source directory. Users set this
// variable if FindSource does not find the directory.
const SourceVariable = "PODLAPSE_LAB_SOURCE"

const modulePath = "github.com/podlapse/podlapse/lab"

// FindSource returns the lab's source directory. FindSource tries three places in this order: the environment variable,
// the working directory and its parents, and the directory from which this program was compiled.
func FindSource() (string, error) {
	if dir := os.Getenv(SourceVariable); dir != "" {
		if isLab(dir) {
			return filepath.Abs(dir)
		}
		return "", errors.New(SourceVariable + "=" + dir + ": this directory is not the lab's source directory: " +
			"set the variable to the path of the directory \"lab\" in podlapse's repository")
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
			SourceVariable + " to the path of this directory")
}

func isLab(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && regexp.MustCompile(`(?m)^module `+regexp.QuoteMeta(modulePath)+`$`).Match(data)
}
