package page

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func newPage(t *testing.T) Page {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryFileIsReferenced checks that the index and the modules refer to all files, and only to existing files.
func TestEveryFileIsReferenced(t *testing.T) {
	p := newPage(t)
	referenced := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?:href|src)="page/`+p.Version+
		`/([^"]+)"`).FindAllSubmatch(p.Index.Text, -1) {
		referenced[string(found[1])] = true
	}
	imports := regexp.MustCompile(`(?m)^import (?:\{[^}]*\} from )?'\./([a-z]+\.js)';$`)
	for name, f := range p.files {
		if lines := bytes.Count(f.Text, []byte("\nimport ")); strings.HasSuffix(name, ".js") {
			found := imports.FindAllSubmatch(f.Text, -1)
			for _, i := range found {
				referenced[string(i[1])] = true
			}
			if bytes.HasPrefix(f.Text, []byte("import ")) {
				lines++
			}
			if lines != len(found) {
				t.Errorf("%s: %d imports, of which the test recognizes %d", name, lines, len(found))
			}
		}
	}
	for name := range referenced {
		if _, ok := p.File(name); !ok {
			t.Errorf("%s is referenced but does not exist", name)
		}
	}
	for name := range p.files {
		if !referenced[name] {
			t.Errorf("%s exists but is not referenced", name)
		}
	}
	if len(referenced) < 20 {
		t.Errorf("only %v are referenced", referenced)
	}
}

// TestFilesFollowContentSecurityPolicy checks that the files contain nothing that the policy refuses, and no addresses
// outside of the agent or of the path of a proxy.
func TestFilesFollowContentSecurityPolicy(t *testing.T) {
	p := newPage(t)
	for what, pattern := range map[string]string{
		"a script in markup":         `<script(?:>|[^>]*[^/]>[^<])`,
		"a style in markup":          `<style|\sstyle=`,
		"a handler in markup":        `\son[a-z]+=`,
		"an absolute address":        `(?:href|src)="/|["'` + "`" + `(]/(?:api|page)\b`,
		"an address of another host": `https?://|["'(]//`,
		"markup from text": `innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|` +
			`createContextualFragment|srcdoc`,
		"code from text":            `\beval\(|new Function|setTimeout\(['"` + "`" + `]|javascript:`,
		"a style that loads a file": `url\(|@import`,
	} {
		expression := regexp.MustCompile(pattern)
		files := map[string]File{index: p.Index}
		for name, f := range p.files {
			files[name] = f
		}
		for name, f := range files {
			text := bytes.ReplaceAll(f.Text, []byte(`xmlns="http://www.w3.org/2000/svg"`), nil)
			if found := expression.Find(text); found != nil {
				t.Errorf("%s has %s: %s", name, what, found)
			}
		}
	}
}

func TestVersionMatchesFiles(t *testing.T) {
	files := fstest.MapFS{
		"assets/index.html": {Data: []byte(`<script src="page/VERSION/a.js">`)}, "assets/a.js": {Data: []byte("1")},
	}
	one, err := read(files)
	if err != nil || string(one.Index.Text) != `<script src="page/`+one.Version+`/a.js">` {
		t.Fatalf("%s, %v", one.Index.Text, err)
	}
	if _, ok := one.File(index); ok {
		t.Error("the index is among the files that browsers cache forever")
	}
	files["assets/a.js"] = &fstest.MapFile{Data: []byte("2")}
	if other, err := read(files); err != nil || other.Version == one.Version {
		t.Errorf("%s, %v", other.Version, err)
	}
	files["assets/a.exe"] = &fstest.MapFile{}
	if _, err := read(files); err == nil {
		t.Error("read accepts a file of an unknown type")
	}
}

// TestPageIsSmall limits the size of the files in the agent, and the size of the browser's download.
func TestPageIsSmall(t *testing.T) {
	p := newPage(t)
	whole, packed := 0, 0
	for _, f := range p.files {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(f.Text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		whole, packed = whole+len(f.Text), packed+out.Len()
	}
	t.Logf("%d files, %d bytes, %d compressed", len(p.files), whole, packed)
	const maxBytes, maxCompressed = 160 << 10, 60 << 10
	if whole > maxBytes || packed > maxCompressed {
		t.Errorf(
			"the files have %d bytes, %d compressed: want at most %d and %d",
			whole,
			packed,
			maxBytes,
			maxCompressed,
		)
	}
}
