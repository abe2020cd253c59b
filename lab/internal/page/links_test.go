package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// follow waits until the first element of a selector is visible, and clicks the element.
func follow(t *testing.T, tab *browser.Tab, selector string) {
	t.Helper()
	must(t, tab.Await(selector, `document.querySelector(`+quoted(selector)+`)?.checkVisibility()`, soon))
	eval[int](t, tab, `(document.querySelector(`+quoted(selector)+`).click(), 0)`)
}

// The expression listed returns the number of start-ups in the list.
const listed = `[...document.querySelectorAll('.rows > h2:not([hidden]) small')]
	.reduce((sum, node) => sum + Number(node.textContent), 0)`

// TestLinksBetweenViews follows links between views: from a registry to its pods, from a pod to its workload, image,
// registry and node, and back. The 60 pods belong to 21 workloads in 7 namespaces. Each name of a workload occurs in
// several namespaces: 20 pods have owners with the same name.
func TestLinksBetweenViews(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/registries"))
	must(t, tab.Await("the card", `document.querySelector('.leads a')?.textContent === '60 pods'`, soon))
	follow(t, tab, ".leads a")
	must(t, tab.Await("the pods of the registry", `document.querySelector('.token')?.innerText
		.startsWith('registry registry.example:5000') && `+listed+` === 60`, soon))
	follow(t, tab, ".row:not([hidden])")
	follow(t, tab, ".pod-view .facts a")
	must(t, tab.Await("the pods of the workload", `document.querySelector('.token')?.innerText
		.startsWith('workload team-') && `+listed+` === 3`, soon))
	address := eval[string](t, tab, `location.href`)

	follow(t, tab, ".row:not([hidden])")
	follow(t, tab, ".pod-view td:nth-child(2) > a")
	must(t, tab.Await("the pods of the image", `document.querySelector('.token')?.innerText
		.startsWith('image registry.example:5000/team/') && `+listed+` === 1`, soon))
	follow(t, tab, ".token a")
	must(t, tab.Await("the image", `document.querySelectorAll('.images-view tbody tr').length === 1`, soon))
	follow(t, tab, ".images-view td:nth-child(2) a")
	must(t, tab.Await("the registry of the image",
		`location.hash.includes('registry=') && document.querySelectorAll('.registry').length === 1`, soon))

	must(t, tab.Go("about:blank"))
	must(t, tab.Go(address)) // a user who received the link opens it
	must(t, tab.Await("the pods of the workload", listed+` === 3`, soon))
	follow(t, tab, ".token button")
	must(t, tab.Await("all pods", `location.hash === '#/' && `+listed+` === 60`, soon))
	follow(t, tab, "#node")
	must(t, tab.Await("the node", `document.querySelector('.node-view')?.innerText.includes('60 start-ups')`, soon))
	follow(t, tab, ".node-view td a")
	must(t, tab.Await("the pods in a state", `location.hash === '#/?state=ready' && `+listed+` === 60`, soon))
	requireNoComplaints(t, tab)
}

// TestWorkloads compares the table of workloads with the API, and follows the link from a workload to its pods.
func TestWorkloads(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/workloads"))
	must(t, tab.Await("the workloads", `document.querySelectorAll('tbody tr').length === 21`, soon))
	wrong := eval[[]string](t, tab, `(async () => {
		const items = (await (await fetch('api/v1/pods?limit=500')).json()).items;
		const of = (r) => r.owner.kind + '/' + r.owner.name + ' ' + r.namespace;
		const wrong = [];
		let before = Infinity;
		for (const row of document.querySelectorAll('tbody tr')) {
			const cells = [...row.cells].map((cell) => cell.firstChild.textContent);
			const members = items.filter((r) => of(r) === cells[0] + ' ' + cells[1]);
			const slowest = Math.max(...members.map((r) => r.total_seconds));
			if (members.length !== Number(cells[2]) || slowest.toFixed(1) + ' s' !== cells[6] || slowest > before)
				wrong.push(cells.join(' | '));
			before = slowest;
		}
		return wrong; })()`)
	for _, w := range wrong {
		t.Errorf("the row %s does not match the API, or is at the wrong position", w)
	}
	follow(t, tab, "tbody td a")
	must(t, tab.Await("its pods", `location.hash.startsWith('#/?owner=') && `+listed+` === 3`, soon))
	requireNoComplaints(t, tab)
}

