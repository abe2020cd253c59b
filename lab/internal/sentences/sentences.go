// Package sentences draws a random sample of the sentences in the repository, so that a reviewer can judge their
// language. The sample depends only on the seed and on the files.
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

// Sentence is a sentence, a message or a help text, and the place where it starts.
type Sentence struct {
	File string // path relative to the root of the repository, with slashes
	Line int    // line number, counted from 1
	// Before is the text of the paragraph before the sentence. Reviewers see it together with the sentence, because
	// readers read a paragraph from its beginning. Messages and help texts are whole, so their Before is empty.
	Before string
	Text   string // text of the sentence, on one line
	Code   string // line of code that the comment describes; reviewers see it together with the comment
}

// Group contains the sentences of one kind, in the order of files and lines. Each text occurs only once in a group.
type Group struct {
	Name      string
	Sentences []Sentence
}

// The kinds of sentences, in the order in which Collect returns their groups.
const (
	Docs     = "docs"
	Messages = "messages"
	Help     = "help"
	Comments = "comments"
)

// fewestWords is the minimum number of words in a sentence. Shorter texts are only labels.
const fewestWords = 4

// Collect returns a group for each kind of sentence. Collect reads Markdown files and Go files, except tests and
// generated Go files. Collect also reads the comments in YAML files, JavaScript, shell scripts, Makefiles and
// Dockerfiles. Collect skips hidden directories, and directories with the name bin or testdata. If Collect cannot read
// or parse a file, the error contains the name of the file.
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

// unique removes repeated sentences. If several sentences have the same text, unique keeps only the first of these
// sentences.
func unique(all []Sentence) []Sentence {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(s Sentence) bool {
		repeated := seen[s.Text]
		seen[s.Text] = true
		return repeated
	})
}

// Sample draws n sentences from each group, and keeps their order. If a group has fewer than n sentences, Sample
// returns all sentences of the group.
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

// Print writes each group: first the name of the group, then its sentences. Each line starts with the file and the line
// number. If the paragraph begins before the sentence, the beginning of the paragraph precedes the sentence in square
// brackets, and is not part of the sample. For a comment, the line ends with the code that the comment describes.
func Print(out io.Writer, groups []Group) error {
	for i, group := range groups {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s:\n", group.Name)
		for _, s := range group.Sentences {
			text := s.Text
			if s.Before != "" {
				text = "[" + s.Before + "] " + text
			}
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
