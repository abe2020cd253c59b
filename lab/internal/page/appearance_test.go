package page

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// TestForcedColors checks that bars keep their colors in the forced colors mode of the browser. Otherwise, the bars
// would be invisible.
func TestForcedColors(t *testing.T) {
	s := standIn(t, "--pods=1", "--pulls")
	tab := openTab(t, browser.Look{Width: 1440, Height: 1000, Contrast: true})
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("the colors to be forced",
		`matchMedia('(forced-colors: active)').matches && document.querySelector('.row')`, soon))
	requireColored(t, tab, ".row .bar", ".row .swatch")
	eval[int](t, tab, `(document.querySelector('.row').click(), 0)`)
	must(t, tab.Await("the waterfall", `document.querySelectorAll('.wf-bar').length > 5`, soon))
	requireColored(t, tab, ".wf-bar", ".cause-bar i", ".legend .swatch")
	must(t, tab.Go("http://"+s.address+"/"+comparisonOf(t, eval[string](t, tab, `location.hash`))))
	must(t, tab.Await("the comparison", `document.querySelectorAll('.bars i').length > 5`, soon))
	requireColored(t, tab, ".bars i")
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	must(t, tab.Await("the pulls", `document.querySelector('.lane i') && document.querySelector('.pulling li')`, soon))
	requireColored(t, tab, ".progress i", ".lane i", ".wait .track i + i")
}

// requireColored requires that the first element of each selector has a color. Black, white and gray do not count as
// colors.
func requireColored(t *testing.T, tab *browser.Tab, selectors ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "picture.png")
	must(t, tab.Picture(path, false))
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	must(t, err)
	for _, selector := range selectors {
		middle := eval[[]int](t, tab, `(() => {
			const r = document.querySelector(`+quoted(selector)+`).getBoundingClientRect();
			return [r.left + r.width / 2, r.top + r.height / 2].map(Math.floor); })()`)
		red, green, blue, _ := picture.At(middle[0], middle[1]).RGBA()
		if red>>8 == green>>8 && green>>8 == blue>>8 {
			t.Errorf("%s is black, white or gray at %v", selector, middle)
		}
	}
}

// TestCausesHaveColors checks that the style sheet has a color for each cause of a pod's start-up. Without the color of
// one of its causes, a bar in the list of start-ups would be invisible.
func TestCausesHaveColors(t *testing.T) {
	tab := openModules(t)
	causes := eval[[][]string](t, tab, `(async () => {
		const colors = getComputedStyle(document.documentElement);
		return `+exportsOf("words.js")+`.causeNames().map((c) => [c, colors.getPropertyValue('--' + c)]); })()`)
	if len(causes) < 10 {
		t.Errorf("the page knows only the causes %q", causes)
	}
	for _, cause := range causes {
		if cause[1] == "" {
			t.Errorf("the cause %s has no color", cause[0])
		}
	}
}

// TestTheme switches from the system's theme to the dark theme and to the light theme, and checks that the page keeps
// the choice.
func TestTheme(t *testing.T) {
	s := standIn(t, "--pods=1")
	tab := openTab(t, wide) // wide uses the system's dark theme
	must(t, tab.Go("http://"+s.address+"/"))
	ground := func() string { return eval[string](t, tab, `getComputedStyle(document.body).backgroundColor`) }
	press := func(want string) string {
		eval[int](t, tab, `(document.querySelector('#theme').click(), 0)`)
		must(t, tab.Await(want, `document.querySelector('#theme').innerText === 'theme: `+want+`'`, soon))
		return ground()
	}
	must(t, tab.Await("the theme button", `document.querySelector('#theme').innerText === 'theme: system'`, soon))
	system := ground()
	dark, light := press("dark"), press("light")
	if system != dark || dark == light {
		t.Errorf("the background is %s with the dark system theme, %s with dark, %s with light", system, dark, light)
	}
	must(t, tab.Go("about:blank"))
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("the stored theme", `document.querySelector('#theme').innerText === 'theme: light'`, soon))
	if kept := ground(); kept != light {
		t.Errorf("after a reload the background is %s, want %s", kept, light)
	}
}

// TestTextIsComplete checks that the view of a start-up cuts no long verdict, no long name of a pod, and no name of a
// container after a long name of a phase. The lines of a long name of a phase must be aligned.
func TestTextIsComplete(t *testing.T) {
	tab := openModules(t)
	must(t, tab.Await("a row", `document.querySelector('.row')`, soon))
	for _, width := range []int64{390, 1440} {
		must(t, tab.Show(browser.Look{Width: width, Height: 800, Phone: width < 800}))
		cut := eval[[]string](t, tab, `(async () => {
			const { PodView } = `+exportsOf("podview.js")+`, usual = window.fetch;
			const record = (await (await fetch('api/v1/pods')).json()).items[0];
			const phase = { ...record.phases.find((p) => p.container), phase: 'unattributed',
				merged_with: ['volumes', 'network', 'sandbox', 'kubelet_sync', 'pull'] };
			window.fetch = async () => Response.json({ ...record, name: 'n'.repeat(200), phases: [phase],
				verdict: 'starting for 9 m (attempt 2) '.repeat(13) });
			const view = new PodView({ listen() {} }, () => '');
			document.querySelector('main').replaceChildren(view.root);
			view.show({ namespace: record.namespace, name: record.name, uid: record.uid });
			while (view.root.querySelector('.pod-body').hidden) await new Promise((done) => setTimeout(done, 20));
			window.fetch = usual;
			const name = view.root.querySelector('.wf-phase .wf-label span');
			const starts = [...name.getClientRects()].map((line) => line.left);
			return ['.verdict', '.pod-title', '.wf-phase .wf-label'].filter((selector) => {
				const { scrollHeight, clientHeight, scrollWidth, clientWidth } = view.root.querySelector(selector);
				return scrollHeight > clientHeight || scrollWidth > clientWidth;
			}).concat(starts.some((left) => left < starts[0]) ? ['the indent of the names of phases'] : []); })()`)
		if len(cut) > 0 {
			t.Errorf("a window of %d cuts %q", width, cut)
		}
	}
}

// TestEveryWidth checks that no view is wider than the window, for narrow and wide windows.
func TestEveryWidth(t *testing.T) {
	s := standIn(t, "--pods=40", "--changes=4", "--predictable", "--revisions", "--node-startup=1ms")
	tab := openTab(t, narrow)
	for _, width := range []int64{320, 390, 799, 800, 1000, 1920} {
		must(t, tab.Show(browser.Look{Width: width, Height: 800, Phone: width < 800}))
		must(t, tab.Go("http://"+s.address+"/#/"))
		must(t, tab.Await("rows", `document.querySelector('.row.state-starting')`, soon))
		pod := eval[string](t, tab, `document.querySelector('.row.state-starting').hash`)
		for _, fragment := range []string{"#/", pod, "#/pulls", "#/registries", "#/quality", "#/workloads", "#/images",
			"#/node", "#/workloads?owner=shop/StatefulSet/web", "#/pods/shop/web-0", comparisonOf(t, pod),
			"#/?from=2026-03-01T11:00:00Z&owner=team-0/Deployment/web-0&registry=x"} {
			eval[int](t, tab, `(location.hash = `+quoted(fragment)+`, 0)`)
			time.Sleep(150 * time.Millisecond)
			if over := eval[int](t, tab, Overflow); over > 0 {
				t.Errorf("%s is %d pixels too wide for a window of %d", fragment, over, width)
			}
		}
	}
	requireNoComplaints(t, tab)
}