// TestComparison opens the comparison of two start-ups of a workload, and compares the differences with the API.
func TestComparison(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	follow(t, tab, ".row:not([hidden])")
	must(t, tab.Await(
		"the link to compare",
		`[...document.querySelectorAll('.pod-links a')].some((a) => a.innerText === 'Compare' && `+
			`a.hash.includes('a='))`,
		soon,
	))
	uid := eval[string](t, tab, `new URLSearchParams(location.hash.split('?')[1]).get('uid')`)
	eval[int](
		t,
		tab,
		`([...document.querySelectorAll('.pod-links a')].find((a) => a.innerText === 'Compare').click(), 0)`,
	)
	must(t, tab.Await("the choice", `document.querySelector('.verdict').innerText.startsWith('Choose the start-up')`,
		soon))
	must(t, tab.Await("the other start-ups of the workload", listed+` === 2`, soon))
	if eval[bool](t, tab, `document.querySelector('.row:not([hidden])[data-uid="`+uid+`"]') !== null`) {
		t.Error("the page offers to compare the start-up with itself")
	}
	follow(t, tab, ".row:not([hidden])")
	must(t, tab.Await("the comparison", `document.querySelectorAll('.compare-view .bars').length > 20`, soon))
	wrong := eval[[]string](t, tab, `(async () => {
		const query = new URLSearchParams(location.hash.split('?')[1]);
		const [a, b] = await Promise.all(['a', 'b'].map(async (side) => {
			const [namespace, name, uid] = query.get(side).split('/');
			return (await fetch('api/v1/pods/' + namespace + '/' + name + '?uid=' + uid)).json();
		}));
		const rows = [...document.querySelectorAll('.compare-view .panel:last-of-type tbody tr')];
		const wrong = rows.length === a.phases.length + 1 ? [] : [rows.length + ' rows'];
		a.phases.forEach((phase, i) => {
			const other = b.phases.find((p) => p.phase === phase.phase && p.container === phase.container);
			const difference = other.seconds - phase.seconds;
			const want = (difference < 0 ? '−' : '+') + Math.abs(difference).toFixed(3) + ' s ±' +
				(other.error_seconds + phase.error_seconds).toFixed(3) + ' s';
			const texts = [...rows[i].cells[3].children].map((node) => node.textContent);
			const is = texts.join(' ').replaceAll('\u00a0', ' ');
			if (is !== want) wrong.push(phase.phase + ': ' + is + ', want ' + want);
		});
		return wrong; })()`)
	for _, w := range wrong {
		t.Errorf("%s", w)
	}
	before := eval[string](t, tab, `document.querySelector('.compare-view .verdict').innerText`)
	follow(t, tab, ".compare-view .tools a")
	must(t, tab.Await("the swapped comparison", `document.querySelector('.compare-view .verdict').innerText !== `+
		quoted(before), soon))
	requireNoComplaints(t, tab)
}

// TestMergedPhases compares a start-up with another start-up whose evidence cannot separate some phases. The comparison
// must add up these phases.
func TestMergedPhases(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { compareCharts } = `+exportsOf("compare.js")+`;
		const row = (phase, merged, container, from, to) => ({ kind: 'phase', phase, merged, container, attempt: 0,
			cause: phase, from, to, seconds: to - from, error: 0.5, open: false });
		const a = { total: 9, rows: [row('volumes', ['network', 'sandbox'], '', 0, 4), row('unattributed',
			['pull', 'unpack'], 'app', 4, 8), row('unattributed', [], '', 8, 9)] };
		const b = { total: 8, rows: [row('volumes', [], '', 0, 1), row('network', [], '', 1, 2),
			row('sandbox', [], '', 2, 5), row('pull', [], 'other', 5, 6), row('unpack', [], 'other', 6, 8)] };
		return compareCharts(a, b).rows.map((r) => [r.names.join('+'), r.container, r.sides[0]?.seconds,
			r.sides[1]?.seconds, r.difference, r.accuracy].join(' ')); })()`)
	want := []string{"volumes+network+sandbox  4 5 1 2", "unattributed+pull+unpack app / other 4 3 -1 1.5",
		"unattributed  1  -1 0.5"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTimeRange checks the time filter in the module, in the URL and in the input fields.
func TestTimeRange(t *testing.T) {
	s := standIn(t, "--pods=20")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	const day = "2026-03-01T"
	for query, want := range map[string]int{
		"":               20,
		"?last=1h":       0, // the start-ups of the stand-in are older than an hour
		"?last=nonsense": 20,
		"?from=" + day + "11:00:00Z&to=" + day + "11:59:59Z": 0,
		"?from=" + day + "11:00:00Z&to=" + day + "12:00:05Z": 20,
		"?from=" + day + "12:00:05Z":                         20, // all start-ups are in progress at this time
		"?from=" + day + "12:05:00Z":                         0,
	} {
		must(t, tab.Go("about:blank"))
		must(t, tab.Go("http://"+s.address+"/#/"+query))
		must(t, tab.Await(fmt.Sprintf("%d start-ups for %q", want, query),
			fmt.Sprintf(`document.querySelector('.verdict').textContent !== 'Loading …' &&
				Number(document.querySelector('.chip b').textContent) === %d && %s === %[1]d`, want, listed), soon))
	}
	must(t, tab.Go("http://"+s.address+"/#/?from="+day+"12:00:05Z"))
	must(t, tab.Await("the field", `document.querySelector('.custom input')?.value === '2026-03-01T12:00:05'`, soon))
	eval[int](t, tab, `(() => { const field = document.querySelectorAll('.custom input')[1];
		field.value = '2026-03-01T12:10:00'; field.dispatchEvent(new Event('change')); return 0; })()`)
	must(t, tab.Await("the address", `decodeURIComponent(location.hash) === '#/?from=`+day+`12:00:05Z&to=`+day+
		`12:10:00Z'`, soon))
	requireNoComplaints(t, tab)
}

