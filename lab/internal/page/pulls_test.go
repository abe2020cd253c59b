package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// TestPullsInProgress checks the text, the color and the received share of the pulls in each state.
func TestPullsInProgress(t *testing.T) {
	s := standIn(t, "--pods=1", "--pulls")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	must(t, tab.Await("the pulls", `document.querySelectorAll('.pulling li').length === 4`, soon))
	shown := eval[[]string](t, tab,
		`[...document.querySelectorAll('.pulling li')].map((li) => [li.children[0].textContent,
			li.children[2].className, li.querySelector('.progress i').style.width,
		li.children[3].textContent.replace(/ · .*/, ''), li.querySelector('.download').textContent].join(' | '))`)
	for i, want := range []string{
		"queue/unpacked app | progress c-disk | 100% | unpacking | ",
		"queue/half-way app | progress c-registry | 25% | 5.0 MiB of 20 MiB | " +
			"25 % at 3.9 KiB/s, download ends in about 1 h 05 m",
		"queue/waiting app | progress c-pull_queue endless | 100% | queued | ",
		"not requested by a pod on this node | progress c-registry | 50% | 10 MiB of 20 MiB | 50 %",
	} {
		if !slices.Contains(shown, want) {
			t.Errorf("pull %d must show %q, got %q", i, want, shown)
		}
	}
	colors := eval[[]string](t, tab, `[...document.querySelectorAll('.pulling a')]
		.map((a) => (a.hasAttribute('href') ? 'link ' : 'text ') + getComputedStyle(a).color)`)
	slices.Sort(colors)
	if colors = slices.Compact(colors); len(colors) != 2 ||
		strings.TrimPrefix(colors[0], "link") == strings.TrimPrefix(colors[1], "text") {
		t.Errorf("links have the same color as other texts: %q", colors)
	}
	downloads, err := Downloads(tab, "/half-way:")
	must(t, err)
	if len(downloads) == 0 || downloads[0] != (Download{Pod: "half-way", Most: 25,
		Text: "25 % at 3.9 KiB/s, download ends in about 1 h 05 m"}) {
		t.Errorf("the downloads are %+v", downloads)
	}
	must(t, tab.Await("recent pulls", `document.querySelector('td > a')`, soon))
	eval[int](t, tab, `(document.querySelector('td > a').click(), 0)`)
	must(t, tab.Await("the waterfall of the pod that pulled",
		`document.querySelectorAll('.wf-rows > .wf-phase').length > 5`, soon))
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	verdict := eval[string](t, tab, `document.querySelector('.pulls-view .verdict').textContent`)
	if !strings.HasPrefix(verdict, "3 images are being pulled, 1 queued, for ") {
		t.Errorf("the verdict is %q", verdict)
	}
	requireNoComplaints(t, tab)
}

