package page

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func made(t *testing.T) Page {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryFileIsReferenced follows what the index and the modules ask for.
func TestEveryFileIsReferenced(t *testing.T) {
	p := made(t)
	asked := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?:href|src)="page/`+p.Version+
		`/([^"]+)"`).FindAllSubmatch(p.Index.Text, -1) {
		asked[string(found[1])] = true
	}
	imports := regexp.MustCompile(`(?m)^import (?:\{[^}]*\} from )?'\./([a-z]+\.js)';$`)
	for name, f := range p.files {
		if lines := bytes.Count(f.Text, []byte("\nimport ")); strings.HasSuffix(name, ".js") {
			found := imports.FindAllSubmatch(f.Text, -1)
			for _, i := range found {
				asked[string(i[1])] = true
			}
			if bytes.HasPrefix(f.Text, []byte("import ")) {
				lines++
			}
			if lines != len(found) {
				t.Errorf("%s: %d imports, of which %d can be followed", name, lines, len(found))
			}
		}
	}
	for name := range asked {
		if _, ok := p.File(name); !ok {
			t.Errorf("%s is asked for and not there", name)
		}
	}
	for name := range p.files {
		if !asked[name] {
			t.Errorf("%s is there and nobody asks for it", name)
		}
	}
	if len(asked) < 20 {
		t.Errorf("only %v are asked for", asked)
	}
}

// TestFilesFollowContentSecurityPolicy looks for what the policy would refuse, and for what would leave the agent or
// the place a proxy gave it.
func TestFilesFollowContentSecurityPolicy(t *testing.T) {
	p := made(t)
	for what, pattern := range map[string]string{
		"a script in markup":          `<script(?:>|[^>]*[^/]>[^<])`,
		"a style in markup":           `<style|\sstyle=`,
		"a handler in markup":         `\son[a-z]+=`,
		"an address that is absolute": `(?:href|src)="/|["'` + "`" + `(]/(?:api|page)\b`,
		"an address of somebody else": `https?://|["'(]//`,
		"markup made of text": `innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|` +
			`createContextualFragment|srcdoc`,
		"code made of text":            `\beval\(|new Function|setTimeout\(['"` + "`" + `]|javascript:`,
		"a style that asks for a file": `url\(|@import`,
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
		t.Error("the index is a file among others: it would be kept for ever")
	}
	files["assets/a.js"] = &fstest.MapFile{Data: []byte("2")}
	if other, err := read(files); err != nil || other.Version == one.Version {
		t.Errorf("%s, %v", other.Version, err)
	}
	files["assets/a.exe"] = &fstest.MapFile{}
	if _, err := read(files); err == nil {
		t.Error("a file of a type that nobody knows was taken")
	}
}

// What the page adds to the agent, and what a browser gets over the network.
func TestPageIsSmall(t *testing.T) {
	p := made(t)
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
	t.Logf("%d files, %d KiB, %d KiB packed", len(p.files), whole>>10, packed>>10)
	if whole > 160<<10 || packed > 60<<10 {
		t.Errorf("%d KiB, %d KiB packed", whole>>10, packed>>10)
	}
}
