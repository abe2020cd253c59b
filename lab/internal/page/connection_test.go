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
)

// TestPathPrefix runs the agent behind a proxy that removes a path prefix, like the API server's proxy or an ingress.
// All requests of the page must have a path with this prefix.
func TestPathPrefix(t *testing.T) {
	s := standIn(t, "--pods=40", "--changes=4")
	for _, prefix := range []string{"/api/v1/namespaces/x/pods/y:9717/proxy/", "/tools/node%201/podlapse/"} {
		proxy, strays := prefixProxy(t, s.address, prefix)
		tab := openTab(t, wide)
		must(t, tab.Go(proxy+prefix))
		must(t, tab.Await("live rows", Live+` && document.querySelector('.row.state-starting')`, soon))
		row := `document.querySelector('.row.state-starting')`
		link := eval[string](t, tab, row+`.href`)
		if !strings.HasPrefix(link, proxy+prefix+"#/pods/") {
			t.Errorf("a row leads to %s", link)
		}
		eval[int](t, tab, `(`+row+`.click(), 0)`)
		waterfall := `document.querySelectorAll('.wf-rows > *').length > 5`
		must(t, tab.Await("the waterfall", waterfall, soon))
		for _, of := range []string{"trace", "JSON"} {
			if status := eval[int](t, tab,
				`fetch([...document.querySelectorAll('.pod-links a')].find((a) =>
					a.textContent.includes('`+of+`')).href).then((r) => r.status)`); status != http.StatusOK {
				t.Errorf("the link %s returns status %d", of, status)
			}
		}
		must(t, tab.Go("about:blank"))
		must(t, tab.Go(link)) // a user who received the link opens it
		must(t, tab.Await("the waterfall", waterfall, soon))
		for _, view := range []string{"pulls", "registries", "quality", "workloads", "images", "node"} {
			eval[int](t, tab, `(document.querySelector('[data-view=`+view+`]').click(), 0)`)
			must(t, tab.Await(view, `document.querySelector('.`+view+`-view .verdict').textContent.length > 5`, soon))
		}
		requireNoComplaints(t, tab)
		if found := strays(); len(found) > 0 {
			t.Errorf("requests outside of %s: %v", prefix, found)
		}
	}
}

// prefixProxy is a proxy that serves only paths with the prefix. prefixProxy records all other requests, and the
// function strays returns these requests.
func prefixProxy(t *testing.T, address, prefix string) (server string, strays func() []string) {
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

// TestAgentRestart checks that the page reconnects after a restart of the agent, and shows the start-ups of the new
// agent.
func TestAgentRestart(t *testing.T) {
	first := standIn(t, "--pods=30")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+first.address+"/"))
	count := `Number(document.querySelector('.chip b')?.textContent)`
	must(t, tab.Await("30 rows, live", Live+` && `+count+` === 30`, soon))
	requireNoComplaints(t, tab)
	first.stop()
	must(t, tab.Await("the page not to be live", `!(`+Live+`)`, soon))
	standIn(t, "--pods=20", "--listen-address="+first.address)
	must(t, tab.Await("20 rows, live", Live+` && `+count+` === 20`, 3*soon))
}

// TestOpenStartUpAcrossRestarts opens a start-up in the page, and then replaces the agent several times. All agents
// except the last agent know the start-up.
func TestOpenStartUpAcrossRestarts(t *testing.T) {
	first := standIn(t, "--pods=1", "--changes=4")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+first.address+"/"))
	row := `document.querySelector('.row.state-starting')`
	must(t, tab.Await("a starting pod", row, soon))
	eval[int](t, tab, `(`+row+`.click(), 0)`)
	state := `document.querySelector('.badge').textContent`
	must(t, tab.Await("its waterfall", state+`.includes('starting')`, soon))
	first.stop()
	second := standIn(t, "--pods=1", "--listen-address="+first.address)
	must(t, tab.Await("the pod to be ready", state+`.includes('ready')`, 3*soon))
	second.stop()

	third := standIn(t, "--pods=1", "--changes=4", "--listen-address="+first.address)
	must(t, tab.Await("the pod to start", state+`.includes('starting')`, 3*soon))
	third.stop()
	standIn(t, "--pods=0", "--listen-address="+first.address)
	must(t, tab.Await("the note that the agent no longer knows the start-up",
		`document.querySelector('.notes').innerText.includes('no longer knows this start-up')`, 3*soon))
	shown := eval[string](t, tab, state)
	time.Sleep(2500 * time.Millisecond)
	if later := eval[string](t, tab, state); later != shown {
		t.Errorf("the duration still grows, from %q to %q", shown, later)
	}
}