// TestTextOfOtherPulls tests the text about the other pulls that delayed a pull.
func TestTextOfOtherPulls(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { waitsOf } = `+exportsOf("pulls.js")+`;
		const behind = (image) => ({ image: 'web:1', pulls_ahead: 2,
			blocked_by: { namespace: 'shop', pod: 'a', image, seconds: 11 } });
		return [behind('web:1'), behind('db:1'), { image: 'web:1', pulls_ahead: 3, pulls_beside: 1 },
			{ image: 'web:1', pulls_ahead: 1 }].map(waitsOf); })()`)
	want := []string{"waited 11.000 s behind the same image of shop/a", "waited 11.000 s behind db:1 of shop/a",
		"behind 3 pulls, alongside 1 other pull", ""}
	if !slices.Equal(got, want) {
		t.Errorf("the texts are %q, want %q", got, want)
	}
}

// TestBursts tests the module that groups pulls and counts concurrent pulls.
func TestBursts(t *testing.T) {
	tab := openModules(t)
	// The pulls are: a pull an hour before the others, two pulls one after the other, a pull that waits for these two
	// pulls, and a pull without a known end.
	const pulls = `[{key: 'old', from: 0, startedAt: 0, to: 5000},
		{key: 'a', from: 3600000, startedAt: 3600000, to: 3605000},
		{key: 'b', from: 3600100, startedAt: 3605000, to: 3610000},
		{key: 'c', from: 3600200, startedAt: NaN, to: 3612000},
		{key: 'endless', from: 3600000, startedAt: 3600000, to: NaN}]`
	got := eval[[][]string](t, tab,
		`(async () => { const { burstOf, lanesOf } = `+exportsOf("pulls.js")+`; const burst = burstOf(`+pulls+`);
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
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { startUpOf } = `+exportsOf("startup.js")+`, { imagesOf } = `+exportsOf("groups.js")+`,
			{ choiceOf, matcher } = `+exportsOf("choice.js")+`;
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
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Known } = `+exportsOf("known.js")+`, { parse } = `+exportsOf("address.js")+`,
			{ PullsView } = `+exportsOf("pullsview.js")+`;
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

// TestDownloads checks the texts about the downloads of pulls in progress. Unknown values are missing. The line of a
// download has its height even without a text, so that no row moves when the agent knows the rate.
func TestDownloads(t *testing.T) {
	tab := openModules(t)
	for _, width := range []int64{360, 1440} {
		must(t, tab.Show(browser.Look{Width: width, Height: 800, Phone: width < 800}))
		got := eval[[]string](t, tab, `(async () => {
			const { Known } = `+exportsOf("known.js")+`, { parse } = `+exportsOf("address.js")+`,
				{ PullsView } = `+exportsOf("pullsview.js")+`, { downloadText } = `+exportsOf("pulls.js")+`;
			const pull = { namespace: 'a', pod: 'b', container: 'app', image: 'r/i', registry: 'r', age_seconds: 3,
				state: 'pulling', done_bytes: 43, total_bytes: 100 };
			const fast = { ...pull, bytes_per_second: 12 << 20, remaining_seconds: 8.4 };
			const known = new Known(), view = new PullsView(known, () => 0, () => {}, () => {}, () => '');
			window.fetch = async () => Response.json({ items: [], recent: [] });
			document.querySelector('main').replaceChildren(view.root);
			view.show(parse('#/pulls'));
			const heights = [pull, fast].map((p) => {
				known.pulling([p]);
				view.redraw();
				return view.root.querySelector('.pulling').getBoundingClientRect().height;
			});
			return [heights[0] > 30 && heights[0] === heights[1] ? 'same height' : heights.join(' '),
				...[[fast, 0], [fast, 2], [fast, 9], [{ ...fast, remaining_seconds: 0.2 }, 0],
				[{ ...fast, remaining_seconds: 119.8 }, 0], [pull, 0], [{ ...fast, total_bytes: undefined,
				remaining_seconds: undefined }, 0], [{ ...fast, state: 'unpacking' }, 0],
				[{ ...fast, state: undefined }, 0]].map(([p, since]) => downloadText(p, since))]; })()`)
		want := []string{"same height", "43 % at 12 MiB/s, download ends in about 8 s",
			"43 % at 12 MiB/s, download ends in about 6 s", "43 % at 12 MiB/s",
			"43 % at 12 MiB/s, download ends in about 1 s", "43 % at 12 MiB/s, download ends in about 2 m 00 s", "43 %",
			"at 12 MiB/s", "", ""}
		if !slices.Equal(got, want) {
			t.Errorf("width %d: got %q,\nwant %q", width, got, want)
		}
	}
}

// TestDownloadOfPod checks that the view of a starting pod shows the download of the pod's image, and no other
// download.
func TestDownloadOfPod(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { Known } = `+exportsOf("known.js")+`, { PodView } = `+exportsOf("podview.js")+`;
		const record = { ...(await (await fetch('api/v1/pods')).json()).items[0], state: 'starting' };
		const known = new Known(), view = new PodView(known, () => '');
		const pull = { namespace: record.namespace, pod: record.name, container: 'app', state: 'pulling', done_bytes: 1,
			total_bytes: 4, bytes_per_second: 3 << 20 };
		window.fetch = async (path) => Response.json(path === 'api/v1/phases' ? { items: [] } : record);
		document.querySelector('main').replaceChildren(view.root);
		view.show({ namespace: record.namespace, name: record.name, uid: record.uid });
		while (view.root.querySelector('.pod-body').hidden) await new Promise((done) => setTimeout(done, 20));
		const texts = [[], [pull], [{ ...pull, pod: 'other' }, { ...pull, restart: true }]].map((items) => {
			known.pulling(items);
			view.redraw();
			return view.root.querySelector('.download').textContent;
		});
		known.update({ ...record, state: 'ready' });
		view.redraw();
		return [...texts, String(view.root.querySelector('.download').checkVisibility())]; })()`)
	if want := []string{"", "app: 25 % at 3.0 MiB/s", "", "false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
