package page

import (
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// attacks contains JavaScript that tries to inject code into the page. Each key describes the kind of injection. If the
// browser runs the injected code, the code sets window.attacked.
var attacks = map[string]string{
	"a script element": `const s = document.createElement('script'); s.textContent = 'window.attacked = 1';
		document.body.append(s);`,
	"an event handler attribute": `const b = document.createElement('b'); 
		b.setAttribute('onclick', 'window.attacked = 1'); document.body.append(b); b.click();`,
	"HTML from a string": `document.body.insertAdjacentHTML('beforeend',
		'<img src="data:," onerror="window.attacked = 1">');`,
	"code from a string": `setTimeout('window.attacked = 1', 0);`,
	"a script from another source": `const s = document.createElement('script');
		s.src = 'data:text/javascript,window.attacked=1'; document.body.append(s);`,
}

// Attack tries to run code that the page's Content-Security-Policy forbids. If the browser does not block the code,
// Attack returns an error. Attack also returns an error if the browser's error messages mention neither a Security
// Policy nor Trusted Types. A message about a Security Policy or Trusted Types proves that the browser checked the
// policy.
func Attack(t *browser.Tab) error {
	for name, code := range attacks {
		t.Complaints()
		done, err := browser.Eval[string](t, `(async () => {
			let refused = '';
			try { `+code+` } catch (error) { refused = String(error); }
			await new Promise((resolve) => setTimeout(resolve, 100));
			return window.attacked ? 'it ran' : refused;
		})()`)
		if err != nil {
			return err
		}
		complaints := strings.Join(t.Complaints(), "\n")
		if done == "it ran" || !strings.Contains(done+complaints, "Security Policy") &&
			!strings.Contains(done+complaints, "Trusted") {
			return fmt.Errorf("the browser must block %s: the code returned %q, and the browser's error "+
				"messages are %q", name, done, complaints)
		}
	}
	return nil
}
