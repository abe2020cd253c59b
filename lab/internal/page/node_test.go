package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/browser"
)

// startUpRequests is a JavaScript expression for the number of the page's requests for the start-up of the node.
const startUpRequests = `performance.getEntriesByType('resource')
	.filter(({ name }) => name.endsWith('/api/v1/node/startup')).length`

// TestNodeStartUp compares the start-up of the node with the API. The page must repeat its request only while the node
// starts.
func TestNodeStartUp(t *testing.T) {
	s := standIn(t, "--pods=3", "--node-startup=8s")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/node"))
	const panel = `[...document.querySelectorAll('.node-view .panel')].find((p) => p.checkVisibility() &&
		p.querySelector('h2')?.textContent === 'Start-up of the node')`
	must(t, tab.Await("the start-up in progress", panel+`?.innerText.includes('booted 28.0 s ago') && `+panel+
		`.innerText.includes('in progress')`, soon))
	must(t, tab.Await("the completed start-up", panel+`.innerText.includes('from boot to the first ready workload')`,
		2*soon))
	rows := eval[[]string](t, tab, `[...`+panel+`.querySelectorAll('tbody tr')].map((row) =>
		[...row.cells].map((cell) => [...cell.children].map((c) => c.textContent).filter(Boolean)
			.join(', ')).join(' | '))`)
	want := []string{
		"machine |  | 11.000 s | ±0.550 s | the machine",
		"unattributed | possibly kubelet registration, runtime | 1.000 s | ±0.050 s | unknown (no evidence)",
		"pull | kube-system/cilium-5xk2p | 9.000 s | ±0.450 s | the registry or its mirror",
		"taint | node.cilium.io/agent-not-ready | 4.000 s | ±0.200 s | the taint's owner, Cilium",
		"awaiting pod |  | 0.000 s | ±0.000 s | none (the node waited for a pod)",
		"readiness probe | shop/web | 3.000 s | ±0.150 s | the application",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
	bars := eval[[]string](t, tab, `[...`+panel+`.querySelectorAll('.cause-bar i')].map((i) =>
		i.className + ' ' + Number(i.style.flexGrow).toFixed(2))`)
	if want := []string{"c-machine 0.39", "c-unknown 0.04", "c-registry 0.32", "c-taint_owner 0.14",
		"c-app 0.11"}; !slices.Equal(bars, want) {
		t.Errorf("the bars are %q, want %q", bars, want)
	}
	notes := eval[[]string](t, tab, `[...`+panel+`.querySelectorAll('.gaps li')].map((li) => li.textContent)`)
	if want := []string{"Reconstructed: the agent started after this start-up.",
		"No evidence for kubelet_started"}; !slices.Equal(notes, want) {
		t.Errorf("the notes are %q", notes)
	}
	requested := eval[int](t, tab, startUpRequests)
	if requested < 2 || requested > 5 {
		t.Errorf("the page requested the start-up %d times in 8 s, want 2 to 5 times", requested)
	}
	requireStartUpRequests(t, tab, requested)
	eval[int](t, tab, `(location.hash = '#/quality', 0)`)
	must(t, tab.Await("another view", `document.querySelector('.quality-view')`, soon))
	eval[int](t, tab, `(location.hash = '#/node', 0)`)
	must(t, tab.Await("one more request", fmt.Sprintf(`%s === %d`, startUpRequests, requested+1), soon))
	requireStartUpRequests(t, tab, requested+1)
	requireNoComplaints(t, tab)
}

// TestNodeStartUpAfterErrors checks that the page requests the start-up of the node again after errors, while the
// record is partial, and after a restart of the agent. After each error, the page must wait longer. After the status
// 404, the page must send no further requests.
func TestNodeStartUpAfterErrors(t *testing.T) {
	first := standIn(t, "--pods=3", "--node-startup=1ms")
	var p nodeProxy
	p.set(busy, busy, busy, busy, broken, partial, none)
	tab := openTab(t, wide)
	must(t, tab.Go(interceptingProxy(t, first.address, "/api/v1/node/startup", p.intercept)+"/"))
	must(t, tab.Await("the list of start-ups", Live+` && document.querySelectorAll('.row').length === 3`, soon))
	eval[int](t, tab, `(location.hash = '#/node', 0)`)
	const notes = NodeStartUp + `?.querySelector('.gaps')?.innerText`
	must(t, tab.Await("the partial record", notes+`?.includes('More evidence can arrive')`, 3*soon))
	must(t, tab.Await("the final record", `!`+notes+`.includes('More evidence can arrive')`, soon))
	p.requireRequests(t, 7)
	times := p.requests()
	// Four responses with the status 503 are one error, because the page sends each request up to four times.
	if wait := times[4].Sub(times[3]); wait < 2500*time.Millisecond {
		t.Errorf("after the first error, the page waited for %s", wait)
	}
	if wait := times[5].Sub(times[4]); wait < 5500*time.Millisecond {
		t.Errorf("after the second error, the page waited for %s", wait)
	}

	first.stop()
	standIn(t, "--pods=3", "--node-startup=1h", "--listen-address="+first.address)
	must(t, tab.Await("the start-up in progress", Live+` && `+NodeStartUp+`.innerText.includes('in progress')`,
		3*soon))
	p.set(missing)
	must(t, tab.Await("the status 404", `performance.getEntriesByType('resource').some(({ name, responseStatus }) =>
		name.endsWith('/api/v1/node/startup') && responseStatus === 404)`, soon))
	p.requireRequests(t, len(p.requests()))
}

// TestNodeStartUpOff checks that the page neither shows nor requests the start-up of the node if the agent does not
// follow it.
func TestNodeStartUpOff(t *testing.T) {
	s := standIn(t, "--pods=3")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/node"))
	must(t, tab.Await("the node", `document.querySelector('.node-view')?.innerText.includes('3 start-ups')`, soon))
	must(t, tab.Await("the data sources", `performance.getEntriesByType('resource')
		.some(({ name, responseEnd }) => name.endsWith('/api/v1/evidence') && responseEnd > 0)`, soon))
	requireStartUpRequests(t, tab, 0)
	if eval[bool](t, tab, `document.querySelector('.node-view').innerText.includes('Start-up of the node')`) {
		t.Error("the page shows a start-up of the node")
	}
	requireNoComplaints(t, tab)
}

// requireStartUpRequests requires that the page sends no further request for the start-up of the node.
func requireStartUpRequests(t *testing.T, tab *browser.Tab, want int) {
	t.Helper()
	time.Sleep(5 * time.Second) // longer than the interval between two requests
	if got := eval[int](t, tab, startUpRequests); got != want {
		t.Errorf("the page has requested the start-up of the node %d times, want %d", got, want)
	}
}

// fault is how a nodeProxy changes a response.
type fault int

const (
	none    fault = iota
	busy          // the status is 503
	broken        // the response ends too early
	partial       // the record is partial
	missing       // the status is 404
)

// nodeProxy intercepts requests for the start-up of the node. Each fault applies to one request, and the last fault to
// all further requests.
type nodeProxy struct {
	mu     sync.Mutex
	faults []fault
	times  []time.Time // times of the requests
}

func (p *nodeProxy) set(faults ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
}

func (p *nodeProxy) requests() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.times)
}

// requireRequests requires that the page has sent this number of requests, and sends no further requests.
func (p *nodeProxy) requireRequests(t *testing.T, want int) {
	t.Helper()
	time.Sleep(5 * time.Second) // longer than the interval between two requests
	if got := len(p.requests()); got != want {
		t.Errorf("the page has requested the start-up of the node %d times, want %d", got, want)
	}
}

func (p *nodeProxy) next() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.faults[0]
	if len(p.faults) > 1 {
		p.faults = p.faults[1:]
	}
	p.times = append(p.times, time.Now())
	return f
}

func (p *nodeProxy) intercept(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	switch p.next() {
	case busy:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case missing:
		http.NotFound(w, r)
	case broken:
		w.Header().Set("Content-Length", "2")
		_, _ = w.Write([]byte("{")) // fails if the page has cancelled the request
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // closes the connection
	case partial:
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		pass.ServeHTTP(answer, r)
		var record map[string]any
		if err := json.Unmarshal(answer.Body.Bytes(), &record); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		record["partial"] = true
		_ = json.NewEncoder(w).Encode(record)
	default:
		pass.ServeHTTP(w, r)
	}
}
