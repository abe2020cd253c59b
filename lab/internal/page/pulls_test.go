package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPullsInProgress checks the text, the color and the received share of the pulls in each state.
func TestPullsInProgress(t *testing.T) {
	s := standIn(t, "--pods=1", "--pulls")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	must(t, tab.Await("the pulls", `document.querySelectorAll('.pulling li').length === 4`, soon))
	shown := ask[[]string](t, tab,
		`[...document.querySelectorAll('.pulling li')].map((li) => [li.children[0].textContent,
			li.children[2].className, li.querySelector('.progress i').style.width,
		li.children[3].textContent.replace(/ · .*/, '')].join(' | '))`)
	for i, want := range []string{
		"queue/unpacked app | progress c-disk | 100% | unpacking",
		"queue/half-way app | progress c-registry | 25% | 5.0 MiB of 20 MiB",
		"queue/waiting app | progress c-pull_queue endless | 100% | queued",
		"not requested by a pod on this node | progress c-registry | 50% | 10 MiB of 20 MiB",
	} {
		if !slices.Contains(shown, want) {
			t.Errorf("pull %d must show %q, got %q", i, want, shown)
		}
	}
	colors := ask[[]string](t, tab, `[...document.querySelectorAll('.pulling a')]
		.map((a) => (a.hasAttribute('href') ? 'link ' : 'text ') + getComputedStyle(a).color)`)
	slices.Sort(colors)
	if colors = slices.Compact(colors); len(colors) != 2 ||
		strings.TrimPrefix(colors[0], "link") == strings.TrimPrefix(colors[1], "text") {
		t.Errorf("links have the same color as other texts: %q", colors)
	}
	must(t, tab.Await("recent pulls", `document.querySelector('td > a')`, soon))
	ask[int](t, tab, `(document.querySelector('td > a').click(), 0)`)
	must(t, tab.Await("the waterfall of the pod that pulled",
		`document.querySelectorAll('.wf-rows > .wf-phase').length > 5`, soon))
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	if verdict := ask[string](t, tab, `document.querySelector('.pulls-view .verdict').textContent`); !strings.HasPrefix(
		verdict, "3 images are being pulled, 1 queued, for ") {
		t.Errorf("the verdict is %q", verdict)
	}
	requireNoComplaints(t, tab)
}

// TestTextOfOtherPulls tests the text about the other pulls that delayed a pull.
func TestTextOfOtherPulls(t *testing.T) {
	tab := modules(t)
	got := ask[[]string](t, tab, `(async () => {
		const { waitsOf } = `+module("pulls.js")+`;
		const behind = (image) => ({ image: 'web:1', pulls_ahead: 2,
			blocked_by: { namespace: 'shop', pod: 'a', image, seconds: 11 } });
		return [behind('web:1'), behind('db:1'), { image: 'web:1', pulls_ahead: 3, pulls_beside: 1 },
			{ image: 'web:1', pulls_ahead: 1 }].map(waitsOf); })()`)
	want := []string{"waited 11.000 s behind the same image of shop/a", "waited 11.000 s behind db:1 of shop/a",
		"behind 3 pulls, beside 1 other pull", ""}
	if !slices.Equal(got, want) {
		t.Errorf("the texts are %q, want %q", got, want)
	}
}

