package page

import (
	"slices"
	"strings"
	"testing"
)

// TestErrorBars compares the error bars with the record. At the end of each phase, the bar must extend to both sides by
// the phase's error bound.
func TestErrorBars(t *testing.T) {
	tab := modules(t)
	must(t, tab.Await("a row", `document.querySelector('.row')`, soon))
	ask[int](t, tab, `(document.querySelector('.row').click(), 0)`)
	must(t, tab.Await("the waterfall", `document.querySelectorAll('.wf-phase').length > 5`, soon))
	wrong := ask[[]string](t, tab, `(async () => {
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
	tab := modules(t)
	reported := ask[string](t, tab, `(async () => {
		const { chartOf } = `+module("chart.js")+`, { Waterfall } = `+module("waterfall.js")+`;
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

// TestTermination checks the table of a pod's termination.
func TestTermination(t *testing.T) {
	tab := modules(t)
	reported := ask[[]string](t, tab, `(async () => {
		const { Termination } = `+module("termination.js")+`;
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
		"or kill, sandbox stop", "137 Error", "30.012 s", "running"} {
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
	tab := modules(t)
	shown := ask[[][]string](t, tab, `(async () => {
		const { PodView } = `+module("podview.js")+`;
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
