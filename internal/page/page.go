// Package page holds the web page that shows a node's start-ups. The page consists of the files in assets/ and needs no
// build step. Package web serves the files of the page. The page loads all its data from the read API. The addresses of
// its requests are relative to the page's address.
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
	// placeholder is part of the file addresses in index.html. New replaces VERSION in the placeholder with
	// Page.Version.
	placeholder = "page/VERSION/"
)

// Policy is the Content-Security-Policy of the page. The policy allows only the page's own files and the agent's
// API. The policy forbids inline scripts, inline styles, and markup that scripts create from text.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// contentTypes contains the content types of the files, by file name extension.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// File is one file of the page.
type File struct {
	Type string // value of the response header Content-Type
	Text []byte // content of the file; callers share the bytes and must not change them
}

// Page holds all files of the page.
type Page struct {
	// Version is a hash of all files. The address of each file except Index contains Version, so a browser can cache
	// these files forever. A browser never combines the files of different agent versions.
	Version string
	Index   File

	files map[string]File
}

// New reads the embedded files.
func New() (Page, error) { return read(assets) }

func read(from fs.FS) (Page, error) {
	p := Page{files: map[string]File{}}
	names, err := fs.Glob(from, directory+"/*")
	if err != nil {
		return Page{}, fmt.Errorf("list the page's files: %w", err)
	}
	sum := sha256.New()
	for _, name := range names { // fixed order, because the hash depends on the order
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return Page{}, fmt.Errorf("read the page's files: %w", err)
		}
		kind, ok := contentTypes[path.Ext(name)]
		if !ok {
			return Page{}, fmt.Errorf("read the page's files: file %s has an unknown type", name)
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

// File returns a file to which Index refers.
func (p Page) File(name string) (File, bool) {
	f, ok := p.files[name]
	return f, ok
}
