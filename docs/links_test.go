package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced       = regexp.MustCompile("(?ms)^```.*?^```$")
	unlinked     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// TestLinksResolve checks the links between the Markdown files of the repository: the file exists and has the linked
// section.
func TestLinksResolve(t *testing.T) {
	checked := 0
	for file, text := range markdownFiles(t) {
		for _, match := range markdownLink.FindAllStringSubmatch(text, -1) {
			target, section, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, match[1])
				continue
			}
			if section != "" && !hasSection(t, path, section) {
				t.Errorf("%s links to %s, which has no such section", file, match[1])
			}
		}
	}
	if checked < 300 {
		t.Errorf("checked only %d links", checked)
	}
}

// markdownFiles reads the Markdown files of the repository, without code blocks.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return errOr(err, filepath.SkipDir)
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			files[path] = fenced.ReplaceAllString(string(text), "")
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func hasSection(t *testing.T, path, section string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		if anchor(match[1]) == section {
			return true
		}
	}
	return false
}

// anchor returns GitHub's anchor of a heading.
func anchor(title string) string {
	title = unlinked.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
