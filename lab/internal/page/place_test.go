package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// TestUnderAPrefix runs the agent behind a proxy that removes a prefix, like the API server's and an ingress. All of
// the page must stay under the prefix.
func TestUnderAPrefix(t *testing.T) {
	s := standIn(t, "--pods=40", "--changes=4")
	for _, prefix := range []string{"/api/v1/namespaces/x/pods/y:9717/proxy/", "/tools/node%201/podlapse/"} {
		proxy, strays := stripping(t, s.address, prefix)
		tab := open(t, wide)
		must(t, tab.Go(proxy+prefix))
		must(t, tab.Await("rows that are told of live", Live+` && document.querySelector('.row.state-starting')`, soon))
		row := `document.querySelector('.row.state-starting')`
		link := ask[string](t, tab, row+`.href`)
		if !strings.HasPrefix(link, proxy+prefix+"#/pods/") {
			t.Errorf("a row leads to %s", link)
		}
		ask[int](t, tab, `(`+row+`.click(), 0)`)
		waterfall := `document.querySelectorAll('.wf-rows > *').length > 5`
		must(t, tab.Await("the waterfall", waterfall, soon))
		for _, of := range []string{"trace", "JSON"} {
			if status := ask[int](t, tab,
				`fetch([...document.querySelectorAll('.pod-links a')].find((a) =>
					a.textContent.includes('`+of+`')).href).then((answer) => answer.status)`); status != http.StatusOK {
				t.Errorf("%s: the link is answered with %d", of, status)
			}
		}
		must(t, tab.Go("about:blank"))
		must(t, tab.Go(link)) // like a user who received the link
		must(t, tab.Await("the waterfall", waterfall, soon))
		for _, view := range []string{"pulls", "registries", "evidence"} {
			ask[int](t, tab, `(document.querySelector('[data-view=`+view+`]').click(), 0)`)
			must(t, tab.Await(view, `document.querySelector('.`+view+`-view .verdict').textContent.length > 5`, soon))
		}
		quiet(t, tab)
		if found := strays(); len(found) > 0 {
			t.Errorf("asked for outside of %s: %v", prefix, found)
		}
	}
}

// stripping is a proxy that serves only paths under the prefix, and records other requests.
func stripping(t *testing.T, address, prefix string) (server string, strays func() []string) {
	t.Helper()
	decoded, err := url.PathUnescape(prefix)
	must(t, err)
	var mu sync.Mutex
	var found []string
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.Path, strings.TrimSuffix(decoded, "/")), ""
	}}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, decoded) {
			mu.Lock()
			found = append(found, r.URL.Path)
			mu.Unlock()
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { listener.CloseClientConnections(); listener.Close() })
	return listener.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return found
	}
}

// TestTheAgentIsRestarted checks that the page finds the next agent by itself, and shows what that agent knows.
func TestTheAgentIsRestarted(t *testing.T) {
	first := standIn(t, "--pods=30")
	tab := open(t, wide)
	must(t, tab.Go("http://"+first.address+"/"))
	count := `Number(document.querySelector('.chip b')?.textContent)`
	must(t, tab.Await("30 rows, live", Live+` && `+count+` === 30`, soon))
	quiet(t, tab)
	first.stop()
	must(t, tab.Await("the page to notice", `!(`+Live+`)`, soon))
	standIn(t, "--pods=20", "--listen-address="+first.address)
	must(t, tab.Await("20 rows, live", Live+` && `+count+` === 20`, 3*soon))
}

// TestAStartUpThatIsLookedAt stays open while agents are replaced: by one that knows the start-up, and by one that does
// not.
func TestAStartUpThatIsLookedAt(t *testing.T) {
	first := standIn(t, "--pods=1", "--changes=4")
	tab := open(t, wide)
	must(t, tab.Go("http://"+first.address+"/"))
	row := `document.querySelector('.row.state-starting')`
	must(t, tab.Await("a pod that starts", row, soon))
	ask[int](t, tab, `(`+row+`.click(), 0)`)
	state := `document.querySelector('.badge').textContent`
	must(t, tab.Await("its waterfall", state+`.includes('starting')`, soon))
	first.stop()
	second := standIn(t, "--pods=1", "--listen-address="+first.address)
	must(t, tab.Await("what has become of it", state+`.includes('ready')`, 3*soon))
	second.stop()

	third := standIn(t, "--pods=1", "--changes=4", "--listen-address="+first.address)
	must(t, tab.Await("it to start", state+`.includes('starting')`, 3*soon))
	third.stop()
	standIn(t, "--pods=0", "--listen-address="+first.address)
	must(t, tab.Await("that nobody knows more of it",
		`document.querySelector('.notes').innerText.includes('no longer knows this start-up')`, 3*soon))
	shown := ask[string](t, tab, state)
	time.Sleep(2500 * time.Millisecond)
	if later := ask[string](t, tab, state); later != shown {
		t.Errorf("it goes on growing, from %q to %q", shown, later)
	}
}