// TestBursts tests the module that groups pulls and counts concurrent pulls.
func TestBursts(t *testing.T) {
	tab := modules(t)
	// The pulls are: a pull an hour before the others, two pulls one after the other, a pull that waits for these two
	// pulls, and a pull without a known end.
	const pulls = `[{key: 'old', from: 0, startedAt: 0, to: 5000},
		{key: 'a', from: 3600000, startedAt: 3600000, to: 3605000},
		{key: 'b', from: 3600100, startedAt: 3605000, to: 3610000},
		{key: 'c', from: 3600200, startedAt: NaN, to: 3612000},
		{key: 'endless', from: 3600000, startedAt: 3600000, to: NaN}]`
	got := ask[[][]string](t, tab,
		`(async () => { const { burstOf, lanesOf } = `+module("pulls.js")+`; const burst = burstOf(`+pulls+`);
		return [burst.map((p) => p.key), ...lanesOf(burst).map((lane) => lane.map((p) => p.key)),
			...lanesOf([...burst, { key: 'd', startedAt: 3601000, to: 3602000 }]).map((lane) =>
				lane.map((p) => p.key))]; })()`)
	if want := "[[a b c] [a b] [a b] [d]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestImagesWithoutPull checks that the views of images and registries and the filter by registry count an image as a
// pull only if the record shows a pull.
func TestImagesWithoutPull(t *testing.T) {
	tab := modules(t)
	got := ask[[]string](t, tab, `(async () => {
		const { startUpOf } = `+module("startup.js")+`, { imagesOf } = `+module("groups.js")+`,
			{ choiceOf, matcher } = `+module("choice.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const matches = matcher(choiceOf(new URLSearchParams('registry=r.example')), 0);
		return [{ outcome: 'present', finished_at: record.created_at }, { outcome: 'unknown' },
			{ outcome: 'unknown', requested_at: record.created_at }, { outcome: 'unknown',
			started_at: record.created_at }, { outcome: 'unknown', finished_at: record.created_at },
			{ outcome: 'verified' }].map((p) => {
			const s = startUpOf({ ...record, pulls: [{ image: 'i', registry: 'r.example', ...p }] }, 0);
			const [image] = imagesOf([s]);
			return image.count + ' ' + image.pulls + ' ' + matches(s); }); })()`)
	want := []string{"1 0 false", "1 0 false", "1 1 true", "1 1 true", "1 1 true", "1 1 true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPullsWithoutState shows pulls whose state or start no source reports. The page must not state that these pulls
// wait in the queue, or that the registry is slow.
func TestPullsWithoutState(t *testing.T) {
	tab := modules(t)
	got := ask[[]string](t, tab, `(async () => {
		const { Known } = `+module("known.js")+`, { parse } = `+module("address.js")+`,
			{ PullsView } = `+module("pullsview.js")+`;
		const pull = (pod, more) => ({ namespace: 'a', pod, uid: pod, container: 'app', image: 'r/i:' + pod,
			registry: 'r', attempt: 0, ...more });
		const now = Date.parse('2026-03-01T12:00:20Z');
		const response = { items: [pull('none', { age_seconds: 12 }), pull('pulls', { age_seconds: 12,
			state: 'pulling' }), pull('waits', { age_seconds: 12, state: 'queued' })], recent: [
			pull('lost', { outcome: 'unknown', requested_at: '2026-03-01T12:00:00Z',
				finished_at: '2026-03-01T12:00:05Z' }), pull('known', { outcome: 'downloaded',
				requested_at: '2026-03-01T12:00:00Z', started_at: '2026-03-01T12:00:01Z',
				finished_at: '2026-03-01T12:00:03Z' })] };
		window.fetch = async () => Response.json(response);
		const view = new PullsView(new Known(), () => now, () => {}, () => {}, () => '');
		document.querySelector('main').replaceChildren(view.root);
		const verdict = async (query, ready) => {
			view.show(parse('#/pulls' + query));
			while (!ready()) await new Promise((done) => setTimeout(done, 20));
			return view.root.querySelector('.verdict').textContent.replace(/ for .*/, '');
		};
		const waits = () => [...view.root.querySelectorAll('.wait')];
		const all = await verdict('', () => waits().length === 5);
		const bars = waits().map((wait) => wait.querySelector('.who').textContent.replace('a/', '').replace(' app',
			'') + ': ' + wait.querySelector('.long').textContent + ' ' + wait.querySelector('i').className);
		const facts = view.root.querySelector('.facts').textContent.replace(/.*UTC/, '');
		const past = await verdict('?to=2026-03-01T12:00:01Z', () => waits().length === 2);
		return [all, facts, past, ...bars.sort()]; })()`)
	want := []string{"3 pulls are in progress, 1 queued,", ".", "No matching pulls in progress.",
		"known: 1.00 s queued, 2.00 s pull c-pull_queue", "lost: 5.00 s, queue and pull c-unknown",
		"none: 12.0 s, queued or pulling c-unknown", "pulls: 12.0 s, pulling c-unknown",
		"waits: 12.0 s queued, still waits c-pull_queue"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q,\nwant %q", got, want)
	}
}
