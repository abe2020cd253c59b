package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestErrorBars compares the error bars with the record. At the end of each phase, the bar must extend to both sides by
// the phase's error bound.
func TestErrorBars(t *testing.T) {
	tab := openModules(t)
	must(t, tab.Await("a row", `document.querySelector('.row')`, soon))
	eval[int](t, tab, `(document.querySelector('.row').click(), 0)`)
	must(t, tab.Await("the waterfall", `document.querySelectorAll('.wf-phase').length > 5`, soon))
	wrong := eval[[]string](t, tab, `(async () => {
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const wrong = [];
		let at = 0;
		record.phases.forEach((phase, i) => {
			at += phase.seconds;
			const row = document.querySelectorAll('.wf-phase')[i],
				track = row.querySelector('.wf-track').getBoundingClientRect();
			const bar = row.querySelector('.wf-whisker').getBoundingClientRect();
			const clamp = (seconds) =>
				track.left + track.width * Math.min(Math.max(seconds / record.total_seconds, 0), 1);
			const from = clamp(at - phase.error_seconds), to = Math.max(clamp(at + phase.error_seconds), from + 3);
			if (!(Math.abs(bar.left - from) < 0.5 && Math.abs(bar.right - to) < 0.5))
				wrong.push(phase.phase + ': ' + [bar.left, bar.right, from, to].join(' '));
		});
		return wrong; })()`)
	for _, w := range wrong {
		t.Errorf("%s", w)
	}
}

