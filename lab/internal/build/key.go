package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// keyOf returns a hash of the paths and the contents of the given files below root. The argument "words" contains other
// inputs of the build, such as flags and versions.
func keyOf(root string, files []string, words ...string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n", words)
	files = append([]string(nil), files...)
	sort.Strings(files)
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", fmt.Errorf("compute the hash of the build input: %w", err)
		}
		fmt.Fprintf(hash, "%q %d\n", file, len(data))
		hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// toolKey returns the cache key of groups of third-party programs. The key depends on the exact versions of the
// modules, the Go files in the modules' directories, the names of the programs, the flags, and the Go version.
func toolKey(source, goVersion string, groups []group) (string, error) {
	var files, words []string
	for _, g := range groups {
		flags, err := g.linkerFlags(source)
		if err != nil {
			return "", err
		}
		words = append(words, g.module, g.cgo, g.tags, flags, fmt.Sprint(g.programs))
		if file := g.module + "/go.mod"; !strings.Contains(strings.Join(files, " "), file) {
			sources, err := sourcesOf(source, g.module)
			if err != nil {
				return "", err
			}
			files = append(append(files, file, g.module+"/go.sum"), sources...)
		}
	}
	return keyOf(source, files, append(words, compilerFlags, goVersion)...)
}

// payloadKey returns the cache key of the lab's own programs. The key depends on the sources of these programs and on
// the Go version.
func payloadKey(source, goVersion string) (string, error) {
	files := []string{"go.mod"}
	for _, dir := range payloadSources() {
		found, err := sourcesOf(source, dir)
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	return keyOf(source, files, compilerFlags, goVersion)
}

// sourcesOf returns the Go files in a directory below the lab's source directory. sourcesOf omits test files.
func sourcesOf(source, dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(source, dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list the sources in %s: %w", dir, err)
	}
	var files []string
	for _, path := range found {
		if !strings.HasSuffix(path, "_test.go") {
			files = append(files, filepath.Join(dir, filepath.Base(path)))
		}
	}
	return files, nil
}
