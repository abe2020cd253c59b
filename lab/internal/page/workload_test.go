package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// TestWorkloadSummary selects a workload, compares the summary with the API, and follows the link to the slowest
// start-up.
func TestWorkloadSummary(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/workloads"))
	must(t, tab.Await("the workloads", `document.querySelectorAll('tbody tr').length === 21`, soon))
	const panel = `[...document.querySelectorAll('.workloads-view .panel')].find((p) => p.querySelector('.cause-bar'))`
	if eval[bool](t, tab, panel+`.checkVisibility()`) {
		t.Error("the page shows the summary of a workload although no workload is selected")
	}
	follow(t, tab, "tbody td:nth-child(6) a")
	must(t, tab.Await("the summary", `location.hash.startsWith('#/workloads?owner=') && `+panel+`.checkVisibility()`,
		soon))
	wrong := eval[[]string](t, tab, `(async () => {
		const owner = new URLSearchParams(location.hash.split('?')[1]).get('owner');
		const { verdict, summary } = await (await fetch('api/v1/workloads/' + owner)).json();
		const panel = `+panel+`, wrong = [];
		const expect = (got, want) => { if (got !== want) wrong.push(got + ', want ' + want); };
		expect(panel.querySelector('h2').textContent, owner);
		expect(panel.querySelector('p').textContent, verdict);
		expect(verdict.startsWith('3 start-ups, p50 '), true);
		expect(panel.querySelector('a').textContent, summary.slowest.name);
		const registry = summary.causes.find((c) => c.cause === 'registry').mean_seconds;
		const legend = [...panel.querySelectorAll('.legend li')].find((li) => li.className === 'c-registry');
		const shown = legend.querySelector('b').textContent;
		expect(Math.abs(parseFloat(shown) / (shown.endsWith(' ms') ? 1000 : 1) - registry) < 0.006, true);
		return wrong; })()`)
	for _, w := range wrong {
		t.Errorf("the summary shows %s", w)
	}
	slowest := eval[string](t, tab, panel+`.querySelector('a').textContent`)
	eval[int](t, tab, `(`+panel+`.querySelector('a').click(), 0)`)
	must(t, tab.Await("the slowest start-up", `document.querySelector('.pod-title h1')?.textContent === `+
		quoted(slowest), soon))
	requireNoComplaints(t, tab)
}

// revisionsShown is a JavaScript expression for the texts of the panel with the differences: the sentences, and the
// rows of the revisions.
const revisionsShown = `[...document.querySelectorAll('.workloads-view .panel')].filter((panel) =>
	panel.checkVisibility() && panel.querySelector('h2')?.textContent === 'Differences').flatMap((panel) =>
	[...panel.querySelectorAll('li'), ...panel.querySelectorAll('tbody tr')].map((node) =>
		[...(node.cells ?? [node])].map((cell) => cell.textContent.replaceAll('\u00a0', ' ')).join(' | ')))`

