package page

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// TestKeys goes from the list to the layers of a pull and back without a pointer.
func TestKeys(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("rows", `document.querySelectorAll('.row').length > 10`, soon))
	press := func(keys ...string) {
		for _, key := range keys {
			must(t, tab.Press(key))
		}
	}
	// Pressed, it would be typed as well.
	ask[int](t, tab, `(document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true })), 0)`)
	press("team-3")
	must(t, tab.Await("the search to be in the address", `location.hash === '#/?q=team-3'`, soon))
	must(t, tab.Await("the rows of the search", `[...document.querySelectorAll('.row:not([hidden]) .pod small')].every((of) => of.textContent.startsWith('team-3'))`, soon))
	press(kb.ArrowDown, kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
	second := ask[string](t, tab, `document.activeElement.dataset.uid ?? ''`)
	if rows, err := Rows(tab); err != nil || second != rows[1].UID {
		t.Errorf("the focus is on %q, want the second row: %v", second, err)
	}
	press(kb.Enter)
	must(t, tab.Await("the waterfall", `document.querySelectorAll('.wf-rows > *').length > 5`, soon))
	press(kb.ArrowDown)
	must(t, tab.Await("the first phase in focus",
		`document.activeElement === document.querySelector('.wf-rows').firstElementChild`, soon))
	if reported := ask[string](t, tab, Detail); reported == "" {
		t.Error("nothing is told of what has the focus")
	}
	phases := ask[int](t, tab, `document.querySelectorAll('.wf-rows > *').length`)
	pull := ask[int](t, tab, `[...document.querySelector('.wf-rows').children].findIndex((row) => row.classList.contains('can-open'))`)
	for range pull {
		press(kb.ArrowDown)
	}
	press(kb.Enter)
	// Download, unpacking, four layers.
	must(t, tab.Await("layers", fmt.Sprintf(`document.querySelectorAll('.wf-rows > *').length === %d + 6`, phases),
		soon))
	press(kb.ArrowLeft)
	must(t, tab.Await("no layers", fmt.Sprintf(`document.querySelectorAll('.wf-rows > *').length === %d`, phases),
		soon))
	press(kb.Escape)
	must(t, tab.Await("the list as it was",
		`location.hash === '#/?q=team-3' && document.querySelector('.tools input')?.value === 'team-3'`, soon))
	quiet(t, tab)
}

// TestKeysElsewhere checks that keys change neither a select nor the selection, and scroll if there are no rows.
func TestKeysElsewhere(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/?cause=app"))
	cause := `document.querySelector('.tools select')`
	must(t, tab.Await("the chosen cause", cause+`.value === 'app'`, soon))
	ask[int](t, tab, `(`+cause+`.focus(), 0)`)
	must(t, tab.Press(kb.Escape))
	must(t, tab.Await("the focus to leave the select", `document.activeElement === document.body`, soon))
	if shown := ask[string](t, tab, cause+`.value + ' ' + location.hash`); shown != "app #/?cause=app" {
		t.Errorf("the select and the address say %q", shown)
	}
	for _, view := range []string{"pulls", "registries", "evidence"} {
		ask[int](t, tab, `(location.hash = '#/`+view+`', 0)`)
		must(t, tab.Await(view, `document.querySelector('.`+view+`-view')`, soon))
		if !ask[bool](t, tab, `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }))`) {
			t.Errorf("%s cannot be scrolled with the arrow keys", view)
		}
	}
	quiet(t, tab)
}