// TestPressure checks that the details of a phase contain the pressure of the phase.
func TestPressure(t *testing.T) {
	tab := openModules(t)
	reported := eval[string](t, tab, `(async () => {
		const { chartOf } = `+exportsOf("chart.js")+`, { Waterfall } = `+exportsOf("waterfall.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		record.phases[0].pressure = { cpu: 0.004, io: 0.814, memory: 0 };
		const waterfall = new Waterfall(() => {});
		document.querySelector('main').append(waterfall.root);
		waterfall.draw(chartOf(record, 0, () => false));
		waterfall.root.querySelector('.wf-phase').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
		return waterfall.detail.root.innerText; })()`)
	if !strings.Contains(reported, "<1 % for cpu, 81 % for io, 0 % for memory") {
		t.Errorf("the detail is %q", reported)
	}
}

// TestMeaningOfPhase checks that the details of a phase contain the agent's sentence about the phase. The page requests
// the sentences only once.
func TestMeaningOfPhase(t *testing.T) {
	s := standIn(t, "--pods=2")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("rows", `document.querySelectorAll('.row').length === 2`, soon))
	const pull = `[...document.querySelectorAll('.wf-phase')].find((row) =>
		row.querySelector('.wf-label span').textContent === 'pull')`
	for _, row := range []string{"0", "1"} {
		eval[int](t, tab, `(location.hash = '#/', new Promise((done) => setTimeout(() => {
			document.querySelectorAll('.row')[`+row+`].click(); done(0); }, 200)))`)
		must(t, tab.Await("the meaning of the pull", `(`+pull+`?.dispatchEvent(new PointerEvent('pointerover',
			{ bubbles: true })), `+Detail+`).includes('The runtime downloads the image from the registry')`, soon))
	}
	if requests := eval[int](t, tab, `performance.getEntriesByType('resource').filter(({ name }) =>
		name.endsWith('/api/v1/phases')).length`); requests != 1 {
		t.Errorf("the page requested the phases %d times", requests)
	}
	requireNoComplaints(t, tab)
}

// TestTermination checks the table of a pod's termination.
func TestTermination(t *testing.T) {
	tab := openModules(t)
	reported := eval[[]string](t, tab, `(async () => {
		const { Termination } = `+exportsOf("termination.js")+`;
		const termination = new Termination();
		document.querySelector('main').append(termination.root);
		termination.draw({ verdict: 'gone after 30.5 s: app ignored its stop signal', phases: [
			{ phase: 'grace', cause: 'app', container: 'app', seconds: 30, error_seconds: 0.001 },
			{ phase: 'unattributed', cause: 'unknown', seconds: 0.5, error_seconds: 0.25,
				merged_with: ['kill', 'sandbox_stop'] }],
			containers: [{ container: 'app', how: 'killed', exit_code: 137, reason: 'Error',
				grace_used_seconds: 30.012, error_seconds: 0.002 }, { container: 'side', how: 'running' }] });
		const shown = termination.root.innerText;
		termination.draw(undefined);
		return [shown, termination.root.checkVisibility() ? 'shown' : '']; })()`)
	for _, want := range []string{"ignored its stop signal", "30.000 s", "±0.001 s", "the application",
		"possibly kill, sandbox stop", "137 Error", "30.012 s", "running"} {
		if !strings.Contains(reported[0], want) {
			t.Errorf("the table must contain %q, got %q", want, reported[0])
		}
	}
	if reported[1] != "" {
		t.Errorf("for a pod that does not terminate, the table is %s", reported[1])
	}
}

// TestUnreported checks that the page distinguishes missing evidence from milestones that the runtime can never report.
// The page counts attempts from 1, and the record counts from 0.
func TestUnreported(t *testing.T) {
	tab := openModules(t)
	shown := eval[[][]string](t, tab, `(async () => {
		const { PodView } = `+exportsOf("podview.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const view = new PodView({ listen() {} }, () => '');
		document.querySelector('main').append(view.root);
		const sections = async (missing, unreported) => {
			const changed = { ...record, missing, unreported, conflicts: [], lost_events: [] };
			window.fetch = async () => Response.json(changed);
			view.hide();
			view.show({ namespace: record.namespace, name: record.name, uid: record.uid });
			const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			while (view.root.querySelector('.pod-body').hidden) await drawn();
			return [...view.root.querySelectorAll('.section')].filter((s) => !s.hidden && s.querySelector('.gaps'))
				.map((s) => s.innerText.replaceAll(/\s+/g, ' ').trim().toLowerCase());
		};
		return [await sections(['scheduled'], undefined), await sections([], ['network_ready', 'network_ready#1']),
			await sections(['created/app#3'], ['network_ready']), await sections([], undefined)]; })()`)
	const missing, unreported = "missing evidence no evidence for scheduled", "this container runtime cannot report "
	want := [][]string{{missing}, {unreported + "network_ready network_ready #2"},
		{"missing evidence no evidence for created/app #4", unreported + "network_ready"}, {}}
	if !slices.EqualFunc(shown, want, slices.Equal) {
		t.Errorf("the sections are %q, want %q", shown, want)
	}
}

// TestWhatWouldHelp compares the predictions in the view of a start-up with the API.
func TestWhatWouldHelp(t *testing.T) {
	s := standIn(t, "--pods=1", "--predictable")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/pods/shop/web-0"))
	const lines = `[...[...document.querySelectorAll('.pod-view h2')].find((h) => h.textContent === 'What would help' &&
		h.checkVisibility())?.parentElement.querySelectorAll('li') ?? []].map((li) => li.textContent)`
	must(t, tab.Await("the predictions", lines+`.length > 0`, soon))
	type prediction struct {
		Text       string  `json:"text"`
		Assumption string  `json:"assumption"`
		Effect     string  `json:"effect"`
		Least      float64 `json:"total_least_seconds"`
		Most       float64 `json:"total_most_seconds"`
		Gain       float64 `json:"gain_seconds"`
	}
	want := eval[[]prediction](t, tab, `fetch('api/v1/pods/shop/web-0').then((response) => response.json())
		.then((record) => record.what_if)`)
	shown := eval[[]string](t, tab, lines)
	if len(want) != 1 || len(shown) != 1 || shown[0] != want[0].Text+": "+want[0].Effect+", "+want[0].Assumption ||
		want[0].Effect != fmt.Sprintf("about %.1f s instead of 12.0 s (%.1f to %.1f s)", 12-want[0].Gain,
			want[0].Least, want[0].Most) {
		t.Errorf("the page shows %q, the API has %+v", shown, want)
	}
	follow(t, tab, ".back")
	must(t, tab.Go("http://"+s.address+"/#/"))
	follow(t, tab, ".row[data-uid]:not([data-uid=web-0])")
	must(t, tab.Await("a start-up without predictions", `document.querySelectorAll('.wf-phase').length > 10`, soon))
	if shown := eval[[]string](t, tab, lines); len(shown) > 0 {
		t.Errorf("the page shows %q for a start-up without predictions", shown)
	}
	requireNoComplaints(t, tab)
}

// TestMostPredictions checks that the page shows at most three changes: first the predictions, and then the changes of
// unknown effect.
func TestMostPredictions(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { PodView } = `+exportsOf("podview.js")+`, usual = window.fetch;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const what_if = ['a', 'b'].map((text) => ({ text, effect: text + ' s', assumption: 'if ' + text }));
		const what_if_unknown = ['c', 'd'].map((text) => ({ text, reason: 'of ' + text }));
		window.fetch = async () => Response.json({ ...record, what_if, what_if_unknown });
		const view = new PodView({ listen() {} }, () => '');
		document.querySelector('main').replaceChildren(view.root);
		view.show({ namespace: record.namespace, name: record.name, uid: record.uid });
		while (view.root.querySelector('.pod-body').hidden) await new Promise((done) => setTimeout(done, 20));
		window.fetch = usual;
		return [...view.root.querySelectorAll('.section:not([hidden]) .gaps li')].map((li) => li.innerText); })()`)
	if want := []string{"a: a s, if a", "b: b s, if b", "c: no prediction, because of c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPredictionsAfterCompletion completes a start-up in the stream. The stream sends no predictions, so the page must
// request the start-up. Until the response arrives, the page must keep the earlier predictions.
func TestPredictionsAfterCompletion(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Source } = `+exportsOf("source.js")+`;
		const record = { ...(await (await fetch('api/v1/pods')).json()).items[0], state: 'starting' };
		let predicted = 'one', requests = 0;
		const usual = window.fetch;
		window.fetch = async (path, options) => !path.startsWith('api/v1/pods/') ? usual(path, options) :
			(requests++, Response.json(requests === 1 ? record : { ...record, state: 'ready', what_if: predicted }));
		const source = new Source(() => {});
		const shown = () => source.record.state + ' ' + source.record.what_if + ' ' + requests;
		const until = async (ready) => { while (!ready()) await new Promise((done) => setTimeout(done, 20)); };
		source.open({ namespace: record.namespace, name: record.name, uid: record.uid });
		await until(() => source.record);
		const change = (state) => source.apply({ kind: 'startup', uid: record.uid, record: { ...record, state } });
		change('starting');
		const seen = [shown()];
		change('ready');
		seen.push(shown());
		await until(() => source.record.what_if === 'one');
		seen.push(shown());
		predicted = 'two';
		change('ready');
		seen.push(shown());
		await until(() => source.record.what_if === 'two');
		return [...seen, shown()]; })()`)
	want := []string{"starting undefined 1", "ready undefined 2", "ready one 2", "ready one 3", "ready two 3"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