// TestAListThatFails checks that the page shows a failed list, and hides the message after the next successful one,
// even if nothing else changes.
func TestAListThatFails(t *testing.T) {
	s := standIn(t, "--pods=5", "--changes=1")
	for _, test := range []struct{ view, address, words string }{
		{"#/", "/api/v1/pods", "Not live: "}, {"#/registries", "/api/v1/registries", "unexpected response: 502"},
	} {
		address := s.address
		if test.view == "#/" {
			address = standIn(t, "--pods=5").address // in which nothing happens
		}
		server, mend := failing(t, address, test.address)
		tab := open(t, wide)
		must(t, tab.Go(server+"/"+test.view))
		alert := `document.querySelector('#alert').innerText`
		must(t, tab.Await("the page to say so", alert+`.includes(`+quoted(test.words)+`)`, soon))
		mend()
		must(t, tab.Await("all to be well", Live+` && `+alert+` === ''`, soon))
	}
}

// TestThePageResumes reconnects and continues the stream at its position, without another list.
func TestThePageResumes(t *testing.T) {
	s := standIn(t, "--pods=5", "--changes=4")
	var mu sync.Mutex
	var streams []string
	lists := 0
	proxy := &httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: s.address}) }}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		switch r.URL.Path {
		case "/api/v1/stream":
			streams = append(streams, r.URL.RawQuery)
		case "/api/v1/pods":
			lists++
		}
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { listener.CloseClientConnections(); listener.Close() })
	tab := open(t, wide)
	must(t, tab.Go(listener.URL+"/"))
	must(t, tab.Await("changes", Live+` && document.querySelector('.row.state-starting')`, soon))
	mu.Lock()
	listed := lists
	mu.Unlock()
	ask[int](t, tab, `(window.dispatchEvent(new Event('online')), 0)`) // as after a sleep
	must(t, tab.Await("the page to be live", Live, soon))
	took := ask[string](t, tab, `document.querySelector('.rows').innerText`)
	must(t, tab.Await("changes again", `document.querySelector('.rows').innerText !== `+quoted(took), soon))
	mu.Lock()
	defer mu.Unlock()
	if len(streams) != 2 || streams[0] != "" || !strings.HasPrefix(streams[1], "last_event_id=") || listed == 0 ||
		lists != listed {
		t.Errorf("asked for the stream with %q, and for %d lists, then %d", streams, listed, lists-listed)
	}
	quiet(t, tab)
}

// TestAPageOutOfSight closes its connection after 20 s, here a hundred times as fast, and reconnects when it is visible
// again.
func TestAPageOutOfSight(t *testing.T) {
	s := standIn(t, "--pods=5")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("the page to be live", Live, soon))
	hide := func(hidden bool) {
		ask[int](t, tab, fmt.Sprintf(`(() => {
			const usual = window.usual ??= window.setTimeout;
			window.setTimeout = (does, after) => usual(does, after === 20000 ? 200 : after);
			Object.defineProperty(document, 'hidden', { configurable: true, get: () => %t });
			document.dispatchEvent(new Event('visibilitychange'));
			return 0; })()`, hidden))
	}
	hide(true)
	must(t, tab.Await("it to let go", `document.querySelector('#connection').innerText === 'paused'`, soon))
	hide(false)
	must(t, tab.Await("it to be live again", Live, soon))
	quiet(t, tab)
}

// failing is a proxy that fails requests for an address until mend is called.
func failing(t *testing.T, address, path string) (server string, mend func()) {
	t.Helper()
	var mended atomic.Bool
	proxy := &httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: address}) }}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path && !mended.Load() {
			http.Error(w, "bad gateway", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { listener.CloseClientConnections(); listener.Close() })
	return listener.URL, func() { mended.Store(true) }
}

// TestEveryWidth shows every view in narrow and wide windows: nothing overflows.
func TestEveryWidth(t *testing.T) {
	s := standIn(t, "--pods=40", "--changes=4")
	tab := open(t, narrow)
	for _, width := range []int64{320, 390, 799, 800, 1000, 1920} {
		must(t, tab.Show(browser.Look{Width: width, Height: 800, Phone: width < 800}))
		must(t, tab.Go("http://"+s.address+"/#/"))
		must(t, tab.Await("rows", `document.querySelector('.row.state-starting')`, soon))
		pod := ask[string](t, tab, `document.querySelector('.row.state-starting').hash`)
		for _, fragment := range []string{"#/", pod, "#/pulls", "#/registries", "#/evidence"} {
			ask[int](t, tab, `(location.hash = `+quoted(fragment)+`, 0)`)
			time.Sleep(150 * time.Millisecond)
			if over := ask[int](t, tab, Overflow); over > 0 {
				t.Errorf("%s is %d pixels too wide for a window of %d", fragment, over, width)
			}
		}
	}
	quiet(t, tab)
}