// TestRowsAreReadAsTheyAreSeen compares the order of elements, which Tab and screen readers follow, with that on the
// screen: while rows move, and far down in the list. The focus must not move.
func TestRowsAreReadAsTheyAreSeen(t *testing.T) {
	s := standIn(t, "--pods=200", "--changes=20")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("rows that move", `document.querySelectorAll('.row.state-starting').length > 5`, soon))
	const tops = `[...document.querySelectorAll('.rows > *:not([hidden])')].map((row) => Math.round(row.getBoundingClientRect().top))`
	look := func(where string) {
		t.Helper()
		for range 10 {
			if seen := ask[[]int](t, tab, tops); len(seen) < 5 || !slices.IsSorted(seen) {
				t.Fatalf("%s: elements are in another order than they are seen: %v", where, seen)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	look("at the top")
	focused := ask[string](t, tab, `(() => { const row = document.querySelectorAll('.row:not([hidden])')[3]; row.focus(); return row.dataset.uid; })()`)
	for _, y := range []int{3000, 1500, 6000, 0} {
		ask[int](t, tab, fmt.Sprintf(`(window.scrollTo(0, %d), 0)`, y))
		look(fmt.Sprintf("%d pixels down", y))
		if is := ask[string](t, tab, `document.activeElement.dataset.uid ?? ''`); is != focused {
			t.Fatalf("%d pixels down the focus is on %q, not on %q", y, is, focused)
		}
	}
	quiet(t, tab)
}

// TestPullsThatGoOn shows each state by its word, its color and the received share.
func TestPullsThatGoOn(t *testing.T) {
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
			t.Errorf("pull %d: no %q among %q", i, want, shown)
		}
	}
	colors := ask[[]string](t, tab, `[...document.querySelectorAll('.pulling a')].map((a) => (a.hasAttribute('href') ? 'link ' : 'text ') + getComputedStyle(a).color)`)
	slices.Sort(colors)
	if colors = slices.Compact(colors); len(colors) != 2 ||
		strings.TrimPrefix(colors[0], "link") == strings.TrimPrefix(colors[1], "text") {
		t.Errorf("what leads somewhere looks like what leads nowhere: %q", colors)
	}
	must(t, tab.Await("recent pulls", `document.querySelector('td > a')`, soon))
	ask[int](t, tab, `(document.querySelector('td > a').click(), 0)`)
	must(t, tab.Await("the waterfall of who pulled", `document.querySelectorAll('.wf-rows > .wf-phase').length > 5`,
		soon))
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	if verdict := ask[string](t, tab, `document.querySelector('.pulls-view .verdict').textContent`); !strings.HasPrefix(
		verdict, "3 images are being pulled, 1 waits in the queue, for ") {
		t.Errorf("the verdict is %q", verdict)
	}
	quiet(t, tab)
}

// TestFewColors checks that bars keep their colors with forced colors. Otherwise they would be invisible.
func TestFewColors(t *testing.T) {
	s := standIn(t, "--pods=1", "--pulls")
	tab := open(t, browser.Look{Width: 1440, Height: 1000, Contrast: true})
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("the colors to be forced",
		`matchMedia('(forced-colors: active)').matches && document.querySelector('.row')`, soon))
	colored(t, tab, ".row .bar", ".row .swatch")
	ask[int](t, tab, `(document.querySelector('.row').click(), 0)`)
	must(t, tab.Await("the waterfall", `document.querySelectorAll('.wf-bar').length > 5`, soon))
	colored(t, tab, ".wf-bar", ".blame-bar i", ".legend .swatch")
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	must(t, tab.Await("the pulls", `document.querySelector('.lane i') && document.querySelector('.pulling li')`, soon))
	colored(t, tab, ".progress i", ".lane i", ".wait .track i + i")
}

// colored requires that the first of these elements are neither black, white nor gray.
func colored(t *testing.T, tab *browser.Tab, selectors ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "picture.png")
	must(t, tab.Picture(path, false))
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	must(t, err)
	for _, selector := range selectors {
		middle := ask[[]int](t, tab, `(() => { const r = document.querySelector(`+quoted(selector)+`).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2].map(Math.floor); })()`)
		red, green, blue, _ := picture.At(middle[0], middle[1]).RGBA()
		if red>>8 == green>>8 && green>>8 == blue>>8 {
			t.Errorf("%s is grey at %v", selector, middle)
		}
	}
}

// TestErrorBars compares the bar of each error with the record: it extends this far before and after the end of the
// phase.
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

// TestTheme switches between dark and light, whatever the system's setting, and keeps the choice.
func TestTheme(t *testing.T) {
	s := standIn(t, "--pods=1")
	tab := open(t, wide) // dark
	must(t, tab.Go("http://"+s.address+"/"))
	ground := func() string { return ask[string](t, tab, `getComputedStyle(document.body).backgroundColor`) }
	press := func(want string) string {
		ask[int](t, tab, `(document.querySelector('#theme').click(), 0)`)
		must(t, tab.Await(want, `document.querySelector('#theme').innerText === 'theme: `+want+`'`, soon))
		return ground()
	}
	must(t, tab.Await("the button", `document.querySelector('#theme').innerText === 'theme: system'`, soon))
	system := ground()
	dark, light := press("dark"), press("light")
	if system != dark || dark == light {
		t.Errorf("the ground is %s, dark %s, light %s", system, dark, light)
	}
	must(t, tab.Go("about:blank"))
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("what was kept", `document.querySelector('#theme').innerText === 'theme: light'`, soon))
	if kept := ground(); kept != light {
		t.Errorf("the ground is %s, not %s any more", kept, light)
	}
}

