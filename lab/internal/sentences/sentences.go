// Package sentences draws a random sample of the repository's sentences, so that a reviewer can judge its language.
// The sample depends only on the seed and on the files.
package sentences

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// Sentence is a sentence, a message or a help text, and where it starts.
type Sentence struct {
	File string // relative to the root of the repository, with slashes
	Line int    // counted from 1
	Text string // on one line
}

// Group is the sentences of one kind, in the order of files and lines, each text once.
type Group struct {
	Name      string
	Sentences []Sentence
}

// The kinds of sentences, in the order of Collect.
const (
	Docs     = "docs"
	Messages = "messages"
	Help     = "help"
	Comments = "comments"
)

// fewestWords is the length from which a text is a sentence rather than a label.
const fewestWords = 4

// Collect returns a group for each kind. It reads Markdown files, and Go files that are neither tests nor generated.
// Hidden directories, bin and testdata are skipped. The error names a file that cannot be read or parsed.
func Collect(root fs.FS) ([]Group, error) {
	docs, source := &Group{Name: Docs}, newGoSource()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if isSkipped(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		isDoc := path.Ext(name) == ".md"
		if !isDoc && (path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go")) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if isDoc {
			docs.Sentences = append(docs.Sentences, markdown(name, string(text))...)
			return nil
		}
		return source.parse(name, text)
	})
	if err != nil {
		return nil, fmt.Errorf("collect sentences: %w", err)
	}
	messages, help, comments := source.groups()
	groups := []Group{*docs, messages, help, comments}
	for i := range groups {
		groups[i].Sentences = unique(groups[i].Sentences)
	}
	return groups, nil
}

func isSkipped(directory string) bool {
	return directory == "bin" || directory == "testdata" || strings.HasPrefix(directory, ".") && directory != "."
}

// unique keeps the first of several sentences with the same text.
func unique(all []Sentence) []Sentence {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(s Sentence) bool {
		repeated := seen[s.Text]
		seen[s.Text] = true
		return repeated
	})
}

// Sample draws n sentences from each group, or all if there are fewer. It keeps their order.
func Sample(groups []Group, seed uint64, n int) []Group {
	sample := make([]Group, len(groups))
	for i, group := range groups {
		chosen := rand.New(rand.NewPCG(seed, uint64(i))).Perm(len(group.Sentences))
		chosen = chosen[:min(max(n, 0), len(chosen))]
		slices.Sort(chosen)
		sample[i].Name = group.Name
		for _, j := range chosen {
			sample[i].Sentences = append(sample[i].Sentences, group.Sentences[j])
		}
	}
	return sample
}

// Print writes each group under its name, and each sentence behind its file and line.
func Print(out io.Writer, groups []Group) error {
	for i, group := range groups {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s:\n", group.Name)
		for _, s := range group.Sentences {
			if _, err := fmt.Fprintf(out, "%s:%d: %s\n", s.File, s.Line, s.Text); err != nil {
				return fmt.Errorf("print sentences: %w", err)
			}
		}
	}
	return nil
}