// TestFailedList checks that the page shows a message if a request for the list of a view fails. The page must hide the
// message after the next successful request, even if the list has not changed.
func TestFailedList(t *testing.T) {
	s := standIn(t, "--pods=5", "--changes=1")
	for _, test := range []struct{ view, address, words string }{
		{"#/", "/api/v1/pods", "Not live: "}, {"#/registries", "/api/v1/registries", "unexpected response: 502"},
	} {
		address := s.address
		if test.view == "#/" {
			address = standIn(t, "--pods=5").address // start-ups of this stand-in do not change
		}
		server, repair := failingProxy(t, address, test.address)
		tab := openTab(t, wide)
		must(t, tab.Go(server+"/"+test.view))
		alert := `document.querySelector('#alert').innerText`
		must(t, tab.Await("the message", alert+`.includes(`+quoted(test.words)+`)`, soon))
		repair()
		must(t, tab.Await("the end of the message", Live+` && `+alert+` === ''`, soon))
	}
}

// TestStreamResumes checks that the page reconnects and continues the stream at the same position. The page must not
// request the list again.
func TestStreamResumes(t *testing.T) {
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
	tab := openTab(t, wide)
	must(t, tab.Go(listener.URL+"/"))
	must(t, tab.Await("changes", Live+` && document.querySelector('.row.state-starting')`, soon))
	mu.Lock()
	listed := lists
	mu.Unlock()
	eval[int](t, tab, `(window.dispatchEvent(new Event('online')), 0)`) // as after a computer wakes up
	must(t, tab.Await("the page to be live", Live, soon))
	took := eval[string](t, tab, `document.querySelector('.rows').innerText`)
	must(t, tab.Await("changes again", `document.querySelector('.rows').innerText !== `+quoted(took), soon))
	mu.Lock()
	defer mu.Unlock()
	if len(streams) != 2 || streams[0] != "" || !strings.HasPrefix(streams[1], "last_event_id=") || listed == 0 ||
		lists != listed {
		t.Errorf("the queries of the stream are %q; %d lists before reconnecting, %d after", streams, listed,
			lists-listed)
	}
	requireNoComplaints(t, tab)
}

// TestRequestsOfHiddenViews checks that the page requests registries and recent pulls only while their views are open.
func TestRequestsOfHiddenViews(t *testing.T) {
	s := standIn(t, "--pods=5", "--changes=4")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/pulls"))
	const requests = `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) =>
		name.endsWith('/api/v1/pulls?limit=100') || name.endsWith('/api/v1/registries')).length`
	must(t, tab.Await("the repeated request for pulls", requests+` >= 2`, soon))
	eval[int](t, tab, `(location.hash = '#/', 0)`)
	must(t, tab.Await("changes", `document.querySelector('.row.state-starting')`, soon))
	before := eval[int](t, tab, requests)
	time.Sleep(5500 * time.Millisecond) // longer than the interval between two requests of a view
	if after := eval[int](t, tab, requests); after != before {
		t.Errorf("the page sent %d requests for views that are not open", after-before)
	}
}

// TestHiddenPageDisconnects checks that a hidden page closes its connection after 20 s. When the page is visible again,
// the page must reconnect. In this test, the page's clock runs a hundred times as fast.
func TestHiddenPageDisconnects(t *testing.T) {
	s := standIn(t, "--pods=5")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("the page to be live", Live, soon))
	hide := func(hidden bool) {
		eval[int](t, tab, fmt.Sprintf(`(() => {
			const usual = window.usual ??= window.setTimeout;
			window.setTimeout = (does, after) => usual(does, after === 20000 ? 200 : after);
			Object.defineProperty(document, 'hidden', { configurable: true, get: () => %t });
			document.dispatchEvent(new Event('visibilitychange'));
			return 0; })()`, hidden))
	}
	hide(true)
	must(t, tab.Await("the page to disconnect", `document.querySelector('#connection').innerText === 'paused'`, soon))
	hide(false)
	must(t, tab.Await("the page to be live again", Live, soon))
	requireNoComplaints(t, tab)
}

// failingProxy is a proxy that rejects requests for a path until the test calls repair.
func failingProxy(t *testing.T, address, path string) (server string, repair func()) {
	t.Helper()
	var repaired atomic.Bool
	server = interceptingProxy(t, address, path, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if !repaired.Load() {
			http.Error(w, "bad gateway", http.StatusBadGateway)
			return
		}
		pass.ServeHTTP(w, r)
	})
	return server, func() { repaired.Store(true) }
}

// interceptingProxy is a proxy that calls intercept for requests with the path. The handler "pass" forwards a request.
func interceptingProxy(t *testing.T, address, path string,
	intercept func(w http.ResponseWriter, r *http.Request, pass http.Handler)) (server string) {
	t.Helper()
	proxy := &httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: address}) }}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			intercept(w, r, proxy)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { listener.CloseClientConnections(); listener.Close() })
	return listener.URL
}
