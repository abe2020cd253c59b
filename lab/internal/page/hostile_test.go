package page

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// findAttacks is a JavaScript expression that lists the effects of untrusted text. The effects are injected elements,
// attributes and scripts, control characters that mislead readers, and a page that is too large.
const findAttacks = `(() => {
	const wrong = [];
	if (window.attacked) wrong.push('a script ran');
	for (const node of document.querySelectorAll('main :is(img, script, svg, iframe, object, link, style, base, form)'))
		wrong.push('the page has a ' + node.tagName);
	for (const node of document.querySelectorAll('main *')) for (const { name } of node.attributes)
		if (name.startsWith('on')) wrong.push(node.tagName + ' has ' + name);
	for (const node of document.querySelectorAll('a[href]'))
		if (new URL(node.href).origin !== location.origin) wrong.push('a link leads to ' + node.href.slice(0, 80));
	const texts = document.title + [...document.querySelectorAll('body *')].map((node) =>
		(node.childElementCount ? '' : node.textContent) +
		[...node.attributes].filter((a) => a.name !== 'href').map((a) => a.value).join('')).join('');
	const steering = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f' +
		'\\u2028-\\u202e\\u2060-\\u206f\\ufeff]|[\\u{e0000}-\\u{e007f}]', 'u').exec(texts);
	if (steering)
		wrong.push('U+' + steering[0].codePointAt(0).toString(16) + ' in ' +
			JSON.stringify(texts.slice(steering.index - 40, steering.index + 40)));
	if (texts.length > 300000) wrong.push(texts.length + ' characters');
	if (document.documentElement.scrollHeight > 30000)
		wrong.push('the page is ' + document.documentElement.scrollHeight + ' pixels high');
	const overflow = ` + Overflow + `;
	if (overflow > 0) wrong.push('the page is ' + overflow + ' pixels too wide');
	return wrong;
})()`

// TestHostileNamesAndMessages opens start-ups in which all untrusted text is an attack. Each Event contains a megabyte
// of text.
func TestHostileNamesAndMessages(t *testing.T) {
	s := standIn(t, "--pods=3", "--hostile")
	tab := openTab(t, wide)
	const script = "<script>window.attacked=1</script>" // in the owner of a pod in the namespace hostile-1

	var links []string // links of all rows; on a phone, the page shows fewer rows at the same time
	for i, look := range []browser.Look{wide, narrow} {
		name := []string{"desk", "phone"}[i]
		must(t, tab.Show(look))
		must(t, tab.Go("http://"+s.address+"/#/"))
		must(t, tab.Await("all start-ups", `Number(document.querySelector('.chip b')?.textContent) > 10`, soon))
		if shown := eval[[]string](t, tab,
			`[...document.querySelectorAll('.rows > a.row:not([hidden])')].map((row) => row.href)`); len(shown) > len(
			links) {
			links = shown
		}
		if len(links) < 10 {
			t.Errorf("%s: only %d rows", name, len(links))
		}
		check(t, tab, name+", list")
		must(t, tab.Await("the message about the missing source",
			`document.querySelector('#alert').innerText.includes('cri is down')`, soon))
		for _, link := range slices.Concat(links, []string{"#/pulls", "#/registries", "#/quality", "#/workloads",
			"#/images",
			"#/node", "#/workloads?owner=" + url.QueryEscape("hostile-1/"+script+"/"+script), comparisonOf(t, links[0]),
			comparisonOf(t, links[5]),
			"#/?owner=%3Cimg%20src=x%20onerror=alert(1)%3E&registry=%E2%80%AEx&image=x%00&a=a%2Fb%2F%1B[2J"}) {
			must(t, tab.Go("http://"+s.address+"/#/"))
			if link[0] == '#' {
				link = "http://" + s.address + "/" + link
			}
			must(t, tab.Go(link))
			must(t,
				tab.Await("the view",
					`(!document.querySelector('.pod-view') || document.querySelector('.wf-rows')?.childElementCount > 5)
						&& (!document.querySelector('.node-view') || document.querySelector('.cause-bar i'))`,
					soon))
			eval[int](t, tab, `(document.querySelectorAll('.can-open').forEach((row) => row.click()),
				document.querySelectorAll('details').forEach((d) => { d.open = true; }), 0)`)
			eval[int](t, tab, `(document.querySelector('.wf-event')?.focus(), 0)`)
			must(t,
				tab.Await("frames",
					`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))`,
					soon))
			check(t, tab, name+", "+fmt.Sprintf("%.120s", link))
		}
	}
}

func check(t *testing.T, tab *browser.Tab, where string) {
	t.Helper()
	for _, wrong := range eval[[]string](t, tab, findAttacks) {
		t.Errorf("%s: %.300s", where, wrong)
	}
	for _, complaint := range tab.Complaints() {
		t.Errorf("%s: the browser reports errors: %.500s", where, complaint)
	}
}

// TestContentSecurityPolicy tries to run injected code in the page.
func TestContentSecurityPolicy(t *testing.T) {
	s := standIn(t, "--pods=3")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("rows", HasRow("", "")+` || document.querySelector('.row')`, soon))
	requireNoComplaints(t, tab)
	must(t, Attack(tab))
}