// TestRevisions compares the predictions and the differences of a workload with the API. With the keyboard, it selects
// two other revisions. While the responses arrive, no visible element of the view may move.
func TestRevisions(t *testing.T) {
	s := standIn(t, "--pods=1", "--revisions")
	tab := openTab(t, wide)
	for _, look := range []browser.Look{wide, narrow} {
		must(t, tab.Show(look))
		must(t, tab.Go("http://"+s.address+"/#/quality"))
		must(t, tab.Await("the page", `document.querySelector('.parts li') && `+Live, soon))
		// Without the delay, the response could arrive before the observer starts.
		eval[int](t, tab, `(() => { const usual = window.fetch;
			window.fetch = async (path, options) => { await new Promise((done) => setTimeout(done,
				path.startsWith('api/v1/workloads/') ? 1500 : 0)); return usual(path, options); };
			location.hash = '#/workloads?owner=shop/StatefulSet/web'; return 0; })()`)
		must(t, tab.Await("the row of the workload", `document.querySelector('tbody')?.children.length === 1 &&
			new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`, soon))
		eval[int](t, tab, `(window.moved = [], new PerformanceObserver((list) => {
			for (const entry of list.getEntries()) for (const { node } of entry.sources)
			if (node?.closest?.('main')) window.moved.push(node.outerHTML);
			}).observe({ type: 'layout-shift' }), 0)`)
		type response struct {
			WhatIf []struct {
				Text, Effect, Assumption string
			} `json:"what_if"`
			Verdict     string   `json:"verdict"`
			Differences []string `json:"differences"`
			Summary     struct {
				Comparison struct {
					Difference struct {
						Seconds float64 `json:"seconds"`
						Error   float64 `json:"error_seconds"`
					} `json:"difference"`
				} `json:"comparison"`
			} `json:"summary"`
		}
		compare := func(query string, row int) {
			t.Helper()
			want := eval[response](t, tab, `fetch('api/v1/workloads/shop/StatefulSet/web`+query+
				`').then((response) => response.json())`)
			must(t, tab.Await("the differences", revisionsShown+`[0] === `+quoted(want.Differences[0]), soon))
			shown := eval[[]string](t, tab, revisionsShown)
			d := want.Summary.Comparison.Difference
			difference := fmt.Sprintf("%+.3f s±%.3f s", d.Seconds, d.Error)
			if len(shown) != 4 || !strings.Contains(shown[row], "| 4 | ") ||
				strings.Count(strings.Join(shown, ""), "±") != 4 || !strings.Contains(shown[row], difference) {
				t.Errorf("%s: the page shows %q, want 4 start-ups and %q in row %d", query, shown, difference, row)
			}
			read, err := ReadWorkload(tab)
			must(t, err)
			help := read.Help
			if !slices.Equal(read.Differences, want.Differences) || len(read.Revisions) != 3 || read.Verdict !=
				want.Verdict || read.Revisions[1] != (Revision{"second", "4", "±1.000 s", "4 of 4"}) {
				t.Errorf("%s: %+v", query, read)
			}
			if len(help) != 1 || help[0] != want.WhatIf[0].Text+": "+want.WhatIf[0].Effect+", "+
				want.WhatIf[0].Assumption || !strings.Contains(help[0], "on average about ") {
				t.Errorf("%s: the page shows %q, the API has %+v", query, help, want.WhatIf)
			}
		}
		compare("", 1)
		const link = `[...document.querySelectorAll('.workloads-view td > a')].find((a) =>
			a.nextSibling.textContent === 'compare with first')`
		eval[int](t, tab, `(`+link+`.focus(), 0)`)
		must(t, tab.Press(kb.Enter))
		must(t, tab.Await("the address", `location.hash.endsWith('&revision=first%2Csecond')`, soon))
		compare("?revision=first,second", 2)
		if !eval[bool](t, tab, `document.activeElement === `+link) {
			t.Error("the link has lost the focus")
		}
		if command := eval[string](t, tab, `document.querySelector('.workloads-view .copy button').title`); command !=
			"kubectl podlapse explain sts/web -n shop --revision first,second --node standin" {
			t.Errorf("the command is %q", command)
		}
		if moved := eval[[]string](t, tab, `window.moved`); len(moved) > 0 {
			t.Errorf("in a window of %d, the responses moved %.500q", look.Width, moved)
		}
		if over := eval[int](t, tab, Overflow); over > 0 {
			t.Errorf("the page is %d pixels too wide for a window of %d", over, look.Width)
		}
	}
	requireNoComplaints(t, tab)
}

// TestUnprovenDifference checks that the page shows no difference that the data does not support. A workload without a
// measured start-up has no slowest start-up.
func TestUnprovenDifference(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Workload } = `+exportsOf("workload.js")+`;
		const revision = (name, durations) => ({ revision: name, durations, pulled: 0, pulled_of: 0 });
		const response = { verdict: 'no completed start-up', differences: ['too few'], what_if: [], summary: {
			causes: [],
			revisions: [revision('b', { start_ups: 3, mean_seconds: 2, mean_error_seconds: 0.5 }), revision('a')],
			comparison: { from: 'a', to: 'b', difference: { verdict: 'too_few', seconds: 2, error_seconds: 0.5 } } } };
		const paths = [], usual = window.fetch;
		window.fetch = async (path, options) => !path.startsWith('api/v1/workloads/') ? usual(path, options) :
			(paths.push(path), Response.json(response));
		const workload = new Workload(() => {});
		document.querySelector('main').replaceChildren(workload.root);
		workload.show('shop/Job/a&b', 'a,b');
		while (workload.root.hidden) await new Promise((done) => setTimeout(done, 20));
		const shown = [...paths, workload.root.innerText.includes('slowest'), workload.root.innerText.includes('help'),
			...[...workload.root.querySelectorAll('tbody tr')].map((row) =>
				[...row.cells].map((cell) => cell.textContent).join(' | '))];
		workload.show('shop/', '');
		return [...shown, workload.root.hidden].map(String); })()`)
	want := []string{"api/v1/workloads/shop/Job/a%26b?revision=a%2Cb", "false", "false",
		"bcompare with a | 3 | 2.00 s±0.500 s |  | 0 of 0 | –", "a | 0 | –– |  | 0 of 0 | –", "true"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// workloadsView returns a script that creates an empty view of workloads, and a record of a start-up.
func workloadsView() string {
	return `const { Known } = ` + exportsOf("known.js") + `, { parse } = ` + exportsOf("address.js") + `,
			{ GroupsView } = ` + exportsOf("groupsview.js") + `;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known(), view = new GroupsView('workloads', known, () => 0, () => {}, () => '');`
}
