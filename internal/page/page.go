// Package page holds the page that shows a node's start-ups: files as they are in assets/, without
// a build step. It serves nothing itself. The page asks the read API for all it shows, at addresses
// relative to its own.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

const (
	directory = "assets"
	index     = "index.html"
	// placeholder is where the version stands in addresses of index.html.
	placeholder = "page/VERSION/"
)

// Policy is the Content-Security-Policy of the page: its own files and the agent's API, no script
// and no style in markup, and no markup made of text.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are those of the files that there are, by the end of their names.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// File is one file of the page.
type File struct {
	Type string // as Content-Type has it
	Text []byte // shared, must not be changed
}

// Page is all of it.
type Page struct {
	// Version changes whenever any file does. Files are asked for under it, so that a browser can
	// keep them for ever and never mixes those of two agents.
	Version string
	Index   File

	files map[string]File
}

// New reads the files that are built in.
func New() (Page, error) { return read(assets) }

func read(from fs.FS) (Page, error) {
	p := Page{files: map[string]File{}}
	names, err := fs.Glob(from, directory+"/*")
	if err != nil {
		return Page{}, fmt.Errorf("list the page's files: %w", err)
	}
	sum := sha256.New()
	for _, name := range names { // in order
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return Page{}, fmt.Errorf("read the page's files: %w", err)
		}
		kind, ok := types[path.Ext(name)]
		if !ok {
			return Page{}, fmt.Errorf("read the page's files: unknown file type of %s", name)
		}
		p.files[path.Base(name)] = File{kind, text}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	p.Version = hex.EncodeToString(sum.Sum(nil)[:8])
	p.Index = p.files[index]
	p.Index.Text = []byte(strings.ReplaceAll(string(p.Index.Text), placeholder, "page/"+p.Version+"/"))
	delete(p.files, index)
	return p, nil
}

// File is one of those that Index leads to.
func (p Page) File(name string) (File, bool) {
	f, ok := p.files[name]
	return f, ok
}
