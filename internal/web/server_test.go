package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/page"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var firstStart = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// fake is an agent with the content that a test sets.
type fake struct {
	timelines []timeline.Timeline
	gone      []timeline.Timeline
	objects   func(w io.Writer, want func(namespace, name, labels string) bool) error
	err       error
	statuses  []health.Status
	noTally   bool
	// The function nodeStartUp is nil if the agent does not follow the start-up of its node.
	nodeStartUp func() (api.NodeStartUpRecord, bool)
}

func (f *fake) config() Config {
	shown, err := page.New()
	if err != nil {
		panic(err) // the files are part of the binary
	}
	registry := prometheus.NewRegistry()
	export.NewMetrics(registry, nil)
	return Config{
		ListenAddress: "127.0.0.1:0",
		Timelines:     func(context.Context) ([]timeline.Timeline, error) { return f.timelines, f.err },
		Pulls: func(context.Context) (livepull.Snapshot, error) {
			return livepull.Snapshot{Starting: f.timelines, Now: time.Unix(60, 0)}, f.err
		},
		Statuses: func() []health.Status { return f.statuses },
		Required: []string{"pod_watch"},
		Gatherer: registry,
		API:      f.api(),
		Page:     shown,
		Logger:   zap.NewNop(),
	}
}

func (f *fake) ask(t *testing.T, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	response := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	handlerOf(f.config()).ServeHTTP(response, request)
	return response
}

// handlerOf returns the handler of a server without a web configuration file.
func handlerOf(config Config) http.Handler {
	limits := newLimits(newCounters(nil))
	return middleware(limits, config.Hosts, newProbes(config), newReads(config, limits, log.New(io.Discard, "", 0)))
}

func decode[A any](t *testing.T, response *httptest.ResponseRecorder) A {
	t.Helper()
	if got := response.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	var value A
	if err := json.Unmarshal(response.Body.Bytes(), &value); err != nil {
		t.Fatalf("%v in %s", err, response.Body)
	}
	return value
}

func TestPods(t *testing.T) {
	f := &fake{timelines: []timeline.Timeline{
		{Namespace: "a", Name: "one", UID: "1", CreatedAt: firstStart},
		{Namespace: "a", Name: "two", UID: "2", CreatedAt: firstStart.Add(time.Hour)},
		{Namespace: "a", Name: "two", UID: "3", CreatedAt: firstStart},
	}}
	list := decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods"))
	if len(list.Items) != 3 || list.Items[0].Name != "one" {
		t.Errorf("got %+v", list)
	}
	one := decode[api.Record](t, f.ask(t, http.MethodGet, "/api/v1/pods/a/two"))
	if one.UID != "2" {
		t.Errorf("got pod %s, want the newest with that name", one.UID)
	}
}

func TestNoPods(t *testing.T) {
	response := (&fake{}).ask(t, http.MethodGet, "/api/v1/pods")
	if got := strings.TrimSpace(response.Body.String()); response.Code != http.StatusOK || got != `{"items":[]}` {
		t.Errorf("%d %s", response.Code, got)
	}
}

func TestErrorsAreJSON(t *testing.T) {
	for _, test := range []struct {
		method, target string
		err            error
		status         int
		word, reason   string
	}{
		{http.MethodGet, "/api/v1/pods/a/none", nil, http.StatusNotFound, "not_found", "no pod a/none"},
		{http.MethodGet, "/api/v1/pods/a", nil, http.StatusNotFound, "not_found", "no such path"},
		{http.MethodGet, "/nothing", nil, http.StatusNotFound, "not_found", "no such path"},
		{http.MethodGet, "/api//v1/pods", nil, http.StatusNotFound, "not_found", "no such path"},
		{http.MethodGet, "/api/v1/../../metrics", nil, http.StatusNotFound, "not_found", "no such path"},
		{http.MethodGet, "//", nil, http.StatusNotFound, "not_found", "no such path"},
		{http.MethodGet, "/api/v1/pods/a/b/", nil, http.StatusNotFound, "not_found", "no such path"},
		{http.MethodPost, "/api/v1/pods", nil, http.StatusMethodNotAllowed, "method_not_allowed", "GET"},
		{http.MethodDelete, "/metrics", nil, http.StatusMethodNotAllowed, "method_not_allowed", "GET"},
		{http.MethodGet, "/api/v1/pods", errors.New("stopping"), http.StatusServiceUnavailable, "unavailable",
			"try again"},
		{http.MethodGet, "/api/v1/pods/a/b", errors.New("stopping"), http.StatusServiceUnavailable, "unavailable",
			"try again"},
	} {
		response := (&fake{err: test.err}).ask(t, test.method, test.target)
		got := decode[problem](t, response)
		if response.Code != test.status || got.Error != test.word || !strings.Contains(got.Reason, test.reason) {
			t.Errorf("%s %s: %d %+v; want %d %s", test.method, test.target, response.Code, got, test.status, test.word)
		}
	}
}

