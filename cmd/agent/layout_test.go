package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxPublic is the maximum number of packages that other modules can import. The number is small, because the interface
// of each public package must stay stable.
const maxPublic = 8

// TestArchitectureListsEveryPackage compares the repository layout in docs/architecture.md with the packages.
func TestArchitectureListsEveryPackage(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	row := regexp.MustCompile(`(?m)^((?:cmd|pkg|internal)/[a-z/]+|docs)/ +\S`)
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, match[1])
	}
	found := sourceDirectories(t)
	slices.Sort(listed)
	if !slices.Equal(listed, found) {
		t.Errorf("docs/architecture.md lists\n%q, the packages are\n%q", listed, found)
	}
	public := slices.DeleteFunc(found, func(dir string) bool {
		return !strings.HasPrefix(dir, "pkg/") && dir != "docs"
	})
	if len(public) > maxPublic {
		t.Errorf("%d public packages, want at most %d: %q", len(public), maxPublic, public)
	}
}

// sourceDirectories lists the directories of the root module that contain source files, except test-support packages.
func sourceDirectories(t *testing.T) (found []string) {
	t.Helper()
	for _, top := range []string{"cmd", "docs", "pkg", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, entry fs.DirEntry, err error) error {
			forTests := entry.Name() == "testdata" || entry.Name() == "standin" ||
				top != "pkg" && strings.HasSuffix(entry.Name(), "test") // test support is not public
			if err != nil || !entry.IsDir() {
				return err
			}
			if forTests {
				return fs.SkipDir
			}
			if files := sourceFiles(t, path); len(files) > 0 {
				found = append(found, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(found)
	return found
}
