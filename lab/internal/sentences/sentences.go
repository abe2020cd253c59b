// Package sentences draws a random sample of the repository's sentences, so that a reviewer can judge the language. The
// sample depends only on the seed and on the files.
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

// Sentence is a sentence, a message or a help text, with the location of its start.
type Sentence struct {
	File string // relative to the root of the repository, with slashes
	Line int    // counted from 1
	Text string // the text on one line
	Code string // the line of code that a comment describes, because a reader of the comment sees this line too
}

// Group contains the sentences of one kind, ordered by file and line. Each text occurs only once.
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

// fewestWords is the smallest number of words in a sentence. Shorter texts are labels.
const fewestWords = 4

// Collect returns a group for each kind of sentence. Collect reads Markdown files, Go files that are neither tests nor
// generated, and the comments in YAML files, JavaScript, shell scripts, Makefiles and Dockerfiles. Collect skips hidden
// directories, bin and testdata. The error of Collect names the file that Collect cannot read or parse.
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
		isDoc, marker := path.Ext(name) == ".md", commentMarker(name)
		if !isDoc && marker == "" && (path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go")) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		switch {
		case isDoc:
			docs.Sentences = append(docs.Sentences, markdown(name, string(text))...)
		case marker != "":
			source.comments = append(source.comments, script(name, string(text), marker)...)
		default:
			return source.parse(name, text)
		}
		return nil
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

// unique keeps only the first of several sentences with the same text.
func unique(all []Sentence) []Sentence {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(s Sentence) bool {
		repeated := seen[s.Text]
		seen[s.Text] = true
		return repeated
	})
}

// Sample draws n sentences from each group. If a group has fewer sentences, Sample takes all of them. The chosen
// sentences keep their order.
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

// Print writes the name of each group and then the group's sentences. Each line starts with the file and the line
// number. The line of a comment ends with the commented code.
func Print(out io.Writer, groups []Group) error {
	for i, group := range groups {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s:\n", group.Name)
		for _, s := range group.Sentences {
			text := s.Text
			if s.Code != "" {
				text += "  | " + s.Code
			}
			if _, err := fmt.Fprintf(out, "%s:%d: %s\n", s.File, s.Line, text); err != nil {
				return fmt.Errorf("print sentences: %w", err)
			}
		}
	}
	return nil
}
