// Package page reads what the agent's web page shows to a user in a browser. Only the function Downloads also reads the
// agent's API. The package depends on the page's CSS classes, but not on the page's code.
package page

import (
	"encoding/json"
	"fmt"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// Row is one start-up in the page's list.
type Row struct {
	UID     string `json:"uid"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Cause   string `json:"cause"`
	Verdict string `json:"verdict"`
	Link    string `json:"link"` // absolute URL of the start-up
}

const rows = `[...document.querySelectorAll('.rows > a.row:not([hidden])')].sort((a, b) =>
	a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((row) => ({
	uid: row.dataset.uid, name: row.querySelector('.pod b').textContent,
	state: row.querySelector('.state span').textContent,
	cause: row.querySelector('.cause span').textContent, verdict: row.querySelector('.verdict-text').textContent,
	link: row.href }))`

// Rows returns the rows of the list, from top to bottom.
func Rows(t *browser.Tab) ([]Row, error) { return browser.Eval[[]Row](t, rows) }

// HasRow returns a JavaScript expression. The expression is true if the list has a row with the given pod name and the
// given state. An empty state matches all states.
func HasRow(name, state string) string {
	return fmt.Sprintf("%s.some((row) => row.name === %s && (%s === '' || row.state === %[3]s))", rows, quoted(name),
		quoted(state))
}

// Bar is one phase in the page's waterfall.
type Bar struct {
	Name      string  `json:"name"` // name of the phase; for merged phases, the names of all of them
	Container string  `json:"container"`
	Length    string  `json:"length"`
	Error     string  `json:"error"`
	Cause     string  `json:"cause"`
	From      float64 `json:"from"` // start of the bar: 0 is the left end of the axis, 1 is the right end
	To        float64 `json:"to"`
}

const bars = `[...document.querySelectorAll('.wf-rows > .wf-phase')].map((row) => {
	const track = row.querySelector('.wf-track').getBoundingClientRect();
	const bar = row.querySelector('.wf-bar').getBoundingClientRect();
	return { name: row.querySelector('.wf-label span').textContent,
		container: row.querySelector('.wf-label small').textContent,
		length: row.querySelector('.wf-length').textContent, error: row.querySelector('.wf-error').textContent,
		cause: row.querySelector('.wf-cause span').textContent,
		from: (bar.left - track.left) / track.width, to: (bar.right - track.left) / track.width };
})`

// Bars returns the phases in the waterfall, from top to bottom.
func Bars(t *browser.Tab) ([]Bar, error) { return browser.Eval[[]Bar](t, bars) }

// Live is a JavaScript expression that is true while the page receives live updates from the agent.
const Live = `document.querySelector('#connection').classList.contains('live')`

// Detail is a JavaScript expression for the text of the detail box. The page shows this box at the pointer or at the
// focused element. If the page does not show this box, the text is empty.
const Detail = `document.querySelector('#detail')?.hidden === false ? document.querySelector('#detail').innerText : ''`

// Help is a JavaScript expression for the visible texts in the section "What would help" of a pod. Each text describes
// a change that would make the start-up faster.
const Help = `[...document.querySelectorAll('.pod-view .section')].filter((section) => section.checkVisibility() &&
	section.querySelector('h2')?.textContent === 'What would help').flatMap((section) =>
	[...section.querySelectorAll('li > span')].map((span) => span.textContent))`

// Workload is the summary in the view of a workload.
type Workload struct {
	Verdict     string     `json:"verdict"`
	Help        []string   `json:"help"`        // the changes that would make the start-ups faster
	Differences []string   `json:"differences"` // sentences
	Revisions   []Revision `json:"revisions"`   // the latest revision first
}

// Revision is one revision in the view of a workload.
type Revision struct {
	Name     string `json:"name"`
	StartUps string `json:"start_ups"`
	Error    string `json:"error"` // error bound of the mean
	Pulled   string `json:"pulled"`
}

const workload = `(() => {
	const panels = [...document.querySelectorAll('.workloads-view .panel')].filter((panel) => panel.checkVisibility());
	const texts = (heading, selector, text) => panels.filter((panel) =>
		panel.querySelector('h2')?.textContent === heading).flatMap((panel) =>
		[...panel.querySelectorAll(selector)].map(text));
	return { verdict: panels.find((panel) => panel.querySelector('.cause-bar'))?.querySelector('p').textContent ?? '',
		help: texts('What would help', 'li', (li) => li.textContent),
		differences: texts('Differences', 'li', (li) => li.textContent),
		revisions: texts('Differences', 'tbody tr', ({ cells }) => ({ name: cells[0].firstChild.textContent,
			start_ups: cells[1].textContent, error: cells[2].children[1].textContent,
			pulled: cells[4].textContent })) };
})()`

// ReadWorkload returns the summary in the view of a workload. If the page shows no summary, all fields are empty.
func ReadWorkload(t *browser.Tab) (Workload, error) { return browser.Eval[Workload](t, workload) }

// Download contains data from the page and the API about one download in progress.
type Download struct {
	Pod  string  `json:"pod"`
	Text string  `json:"text"` // the page's text for the download
	Most float64 `json:"most"` // highest progress of the download that the API has reported until now, in percent
}

// Downloads returns data from the page and the API about image downloads. Downloads considers only images whose
// reference contains the given text. Downloads reads the page and the API repeatedly until the downloads have ended.
// After 50 reads, which take at least 5 s, Downloads stops in any case.
func Downloads(t *browser.Tab, image string) ([]Download, error) {
	return browser.Eval[[]Download](t, `(async () => {
		const seen = [], most = new Map();
		for (let n = 0; n < 50; n++) {
			const lines = new Map([...document.querySelectorAll('.pulling li')].map((li) =>
				[li.firstChild.textContent, li.querySelector('.download').textContent]));
			const { items } = await (await fetch('api/v1/pulls?limit=1')).json();
			const pulls = items.filter((p) => p.pod && p.image.includes(`+quoted(image)+`));
			if (pulls.length === 0 && seen.length > 0) break;
			for (const p of pulls.filter((p) => p.state === 'pulling' && p.total_bytes)) {
				const text = lines.get(p.namespace + '/' + p.pod + ' ' + p.container);
				most.set(p.pod, Math.max(most.get(p.pod) ?? 0, 100 * (p.done_bytes ?? 0) / p.total_bytes));
				if (text) seen.push({ pod: p.pod, text, most: most.get(p.pod) });
			}
			await new Promise((done) => setTimeout(done, 100));
		}
		return seen; })()`)
}

// NodeStartUp is a JavaScript expression for the panel "Start-up of the node" in the view of a node.
const NodeStartUp = `[...document.querySelectorAll('.node-view .panel')].find((panel) =>
	panel.querySelector('h2')?.textContent === 'Start-up of the node')`

// Overflow is a JavaScript expression for the number of pixels by which the page is wider than the window.
const Overflow = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

func quoted(text string) string {
	encoded, _ := json.Marshal(text) // Marshal never fails for a string
	return string(encoded)
}
