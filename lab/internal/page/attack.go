package page

import (
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// attacks are ways to run what was put into the page, each of which sets window.attacked if it works.
var attacks = map[string]string{
	"a script in the page":  `const s = document.createElement('script'); s.textContent = 'window.attacked = 1'; document.body.append(s);`,
	"a handler as markup":   `const b = document.createElement('b'); b.setAttribute('onclick', 'window.attacked = 1'); document.body.append(b); b.click();`,
	"markup made of text":   `document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.attacked = 1">');`,
	"code made of text":     `setTimeout('window.attacked = 1', 0);`,
	"a script of elsewhere": `const s = document.createElement('script'); s.src = 'data:text/javascript,window.attacked=1'; document.body.append(s);`,
}

// Attack tries to run what the page's policy forbids, and says what was not refused. What the browser complains of meanwhile is proof
// that the policy was asked.
func Attack(t *browser.Tab) error {
	for name, code := range attacks {
		t.Complaints()
		done, err := browser.Ask[string](t, `(async () => {
			let refused = '';
			try { `+code+` } catch (error) { refused = String(error); }
			await new Promise((resolve) => setTimeout(resolve, 100));
			return window.attacked ? 'it ran' : refused;
		})()`)
		if err != nil {
			return err
		}
		complaints := strings.Join(t.Complaints(), "\n")
		if done == "it ran" || !strings.Contains(done+complaints, "Security Policy") && !strings.Contains(done+complaints, "Trusted") {
			return fmt.Errorf("%s: %q, and the browser says %q", name, done, complaints)
		}
	}
	return nil
}