// TestLocalTime switches the page from UTC to local time, and checks that the browser keeps the choice.
func TestLocalTime(t *testing.T) {
	s := standIn(t, "--pods=1")
	tab := openTab(t, wide)
	created := `document.querySelector('.pod-view .facts')?.innerText`
	must(t, tab.Go("http://"+s.address+"/"))
	follow(t, tab, ".row:not([hidden])")
	must(t, tab.Await("UTC", created+`?.includes('2026-03-01 12:00:00.000 UTC')`, soon))
	eval[int](t, tab, `(Date.prototype.getTimezoneOffset = () => -90, document.querySelector('#zone').click(), 0)`)
	must(t, tab.Await("local time", created+`.includes('2026-03-01 13:30:00.000 +01:30')`, soon))
	link := eval[string](t, tab, `location.href`)
	must(t, tab.Go("about:blank"))
	must(t, tab.Go(link))
	must(t, tab.Await("the stored choice", `document.querySelector('#zone').innerText === 'time: local'`, soon))
	requireNoComplaints(t, tab)
}

// TestSharing checks the commands and the links that the page copies to the clipboard. A command must not contain
// untrusted text.
func TestSharing(t *testing.T) {
	tab := openModules(t)
	got := eval[[]string](t, tab, `(async () => {
		const { explainPod, explainWorkload, linkOf } = `+exportsOf("share.js")+`;
		const at = (address, node) => { const url = new URL(address); return linkOf({ hostname: url.hostname,
			href: url.href, hash: url.hash }, node); };
		return [explainPod('shop', 'web-0'), explainPod('shop', 'x; rm -rf'), explainPod('$(id)', 'x'),
			explainPod('shop', '-n'), explainWorkload('shop/Deployment/web', 'node-1'),
			explainWorkload('shop/Deployment/web', '; id'), explainWorkload('shop/Node/x', 'node-1'),
			explainWorkload('shop/', 'node-1'), at('https://podlapse.example/node-1/#/pulls', 'node-1'),
			at('http://127.0.0.1:9717/#/pods/a/b', 'node-1'), at('http://[::1]:9717/', 'node-1'),
			at("http://localhost:8001/api/#/node'", '; id')]; })()`)
	const then = "\nThen add this to the address that the command prints: "
	want := []string{
		"kubectl podlapse explain web-0 -n shop",
		"",
		"",
		"",
		"kubectl podlapse explain deploy/web -n shop --node node-1",
		"kubectl podlapse explain deploy/web -n shop",
		"",
		"",
		"https://podlapse.example/node-1/#/pulls",
		"kubectl podlapse page node-1" + then + "'#/pods/a/b'",
		"kubectl podlapse page node-1" + then + "'#/'",
		"kubectl podlapse page NODE" + then + "'#/node%27'",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	follow(t, tab, ".row:not([hidden])")
	must(t, tab.Await("the button", `document.querySelector('.share button')?.title.includes('explain')`, soon))
	eval[int](t, tab, `(Object.defineProperty(navigator, 'clipboard', { value: {
		writeText: async (text) => { window.copied = text; } } }), document.querySelector('.share button').click(), 0)`)
	must(t, tab.Await("the copied command", `document.querySelector('.share button').innerText === 'Copied' &&
		window.copied === 'kubectl podlapse explain ' + document.querySelector('.pod-title h1').innerText +
			' -n team-0'`, soon))
	eval[int](t, tab, `(navigator.clipboard.writeText = async () => { throw new Error('refused'); },
		document.querySelectorAll('.share button')[1].click(), 0)`)
	must(t, tab.Await("the text to copy",
		`document.querySelectorAll('.share code')[1].innerText.startsWith('kubectl podlapse page standin')`, soon))
	requireNoComplaints(t, tab)
}

// TestCommandNamesMissingFilters checks that the page names the filters that the command for a workload does not have.
func TestCommandNamesMissingFilters(t *testing.T) {
	tab := openModules(t)
	for hash, want := range map[string]string{
		"#/?owner=shop/Deployment/web":                         "",
		"#/?owner=shop/Deployment/web&cause=registry&q=a":      "without the filters: q, cause",
		"#/workloads?owner=shop/Deployment/web&last=1h":        "without the filters: last",
		"#/?cause=registry":                                    "", // without a workload, there is no command
		"#/?owner=shop/Deployment/web&a=shop/web-0/1&sort=pod": "",
	} {
		eval[int](t, tab, `(location.hash = `+quoted(hash)+`, 0)`)
		must(t, tab.Await(hash, `document.querySelector('main .share small').textContent === `+quoted(want), soon))
	}
	eval[int](t, tab, `(location.hash = '#/?owner=shop/Deployment/web&cause=disk', 0)`)
	must(t, tab.Await("the command", `document.querySelector('.share button').title ===
		'kubectl podlapse explain deploy/web -n shop --node standin' &&
		document.querySelector('main .share small').textContent === 'without the filters: cause'`, soon))
}

// TestCommandsOfNode checks the commands that the views of pulls and registries copy. The commands have no filters.
func TestCommandsOfNode(t *testing.T) {
	tab := openModules(t)
	for hash, want := range map[string]string{
		"#/pulls": "kubectl podlapse pulls --node standin | ",
		"#/pulls?registry=r.example:5000&last=1h": "kubectl podlapse pulls --node standin | " +
			"without the filters: registry, last",
		"#/registries": "kubectl podlapse registries --node standin | ",
		"#/registries?registry=r.example:5000": "kubectl podlapse registries --node standin | " +
			"without the filters: registry",
	} {
		eval[int](t, tab, `(location.hash = `+quoted(hash)+`, 0)`)
		must(t, tab.Await(hash, `(() => { const share = document.querySelector('main .share');
			return location.hash === `+quoted(hash)+` && share.querySelector('button').checkVisibility() &&
				share.querySelector('button').title + ' | ' + share.querySelector('small').textContent; })() === `+
			quoted(want), soon))
	}
}

// TestUnpackRowsDiffer checks that the phase "unpack" and the total unpacking time have different names.
func TestUnpackRowsDiffer(t *testing.T) {
	tab := openModules(t)
	follow(t, tab, ".row:not([hidden])")
	follow(t, tab, ".can-open")
	must(t, tab.Await("the layers", `document.querySelector('.wf-layer')`, soon))
	labels := eval[[]string](
		t,
		tab,
		`[...document.querySelectorAll('.wf-rows .wf-label')].map((label) => label.innerText)
		.filter((label) => label.includes('unpack'))`,
	)
	if len(labels) != 2 || !strings.Contains(labels[0], "unpack, total") ||
		!strings.Contains(labels[0], "overlaps download") || !strings.Contains(labels[1], "after the download") {
		t.Errorf("the rows are %q", labels)
	}
}

// comparisonOf returns the URL of the comparison of a start-up with itself.
func comparisonOf(t *testing.T, link string) string {
	t.Helper()
	_, path, ok := strings.Cut(link, "#/pods/")
	path, uid, hasUID := strings.Cut(path, "?uid=")
	if !ok || !hasUID {
		t.Fatalf("the link %q does not lead to a pod", link)
	}
	id := url.QueryEscape(path + "/" + uid)
	return "#/compare?a=" + id + "&b=" + id
}
