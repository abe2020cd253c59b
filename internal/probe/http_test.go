package probe

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
)

// responsePath responds to a request as its path requires.
func responsePath(t *testing.T, w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
	switch r.URL.Path {
	case "/slow":
		time.Sleep(100 * time.Millisecond)
	case "/stuck":
		<-r.Context().Done()
	case "/hang-up":
		panic(http.ErrAbortHandler)
	case "/bad":
		w.WriteHeader(http.StatusInternalServerError)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/once":
		http.Redirect(w, r, "/", http.StatusFound)
	case "/away":
		http.Redirect(w, r, "http://"+unusedAddress(t)+"/", http.StatusFound)
	case "/garbled":
		w.Header().Set("Location", "http://%zz?token=secret")
		w.WriteHeader(http.StatusFound)
	case "/nowhere":
		w.WriteHeader(http.StatusFound)
	case "/endless":
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	case "/header":
		w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
	}
}

func TestHTTP(t *testing.T) {
	var mu sync.Mutex
	var requests []*http.Request
	taken := func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		all := requests
		requests = nil
		return all
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.Clone(context.Background()))
		mu.Unlock()
		responsePath(t, w, r)
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	// Probes ignore the proxy variables. net/http always ignores these variables for loopback, so
	// TestProxyVariablesAreIgnored tests them for other addresses.
	t.Setenv("HTTP_PROXY", "http://"+unusedAddress(t))
	get := func(path string, change func(*Probe)) Outcome {
		return try(t, made(KindHTTP, server.URL+path, change))
	}
	redirects := func(n int) func(*Probe) { return func(p *Probe) { p.Redirects = n } }
	const reached = "connect=ok first_byte=ok"
	expect(t, "well", get("/", nil), ResultOK, reached)
	slow := get("/slow", nil)
	expect(t, "slow", slow, ResultOK, reached)
	if first := slow.Stages[1].Length; first < 90*time.Millisecond || first > slow.Length ||
		slow.Stages[0].Length > 50*time.Millisecond {
		t.Errorf("slow took %+v", slow)
	}
	stuck := get("/stuck?token=secret", nil)
	expect(t, "stuck", stuck, ResultTimeout, "connect=ok first_byte=timeout")
	if stuck.Length < 490*time.Millisecond || stuck.Length > 2*time.Second || strings.Contains(stuck.Detail, "secret") {
		t.Errorf("stuck: %+v", stuck)
	}
	hungUp := get("/hang-up?token=secret", nil)
	expect(t, "hung up", hungUp, ResultNoResponse, "connect=ok first_byte=no_response")
	if strings.Contains(hungUp.Detail, "secret") {
		t.Errorf("the detail contains the query: %q", hungUp.Detail)
	}
	expect(t, "bad", get("/bad", nil), ResultBadStatus, reached)
	expect(t, "bad, and right", get("/bad", func(p *Probe) { p.Status = []int{500} }), ResultOK, reached)
	expect(t, "an unexpected status 200", get("/", func(p *Probe) { p.Status = []int{500} }), ResultBadStatus, reached)
	expect(t, "a body without an end", get("/endless", nil), ResultOK, reached)
	expect(t, "too much of a header", get("/header", nil), ResultError, reached)
	taken()
	expect(t, "a redirect that is not followed", get("/once", nil), ResultOK, reached)
	expect(t, "a redirect to elsewhere", get("/away", redirects(5)), ResultOK, reached)
	if n := len(taken()); n != 2 {
		t.Errorf("requested %d times", n)
	}
	for _, path := range []string{"/garbled", "/nowhere"} {
		for n := range 2 {
			expect(t, path, get(path, redirects(n)), ResultOK, reached) // the status of the redirect is a success
			expect(t, path, get(path, func(p *Probe) { p.Redirects, p.Status = n, []int{200} }), ResultBadStatus,
				reached)
		}
	}
	taken()
	expect(t, "a redirect that is", get("/once", redirects(1)), ResultOK, reached)
	taken()
	expect(t, "too many", get("/loop", redirects(2)), ResultBadStatus, reached)
	requested := taken()
	if len(requested) != 3 {
		t.Errorf("sent %d requests, want the first and two redirects", len(requested))
	}
	for _, r := range requested {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || r.UserAgent() != userAgent {
			t.Errorf("sent the headers %v", r.Header)
		}
	}
	expect(t, "a closed port", try(t, made(KindHTTP, "http://"+unusedAddress(t), nil)), ResultConnectError,
		"connect=connect_error")
}

