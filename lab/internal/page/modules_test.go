package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// openModules opens the page for tests that only call the page's JavaScript modules.
func openModules(t *testing.T) *browser.Tab {
	t.Helper()
	s := standIn(t, "--pods=1")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	return tab
}

// exportsOf returns a JavaScript expression for the exports of one of the page's modules.
func exportsOf(name string) string {
	return `(await import(document.querySelector('script[type=module]').src.replace('main.js', '` + name + `')))`
}

// TestRetryAfter checks that the page waits longer before each new request to an overloaded agent.
func TestRetryAfter(t *testing.T) {
	tab := openModules(t)
	got := eval[[]float64](t, tab, `(async () => {
		const { ask } = `+exportsOf("ask.js")+`, began = performance.now(), usual = window.fetch;
		let asked = 0;
		window.fetch = async (path, options) => (path !== 'x' ? usual(path, options) :
			++asked < 3 ? new Response('{}', { status: asked === 1 ? 503 : 429, headers: { 'Retry-After': '1' } }) :
			new Response('{"a":7}'));
		const { a } = await ask('x');
		return [a, asked, Math.floor((performance.now() - began) / 1000)]; })()`)
	if fmt.Sprint(got) != "[7 3 3]" {
		t.Errorf("%v", got)
	}
}

// TestVisible tests the module that makes untrusted text safe for display.
func TestVisible(t *testing.T) {
	tab := openModules(t)
	for text, want := range map[string]string{
		"web-0":                                 "web-0",
		"":                                      "",
		"a\x1b[31mb\x00\r\n\x7f":                "a⟨001B⟩[31mb⟨0000⟩⟨000D⟩⟨000A⟩⟨007F⟩",
		"a\u202eb\u2066\u200b":                  "a⟨202E⟩b⟨2066⟩⟨200B⟩",
		"\u009b\ufeff":                          "⟨009B⟩⟨FEFF⟩",
		"\U000e0041":                            "⟨E0041⟩",
		"漢字 ünï 🙂 שלום":                         "漢字 ünï 🙂 שלום",
		"e\u0301\u0301\u0301\u0301\u0301\u0301": "e\u0301\u0301\u0301\u0301",
		"0123456789012345678901234567890":       "01234567890123456789… (11 more)",
	} {
		if got := eval[string](t, tab,
			`(async () => `+exportsOf("text.js")+`.visible(`+quoted(text)+`, 20))()`); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	longest := strings.Repeat("n", 253) // the longest name in Kubernetes; a shortened name breaks links to workloads
	owner := `{ owner: { kind: 'Job', name: ` + quoted(longest) + ` } }`
	if got := eval[string](t, tab, `(async () => `+exportsOf("startup.js")+`.ownerOf(`+owner+`))()`); got !=
		"Job/"+longest {
		t.Errorf("an owner with a name of 253 characters: %q", got)
	}
	if got := eval[string](t, tab, `(async () => `+exportsOf("text.js")+`.visible('\ud800x'))()`); got != "\ufffdx" {
		t.Errorf("an unpaired surrogate: %q", got)
	}
}
