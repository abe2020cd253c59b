package page

import (
	"slices"
	"strings"
	"testing"
)

// TestWorkloadSummary selects a workload, compares the summary with the API, and follows the link to the slowest
// start-up.
func TestWorkloadSummary(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/workloads"))
	must(t, tab.Await("the workloads", `document.querySelectorAll('tbody tr').length === 21`, soon))
	const panel = `[...document.querySelectorAll('.workloads-view .panel')].find((p) => p.querySelector('.cause-bar'))`
	if ask[bool](t, tab, panel+`.checkVisibility()`) {
		t.Error("the page shows the summary of a workload although no workload is selected")
	}
	follow(t, tab, "tbody td:nth-child(6) a")
	must(t, tab.Await("the summary", `location.hash.startsWith('#/workloads?owner=') && `+panel+`.checkVisibility()`,
		soon))
	wrong := ask[[]string](t, tab, `(async () => {
		const items = (await (await fetch('api/v1/pods?limit=500')).json()).items;
		const owner = new URLSearchParams(location.hash.split('?')[1]).get('owner');
		const members = items.filter((r) => [r.namespace, r.owner.kind, r.owner.name].join('/') === owner)
			.sort((a, b) => a.total_seconds - b.total_seconds);
		const panel = `+panel+`, slowest = members.at(-1), wrong = [];
		const expect = (got, want) => { if (got !== want) wrong.push(got + ', want ' + want); };
		const s = (seconds) => seconds.toFixed(1) + ' s';
		expect(members.length, 3);
		expect(panel.querySelector('h2').textContent, owner);
		expect(panel.querySelector('p').textContent, '3 start-ups, p50 ' + s(members[1].total_seconds) + ', p90 ' +
			s(slowest.total_seconds) + ', slowest ' + s(slowest.total_seconds) + ' (' + slowest.name + '); ±620 ms');
		expect(panel.querySelector('.facts').textContent.trim(), 'The bar shows the mean.');
		const registry = members.flatMap((r) => r.phases).filter((p) => p.cause === 'registry')
			.reduce((sum, p) => sum + p.seconds / 3, 0);
		const legend = [...panel.querySelectorAll('.legend li')].find((li) => li.className === 'c-registry');
		const shown = legend.querySelector('b').textContent;
		expect(Math.abs(parseFloat(shown) / (shown.endsWith(' ms') ? 1000 : 1) - registry) < 0.006, true);
		return wrong; })()`)
	for _, w := range wrong {
		t.Errorf("the summary shows %s", w)
	}
	slowest := ask[string](t, tab, panel+`.querySelector('a').textContent`)
	ask[int](t, tab, `(`+panel+`.querySelector('a').click(), 0)`)
	must(t, tab.Await("the slowest start-up", `document.querySelector('.pod-title h1') && `+quoted(slowest)+
		`.endsWith('(' + document.querySelector('.pod-title h1').textContent + ')')`, soon))
	requireNoComplaints(t, tab)
}

// TestSummaryExcludes checks which start-ups the summary of a workload includes.
func TestSummaryExcludes(t *testing.T) {
	tab := modules(t)
	got := ask[[]string](t, tab, `(async () => {
		`+workloadsView()+`
		document.querySelector('main').replaceChildren(view.root);
		const add = (name, state, seconds, error) => known.update({ ...record, namespace: 'shop', name, uid: name,
			owner: { kind: 'Job', name: 'x' }, state, total_seconds: seconds, total_error_seconds: error,
			phases: [{ ...record.phases[0], cause: 'app', seconds }] });
		const texts = () => {
			view.show(parse('#/workloads?owner=shop/Job/x'));
			const panel = [...view.root.querySelectorAll('.panel')].find((p) => p.querySelector('.cause-bar'));
			return [...panel.querySelectorAll('p')].map((p) => p.textContent.trim())
				.concat(panel.querySelector('.legend').textContent);
		};
		add('a', 'starting', 100, 1);
		add('b', 'failed', 100, 1);
		add('c', 'ready', 50, 50);
		const none = texts();
		add('d', 'ready', 4, 0.5);
		add('e', 'succeeded', 8, 0.25);
		add('f', 'failed', 100, 1);
		return [...none, ...texts()]; })()`)
	want := []string{
		"No completed start-up has a known length.",
		"Not included: 1 starting, 1 failed, 1 of unknown length.", "",
		"2 start-ups, p50 4.00 s, p90 8.00 s, slowest 8.00 s (e); ±500 ms",
		"The bar shows the mean. Not included: 2 failed, 1 starting, 1 of unknown length.",
		"the application6.00 s100 %",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// workloadsView returns a script that creates an empty view of workloads, and a record of a start-up.
func workloadsView() string {
	return `const { Known } = ` + module("known.js") + `, { parse } = ` + module("address.js") + `,
			{ GroupsView } = ` + module("groupsview.js") + `;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known(), view = new GroupsView('workloads', known, () => 0, () => {}, () => '');`
}
