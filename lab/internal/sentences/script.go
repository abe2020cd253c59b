package sentences

import (
	"path"
	"strings"
)

// commentMarkers contains the marker that starts a comment, for each file extension or file name.
var commentMarkers = map[string]string{
	".js": "//", ".sh": "#", ".yaml": "#", ".yml": "#", "Dockerfile": "#", "Makefile": "#",
}

// commentMarker returns the marker that starts a comment in YAML, JavaScript, shell scripts, Makefiles and Dockerfiles.
// For other files, the marker is an empty string.
func commentMarker(name string) string {
	if ending := path.Ext(name); ending != "" {
		return commentMarkers[ending]
	}
	return commentMarkers[path.Base(name)]
}

// script returns the sentences in the comments of a file that is not a Go file. A comment is on its own line, or
// follows code on the same line. Adjacent comments on their own lines form a paragraph. script also reads the block
// comments of JavaScript.
func script(name, text, marker string) []Sentence {
	var sentences []Sentence
	var all []paragraph // the paragraphs of the current comment
	var current paragraph
	end := func() {
		all = append(all, current)
		current = paragraph{}
	}
	endComment := func(code string) {
		end()
		for _, s := range splitAll(name, all) {
			s.Code = strings.TrimSpace(code)
			sentences = append(sentences, s)
		}
		all = nil
	}
	number, inBlock := 0, false
	for raw := range strings.Lines(text) {
		number++
		bare := strings.TrimSpace(raw)
		comment, alone := strings.CutPrefix(bare, marker)
		switch {
		case inBlock || marker == "//" && strings.HasPrefix(bare, "/*"):
			inBlock = !strings.HasSuffix(bare, "*/")
			comment, alone = strings.Trim(bare, "/*"), true
		case alone && (strings.HasPrefix(comment, "!") || strings.HasPrefix(comment, " shellcheck ")):
			continue // only programs read this comment
		}
		if !alone {
			endComment(bare)
			if code, after, ok := afterCode(bare, marker); ok {
				current.lines = []line{{number, after}}
				endComment(code)
			}
			continue
		}
		comment = strings.TrimSpace(strings.TrimLeft(comment, "#"))
		if prefix := item.FindString(comment); prefix != "" {
			end()
			comment, current.item = comment[len(prefix):], true
		}
		if comment == "" {
			end()
			continue
		}
		current.lines = append(current.lines, line{number, comment})
	}
	endComment("")
	return sentences
}

// afterCode splits a line into the code and the comment after the code. A comment marker inside quotes does not start a
// comment.
func afterCode(text, marker string) (code, comment string, ok bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], " "+marker+" ")
		if i < 0 {
			return "", "", false
		}
		from += i
		code = text[:from]
		if strings.Count(code, `"`)%2 == 0 && strings.Count(code, `'`)%2 == 0 && strings.Count(code, "`")%2 == 0 {
			return strings.TrimSpace(code), strings.TrimSpace(text[from+len(marker)+2:]), true
		}
		from += len(marker) + 1
	}
}
