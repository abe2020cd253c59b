// Package page reads the agent's web page as a user does, from the screen and not from the API. The package depends on
// the page's CSS classes, but not on the page's code.
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
func Rows(t *browser.Tab) ([]Row, error) { return browser.Ask[[]Row](t, rows) }

// HasRow returns a JavaScript expression that reports whether the list has a row for a pod in the given state. An empty
// state matches all states.
func HasRow(name, state string) string {
	return fmt.Sprintf("%s.some((row) => row.name === %s && (%s === '' || row.state === %[3]s))", rows, quoted(name),
		quoted(state))
}

// Bar is one phase in the page's waterfall.
type Bar struct {
	Name      string  `json:"name"` // name of the phase, and the names of the phases that are merged with this phase
	Container string  `json:"container"`
	Length    string  `json:"length"`
	Error     string  `json:"error"`
	Cause     string  `json:"cause"`
	From      float64 `json:"from"` // start of the bar as a fraction of the axis
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
func Bars(t *browser.Tab) ([]Bar, error) { return browser.Ask[[]Bar](t, bars) }

// Live is a JavaScript expression that is true while the page receives the stream.
const Live = `document.querySelector('#connection').classList.contains('live')`

// Detail is a JavaScript expression for the text in the box at the pointer or the focus. If the page shows no box, the
// value is empty.
const Detail = `document.querySelector('#detail')?.hidden === false ? document.querySelector('#detail').innerText : ''`

// Help is a JavaScript expression for the visible texts of the changes that would make a start-up faster.
const Help = `[...document.querySelectorAll('.pod-view .section')].filter((section) => section.checkVisibility() &&
	section.querySelector('h2')?.textContent === 'What would help').flatMap((section) =>
	[...section.querySelectorAll('li > span')].map((span) => span.textContent))`

// NodeStartUp is a JavaScript expression for the part of the view of the node that shows the node's start-up.
const NodeStartUp = `[...document.querySelectorAll('.node-view .panel')].find((panel) =>
	panel.querySelector('h2')?.textContent === 'Start-up of the node')`

// Overflow is a JavaScript expression for the number of pixels by which the page is wider than the window.
const Overflow = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

func quoted(text string) string {
	encoded, _ := json.Marshal(text) // Marshal never fails for a string
	return string(encoded)
}
