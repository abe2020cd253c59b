package page

import (
	"fmt"
	"slices"
	"testing"
)

// TestDeletedPods checks that deleted pods stay in the list, and that the page marks these pods as gone.
func TestDeletedPods(t *testing.T) {
	s := standIn(t, "--pods=20", "--leaving")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("a deleted pod",
		`document.querySelector('.row.gone:not([hidden])')?.innerText.includes('pod gone')`, soon))
	requireNoComplaints(t, tab)
}

// TestStartUpInProgressGrows checks that the duration of a start-up in progress grows with the browser's clock.
func TestStartUpInProgressGrows(t *testing.T) {
	tab := openModules(t)
	got := eval[[]float64](t, tab, `(async () => {
		const { age, startUpOf, stuckIn } = `+exportsOf("startup.js")+`;
		const record = { ...(await (await fetch('api/v1/pods')).json()).items[0], total_seconds: 10 };
		const last = record.phases.at(-1).seconds;
		return ['starting', 'ready'].flatMap((state) => { const s = startUpOf({ ...record, state }, 1000);
			return [age(s, 6000), Math.round(stuckIn(s, 6000).seconds - last)]; }); })()`)
	if fmt.Sprint(got) != "[15 5 10 0]" {
		t.Errorf("%v", got)
	}
}