// TestPodsThatGo stay in the list, as gone.
func TestPodsThatGo(t *testing.T) {
	s := standIn(t, "--pods=20", "--leaving")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("one to have gone",
		`document.querySelector('.row.gone:not([hidden])')?.innerText.includes('pod gone')`, soon))
	quiet(t, tab)
}

// TestWhatGoesOnGrows checks that a start-up in progress grows by the browser's clock until its next event.
func TestWhatGoesOnGrows(t *testing.T) {
	tab := modules(t)
	got := ask[[]float64](t, tab, `(async () => {
		const { age, startUpOf, stuckIn } = `+module("startup.js")+`;
		const record = { ...(await (await fetch('api/v1/pods')).json()).items[0], total_seconds: 10 };
		const last = record.phases.at(-1).seconds;
		return ['starting', 'ready'].flatMap((state) => { const s = startUpOf({ ...record, state }, 1000);
			return [age(s, 6000), Math.round(stuckIn(s, 6000).seconds - last)]; }); })()`)
	if fmt.Sprint(got) != "[15 5 10 0]" {
		t.Errorf("%v", got)
	}
}

// TestPressure shows for which share of a phase the node waited.
func TestPressure(t *testing.T) {
	tab := modules(t)
	reported := ask[string](t, tab, `(async () => {
		const { chartOf } = `+module("chart.js")+`, { Detail } = `+module("detail.js")+`,
			{ Waterfall } = `+module("waterfall.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		record.phases[0].pressure = { cpu: 0.004, io: 0.814, memory: 0 };
		const detail = new Detail(), waterfall = new Waterfall(detail, () => {});
		document.querySelector('main').append(waterfall.root, detail.root);
		waterfall.draw(chartOf(record, 0, () => false));
		waterfall.root.querySelector('.wf-phase').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
		return detail.root.innerText; })()`)
	if !strings.Contains(reported, "<1 % for cpu, 81 % for io, 0 % for memory") {
		t.Errorf("told %q", reported)
	}
}

// TestTermination shows how a terminating pod ends.
func TestTermination(t *testing.T) {
	tab := modules(t)
	reported := ask[[]string](t, tab, `(async () => {
		const { Ending } = `+module("ending.js")+`;
		const ending = new Ending();
		document.querySelector('main').append(ending.root);
		ending.draw({ verdict: 'gone after 30.5 s: app ignored its stop signal', phases: [
			{ phase: 'grace', cause: 'app', container: 'app', seconds: 30, error_seconds: 0.001 },
			{ phase: 'unattributed', cause: 'unknown', seconds: 0.5, error_seconds: 0.25,
				merged_with: ['kill', 'sandbox_stop'] }],
			containers: [{ container: 'app', how: 'killed', exit_code: 137, reason: 'Error',
				grace_used_seconds: 30.012, error_seconds: 0.002 }, { container: 'side', how: 'running' }] });
		const shown = ending.root.innerText;
		ending.draw(undefined);
		return [shown, ending.root.checkVisibility() ? 'shown' : '']; })()`)
	for _, want := range []string{"ignored its stop signal", "30.000 s", "±0.001 s", "the application",
		"or kill, sandbox stop", "137 Error", "30.012 s", "running"} {
		if !strings.Contains(reported[0], want) {
			t.Errorf("no %q in %q", want, reported[0])
		}
	}
	if reported[1] != "" {
		t.Errorf("of one that does not end it is %s", reported[1])
	}
}

// TestAPodThatGoesWhileTheListComes checks that a pod deleted during the list is shown as gone.
func TestAPodThatGoesWhileTheListComes(t *testing.T) {
	tab := modules(t)
	if gone := ask[bool](t, tab, `(async () => {
		const { Known } = `+module("known.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known();
		known.expectList();
		known.gone(record.uid);
		known.tellSome([record], 0);
		known.tellAll();
		return known.startUps.get(record.uid)?.gone === true; })()`); !gone {
		t.Error("it is not there, or as if it were not gone")
	}
}

// TestAPageLeftOpenDoesNotGrow forgets those that have been gone the longest.
func TestAPageLeftOpenDoesNotGrow(t *testing.T) {
	tab := modules(t)
	got := ask[[]string](t, tab, `(async () => {
		const { Known } = `+module("known.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known();
		for (let i = 0; i < 1100; i++) known.told({ ...record, uid: 'u' + i }, 0);
		for (let i = 1099; i >= 10; i--) known.gone('u' + i);
		const uids = [...known.startUps.keys()];
		return [String(uids.length), uids[0], uids[10], uids.at(-1)]; })()`)
	if fmt.Sprint(got) != "[1010 u0 u1009 u10]" { // ten existing pods, and the thousand that were deleted last
		t.Errorf("%v", got)
	}
}

// TestAskAgain checks that an overloaded agent is queried again after increasing waits.
func TestAskAgain(t *testing.T) {
	tab := modules(t)
	got := ask[[]float64](t, tab, `(async () => {
		const { ask } = `+module("ask.js")+`, began = performance.now(), usual = window.fetch;
		let asked = 0;
		window.fetch = async (path, options) => (path !== 'x' ? usual(path, options) :
			++asked < 3 ? new Response('{}', { status: asked === 1 ? 503 : 429, headers: { 'Retry-After': '1' } }) :
			new Response('{"a":7}'));
		const { a } = await ask('x');
		return [a, asked, Math.floor((performance.now() - began) / 1000)]; })()`)
	if fmt.Sprint(got) != "[7 3 3]" {
		t.Errorf("%v", got)
	}
}

// modules opens the page, for tests that use only its modules.
func modules(t *testing.T) *browser.Tab {
	t.Helper()
	s := standIn(t, "--pods=1")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	return tab
}

// module is an expression for the exports of a module of the page.
func module(name string) string {
	return `(await import(document.querySelector('script[type=module]').src.replace('main.js', '` + name + `')))`
}

// TestVisible runs the module that makes untrusted text safe to show.
func TestVisible(t *testing.T) {
	tab := modules(t)
	for text, want := range map[string]string{
		"web-0":                                 "web-0",
		"":                                      "",
		"a\x1b[31mb\x00\r\n\x7f":                "a⟨001B⟩[31mb⟨0000⟩⟨000D⟩⟨000A⟩⟨007F⟩",
		"a\u202eb\u2066\u200b":                  "a⟨202E⟩b⟨2066⟩⟨200B⟩",
		"\u009b\ufeff":                          "⟨009B⟩⟨FEFF⟩",
		"\U000e0041":                            "⟨E0041⟩",
		"漢字 ünï 🙂 שלום":                         "漢字 ünï 🙂 שלום",
		"e\u0301\u0301\u0301\u0301\u0301\u0301": "e\u0301\u0301\u0301\u0301",
		"0123456789012345678901234567890":       "01234567890123456789… (11 more)",
	} {
		if got := ask[string](t, tab,
			`(async () => `+module("text.js")+`.visible(`+quoted(text)+`, 20))()`); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := ask[string](t, tab, `(async () => `+module("text.js")+`.visible('\ud800x'))()`); got != "\ufffdx" {
		t.Errorf("half a character: %q", got)
	}
}

// TestBursts runs the module that groups pulls, and computes how many were concurrent.
func TestBursts(t *testing.T) {
	tab := modules(t)
	// Two pulls in a row, a third that waits for them, one an hour earlier, and one with an unknown end.
	const pulls = `[{key: 'old', from: 0, startedAt: 0, to: 5000},
		{key: 'a', from: 3600000, startedAt: 3600000, to: 3605000},
		{key: 'b', from: 3600100, startedAt: 3605000, to: 3610000},
		{key: 'c', from: 3600200, startedAt: NaN, to: 3612000},
		{key: 'endless', from: 3600000, startedAt: 3600000, to: NaN}]`
	got := ask[[][]string](t, tab,
		`(async () => { const { burstOf, lanesOf } = `+module("burst.js")+`; const burst = burstOf(`+pulls+`);
		return [burst.map((p) => p.key), ...lanesOf(burst).map((lane) => lane.map((p) => p.key)),
			...lanesOf([...burst, { key: 'd', startedAt: 3601000, to: 3602000 }]).map((lane) =>
				lane.map((p) => p.key))]; })()`)
	if want := "[[a b c] [a b] [a b] [d]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