// TestHeaders sends the headers that GKE's metadata server requires.
func TestHeaders(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Metadata-Flavor") != "Google" || r.UserAgent() != "another":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/":
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	}))
	defer server.Close()
	expect(t, "without", try(t, made(KindHTTP, server.URL, nil)), ResultBadStatus, "connect=ok first_byte=ok")
	with := func(p *Probe) {
		p.Headers, p.Redirects, p.Status = Headers{"metadata-flavor": "Google", "User-Agent": "another"}, 1, []int{200}
	}
	expect(t, "with, and after a redirect", try(t, made(KindHTTP, server.URL, with)), ResultOK,
		"connect=ok first_byte=ok")
	server.Close()
	o := try(t, made(KindHTTP, server.URL, with))
	if strings.Contains(o.Detail, "Google") || o.Result != ResultConnectError {
		t.Errorf("%+v", o)
	}
}

// A redirect from an address with TLS to an address without TLS is not followed.
func TestRedirects(t *testing.T) {
	for _, c := range []struct{ from, location, want string }{
		{"https://a/x", "/y", "https://a/y"}, {"http://a/x", "https://a/y", "https://a/y"},
		{"http://a/x", "http://a/y", "http://a/y"},
		{"https://a/x", "http://a/y", ""}, {"https://a/x", "https://b/y", ""}, {"https://a/x", "https://a:444/y", ""},
		{"https://a/x", "https://u:p@a/y", ""}, {"http://a/x", "ftp://a/y", ""}, {"http://a/x", "", ""},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range []int{200, 300, 301, 302, 303, 304, 307, 308} {
			want := c.want
			if status < 301 || status == 304 {
				want = ""
			}
			redirection := &http.Response{StatusCode: status, Header: http.Header{"Location": {c.location}},
				Request: &http.Request{URL: from}}
			if got := redirectTarget(redirection); got != want {
				t.Errorf("%d from %s to %s leads to %q, want %q", status, c.from, c.location, got, want)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	trusted := func(p *Probe) {
		p.authorities = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	expect(t, "unknown authority", try(t, made(KindHTTP, server.URL, nil)), ResultTLSError, "connect=ok tls=tls_error")
	expect(t, "trusted", try(t, made(KindHTTP, server.URL, trusted)), ResultOK, "connect=ok tls=ok first_byte=ok")
	expect(t, "a registry that wants a login",
		try(t, made(KindRegistry, strings.TrimPrefix(server.URL, "https://"), trusted)), ResultOK,
		"connect=ok tls=ok first_byte=ok")
	expect(t, "no TLS at all", try(t, made(KindRegistry, silentServer(t), nil)),
		ResultTimeout, "connect=ok tls=timeout")
}

var errForever = errors.New("never comes back")

func TestProxyVariablesAreIgnored(t *testing.T) {
	requested := make(chan string, 16)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- r.URL.String()
	}))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	o := try(t, made(KindHTTP, "http://does-not-exist.invalid/", nil))
	if o.Result != ResultDNSError && o.Result != ResultTimeout {
		t.Errorf("got %+v, want the name not found", o)
	}
	if len(requested) > 0 {
		t.Errorf("a proxy got a request for %s", <-requested)
	}
}

// The agent's own connection to the API server uses HTTP/2, where the response can begin before httptrace reports
// that the client has written the request.
func TestFirstByteBeforeRequestWritten(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	r := NewRunner(RunnerConfig{Logger: zap.NewNop(), APIServer: func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			if response.ProtoMajor != 2 {
				t.Errorf("responded over %s", response.Proto)
			}
			err = response.Body.Close()
		}
		return err
	}})
	p := made(KindAPIServer, "", nil)
	for i := range 500 {
		want := "first_byte=ok"
		if i == 0 {
			want = "connect=ok tls=ok first_byte=ok"
		}
		if expect(t, "responded", attempt(t.Context(), p, r.attemptFuncOf(p)), ResultOK, want); t.Failed() {
			t.Fatalf("attempt %d", i)
		}
	}
}