func TestReady(t *testing.T) {
	up := func(part string) health.Status { return health.Status{Part: part, Up: true, Detail: "works"} }
	down := func(part string) health.Status {
		return health.Status{Part: part, Detail: "refused, retrying", Since: firstStart}
	}
	for name, test := range map[string]struct {
		statuses []health.Status
		target   string
		status   int
		want     string
	}{
		"all up": {
			[]health.Status{up("pod_watch"), up("cri")}, "/readyz", http.StatusOK, "ok\n",
		},
		"all up, verbose": {
			[]health.Status{up("pod_watch"), up("cri")}, "/readyz?verbose", http.StatusOK,
			"[+]pod_watch ok: works\n[+]cri ok: works\nreadyz check passed\n",
		},
		"degraded": {
			[]health.Status{up("pod_watch"), down("cri")}, "/readyz", http.StatusOK, "ok\n",
		},
		"degraded, verbose": {
			[]health.Status{up("pod_watch"), down("cri")}, "/readyz?verbose=true", http.StatusOK,
			"[+]pod_watch ok: works\n" +
				"[-]cri down since 2026-03-01T12:00:00Z (still ready): refused, retrying\n" +
				"readyz check passed\n",
		},
		"required down": {
			[]health.Status{down("pod_watch"), up("cri")}, "/readyz", http.StatusServiceUnavailable,
			"[-]pod_watch down since 2026-03-01T12:00:00Z: refused, retrying\n[+]cri ok: works\nreadyz check failed\n",
		},
		"required part unknown": {
			[]health.Status{up("cri")}, "/readyz", http.StatusServiceUnavailable,
			"[+]cri ok: works\nreadyz check failed\n",
		},
	} {
		response := (&fake{statuses: test.statuses}).ask(t, http.MethodGet, test.target)
		if got := response.Body.String(); response.Code != test.status || got != test.want {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", name, response.Code, got, test.status, test.want)
		}
	}
}

func TestTextPages(t *testing.T) {
	for target, want := range map[string]string{
		"/":        "/api/v1/pods/NAMESPACE/NAME",
		"/livez":   "ok\n",
		"/metrics": "podlapse_pod_startup_duration_seconds_count 0",
	} {
		response := (&fake{err: errors.New("stuck")}).ask(t, http.MethodGet, target)
		if response.Code != http.StatusOK || !strings.Contains(response.Body.String(), want) {
			t.Errorf("%s: %d, no %q in\n%s", target, response.Code, want, response.Body)
		}
	}
}

// Only the OpenMetrics format, which Prometheus requests, has exemplars.
func TestMetricsAsOpenMetrics(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	response := httptest.NewRecorder()
	handlerOf((&fake{}).config()).ServeHTTP(response, request)
	if kind := response.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text;") ||
		!strings.HasSuffix(response.Body.String(), "\n# EOF\n") {
		t.Errorf("%d %s", response.Code, kind)
	}
}

func TestListenOnABusyPort(t *testing.T) {
	var listen net.ListenConfig
	taken, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := (&fake{}).config()
	config.ListenAddress = taken.Addr().String()
	_, err = Listen(t.Context(), config)
	want := "listen on --listen-address " + config.ListenAddress + ": bind: address already in use: stop the process " +
		"that listens on this address, or choose another address"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestListenErrors(t *testing.T) {
	for number, want := range map[syscall.Errno]string{
		syscall.EADDRNOTAVAIL: "bind: cannot assign requested address: choose an address of this node",
		syscall.EACCES:        "bind: permission denied: choose a port that the agent's user can use, for example 9717",
	} {
		err := listenError("x:1", &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", number)})
		if want = "listen on --listen-address x:1: " + want; err.Error() != want || !errors.Is(err, number) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestRunServesAndStops(t *testing.T) {
	config := (&fake{}).config()
	asked := make(chan struct{}, 1)
	config.Timelines = func(ctx context.Context) ([]timeline.Timeline, error) {
		asked <- struct{}{}
		<-ctx.Done() // like Reconciler.Present after the Reconciler has stopped
		return nil, ctx.Err()
	}
	server, err := Listen(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	base := "http://" + server.Addr().String()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if status := get(t, client, base+"/livez"); status != http.StatusOK {
		t.Errorf("livez: %d", status)
	}
	waiting := make(chan int, 1)
	go func() { waiting <- get(t, client, base+"/api/v1/pods") }()
	<-asked
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if status := <-waiting; status != http.StatusServiceUnavailable {
		t.Errorf("a request during the stop got %d, want an error that says so", status)
	}
}

func get(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	return response.StatusCode
}

func TestPullsInProgress(t *testing.T) {
	f := &fake{timelines: []timeline.Timeline{{Namespace: "a", Name: "one", Pulls: []timeline.Pull{{
		Container: "app", Image: "r.example/web:2", Registry: "r.example", Outcome: imagepull.OutcomePulling,
		RequestedAt: time.Unix(57, 0),
	}}}}}
	response := f.ask(t, http.MethodGet, "/api/v1/pulls")
	const want = `{"items":[{"namespace":"a","pod":"one","container":"app","image":"r.example/web:2",` +
		`"registry":"r.example","outcome":"pulling","age_seconds":3}],"recent":[]}` + "\n"
	if response.Code != http.StatusOK || response.Body.String() != want {
		t.Errorf("%d %s", response.Code, response.Body)
	}
	none := (&fake{}).ask(t, http.MethodGet, "/api/v1/pulls")
	if none.Body.String() != `{"items":[],"recent":[]}`+"\n" {
		t.Errorf("without pulls: %s", none.Body)
	}
	f.err = errors.New("stopping")
	if response := f.ask(t, http.MethodGet, "/api/v1/pulls"); response.Code != http.StatusServiceUnavailable {
		t.Errorf("during the stop: %d", response.Code)
	}
}
