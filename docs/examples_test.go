package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var diffBlock = regexp.MustCompile("(?ms)^```diff$\n(.*?)^```$")

// TestExamplesOfChanges checks the example changes in architecture.md: each named file exists, and each removed line is
// exactly once in its file.
func TestExamplesOfChanges(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	for _, block := range diffBlock.FindAllStringSubmatch(string(page), -1) {
		var name, text string
		for line := range strings.Lines(block[1]) {
			switch line[0] {
			case '+', '\n':
			case '-':
				removed++
				if strings.Count(text, line[1:]) != 1 {
					t.Errorf("%s does not contain exactly once: %s", name, line[1:])
				}
			default:
				name, text = strings.Fields(line)[0], ""
				if filepath.Ext(name) == ".script" { // a new file
					continue
				}
				content, err := os.ReadFile(filepath.Join("..", name))
				if err != nil {
					t.Error(err)
				}
				text = string(content)
			}
		}
	}
	if removed == 0 {
		t.Error("the examples remove no line")
	}
}