// TestSlowestWorkloadInProgress checks that the heading of the workloads does not state that a start-up in progress is
// over.
func TestSlowestWorkloadInProgress(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Known } = `+exportsOf("known.js")+`, { parse } = `+exportsOf("address.js")+`,
			{ GroupsView } = `+exportsOf("groupsview.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		return ['starting', 'ready'].map((state) => {
			const known = new Known(), view = new GroupsView('workloads', known, () => 0, () => {}, () => '');
			known.update({ ...record, namespace: 'shop', owner: { kind: 'Job', name: 'x' }, state,
				total_seconds: 540 }, performance.now());
			document.querySelector('main').replaceChildren(view.root);
			view.show(parse('#/workloads'));
			return view.root.querySelector('.verdict').textContent; }); })()`)
	want := []string{"1 workload. The slowest has taken 9 m 00 s so far: shop/Job/x.",
		"1 workload. The slowest took 9 m 00 s: shop/Job/x."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSlowestWorkload checks that start-ups of unknown length do not count, and that the heading names a pod without an
// owner.
func TestSlowestWorkload(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		`+workloadsView()+`
		const add = (name, seconds, error, owner) => known.update({ ...record, namespace: 'shop', name, uid: name,
			owner, state: 'ready', total_seconds: seconds, total_error_seconds: error }, performance.now());
		add('bare', 9, 1);
		add('early', 27, 28, { kind: 'DaemonSet', name: 'agent' });
		add('late', 2, 1, { kind: 'DaemonSet', name: 'agent' });
		add('old', 300, 301, { kind: 'Job', name: 'x' });
		document.querySelector('main').replaceChildren(view.root);
		view.show(parse('#/workloads'));
		return [view.root.querySelector('.verdict').textContent, ...[...view.root.querySelectorAll('tbody tr')].map(
			(row) => [0, 5, 6].map((i) => row.cells[i].textContent).join(' '))]; })()`)
	want := []string{"3 workloads. The slowest took 9.00 s: shop/bare.", "no owner 9.00 s 9.00 s",
		"DaemonSet/agent 2.00 s 2.00 s", "Job/x – –"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPercentiles checks that the page uses the nearest rank of successful start-ups, as the command line does.
func TestPercentiles(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { percentile, workloadsOf } = `+exportsOf("groups.js")+`;
		const s = (total, state) => ({ workload: 'w', total, state, error: 0, seenAt: 0, causes: [] });
		const [group] = workloadsOf([s(2.7, 'ready'), s(9.8, 'succeeded'), s(60, 'failed'), s(0.1, 'deleted'),
			s(3600, 'given_up'), s(1, 'starting')], 0);
		return [[], [5], [9.8, 2.7], [3, 1, 2], [4, 10, 2, 3]].map((numbers) => percentile(numbers, 50))
			.concat(group.p50, [9, 10, 11].map((n) => percentile(Array.from({ length: n }, (_, i) => i + 1), 90)))
			.map(String); })()`)
	if want := []string{"undefined", "5", "2.7", "2", "3", "2.7", "9", "9", "10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPodDeletedDuringList deletes a pod while the agent sends the list of start-ups. The page must mark the pod as
// gone.
func TestPodDeletedDuringList(t *testing.T) {
	tab := openModules(t)
	if gone := eval[bool](t, tab, `(async () => {
		const { Known } = `+exportsOf("known.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known();
		known.expectList();
		known.gone(record.uid);
		known.addPage([record], 0);
		known.completeList();
		return known.startUps.get(record.uid)?.gone === true; })()`); !gone {
		t.Error("the page must show the pod and mark it as gone")
	}
}

// TestDeletedPodsAreLimited checks the limit of deleted pods in the list. The page must remove the pods that were
// deleted first.
func TestDeletedPodsAreLimited(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Known } = `+exportsOf("known.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known();
		for (let i = 0; i < 1100; i++) known.update({ ...record, uid: 'u' + i }, 0);
		for (let i = 1099; i >= 10; i--) known.gone('u' + i);
		const uids = [...known.startUps.keys()];
		return [String(uids.length), uids[0], uids[10], uids.at(-1)]; })()`)
	if fmt.Sprint(got) != "[1010 u0 u1009 u10]" { // ten existing pods, and the last thousand deleted pods
		t.Errorf("%v", got)
	}
}

// TestPodDeletedWhileStarting deletes pods during their start-up. The stream sends only the event "gone", so the page
// must request the end of each start-up. It must not show a start-up whose end the agent does not know.
func TestPodDeletedWhileStarting(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Feed } = `+exportsOf("feed.js")+`, { Known } = `+exportsOf("known.js")+`;
		const record = { ...(await (await fetch('api/v1/pods')).json()).items[0], state: 'starting' };
		let source;
		window.EventSource = class extends EventTarget { constructor() { super(); source = this; } close() {} };
		const asked = [], usual = window.fetch;
		window.fetch = async (path, options) => !path.startsWith('api/v1/pods/') ? usual(path, options) :
			(asked.push(path), path.endsWith('?uid=kept') ?
			Response.json({ ...record, uid: 'kept', state: 'deleted', gone_at: record.created_at }) :
			Response.json({ reason: 'not found' }, { status: 404 }));
		const known = new Known();
		new Feed(known, () => {}).run();
		for (const uid of ['kept', 'forgotten', 'ready']) {
			known.update({ ...record, uid, state: uid === 'ready' ? uid : 'starting' }, 0);
			source.dispatchEvent(new MessageEvent('gone', { lastEventId: '1-1', data:
				JSON.stringify({ namespace: record.namespace, name: record.name, uid }) }));
		}
		const shown = (uid) => [...known.startUps.values()].find((s) => s.uid === uid);
		for (let i = 0; i < 1000 && (shown('forgotten') || !shown('kept').gone); i++) {
			await new Promise((done) => setTimeout(done, 20));
		}
		return [asked.length + ' requests', ...[...known.startUps.values()].map((s) =>
			s.uid + ' ' + s.state + ' ' + s.gone)]; })()`)
	if want := []string{"2 requests", "kept deleted true", "ready ready true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHeadingAndCountsMatchList checks that the heading and the counts of the list are about the start-ups that match
// the filters.
func TestHeadingAndCountsMatchList(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("all start-ups", listed+` === 60`, soon))
	shown := eval[[]string](t, tab, `(async () => {
		const { Known } = `+exportsOf("known.js")+`, { parse } = `+exportsOf("address.js")+`,
			{ StartUpsView } = `+exportsOf("startupsview.js")+`;
		const records = (await (await fetch('api/v1/pods?limit=4')).json()).items;
		const known = new Known();
		const names = ['slow', 'typo', 'pair', 'pair'];
		known.expectList();
		known.addPage(records.map((r, i) => ({ ...r, name: names[i], state: i === 1 ? 'starting' : 'ready' })), 0);
		known.completeList();
		const view = new StartUpsView(known, () => Date.now(), () => {}, () => '');
		document.querySelector('main').replaceChildren(view.root);
		return ['', '?q=slow', '?q=typo', '?q=pair', '?state=ready', '?q=none'].map((query) => {
			view.show(parse('#/' + query));
			const chips = [...view.root.querySelectorAll('.chip:not([hidden])')].map((c) =>
				[...c.children].map((child) => child.innerText).join(' '));
			return [...[...view.root.querySelectorAll(':scope > :is(.verdict, .stuck)')].map((p) =>
				p.innerText.replace(/[,:].*/, '')),
				...chips].join(' | '); }); })()`)
	want := []string{
		"typo is starting | Main causes of 3 recent start-ups | all 4 | starting 1 | ready 3",
		"No matching pods are starting. | Main causes of 1 matching recent start-up | all 1 | ready 1",
		"typo is starting |  | all 1 | starting 1",
		"No matching pods are starting. | Main causes of 2 matching recent start-ups | all 2 | ready 2",
		"No matching pods are starting. | Main causes of 3 matching recent start-ups | all 4 | starting 1 | ready 3",
		"No matching pods are starting. |  | all 0",
	}
	if !slices.Equal(shown, want) {
		t.Errorf("got %q,\nwant %q", shown, want)
	}
}
