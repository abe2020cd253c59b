package kubeauth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	scraper      = "system:serviceaccount:monitoring:prometheus"
	unauthorized = "system:serviceaccount:shop:default"
	metrics      = "/metrics"
)

// bench is a Reviewer with an API server. On this API server, the user scraper can read /metrics and the agent's
// whole API.
type bench struct {
	*Reviewer
	t      *testing.T
	server *podwatchtest.Server
	now    time.Time

	mu      sync.Mutex
	up      bool
	reports []string
	longest time.Duration // the longest timeout of a review
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, server: podwatchtest.Start(t), now: time.Unix(1e9, 0)}
	b.server.KnowToken("good", scraper)
	b.server.KnowToken("other", unauthorized)
	b.server.Authorize(func(a podwatchtest.Attempt) bool {
		return a.Resource != "" || a.User == scraper && a.Verb == "get" &&
			(a.Path == metrics || strings.HasPrefix(a.Path, "/podlapse/api/"))
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	reviewer, err := New(&rest.Config{Host: b.server.URL(), Transport: b.recordTimeouts(transport)},
		func(up bool, detail string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.up, b.reports = up, append(b.reports, detail)
		}, func() time.Time { return b.now })
	if err != nil {
		t.Fatal(err)
	}
	b.Reviewer = reviewer
	return b
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// recordTimeouts records the timeout of each request.
func (b *bench) recordTimeouts(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		deadline, ok := r.Context().Deadline()
		if !ok {
			return nil, errors.New("this may take for ever")
		}
		b.mu.Lock()
		b.longest = max(b.longest, time.Until(deadline))
		b.mu.Unlock()
		return next.RoundTrip(r)
	})
}

func (b *bench) want(token, path string, verdict Verdict) {
	b.t.Helper()
	got, err := b.Review(b.t.Context(), Request{Client: "10.0.0.1:1", Token: token, Path: path})
	if got != verdict || err != nil {
		b.t.Errorf("%s for %s: %q, %v, want %q", token, path, got, err, verdict)
	}
}

// checkRequests checks the number of requested token reviews and access reviews.
func (b *bench) checkRequests(tokens, access int) {
	b.t.Helper()
	var gotTokens, gotAccess int
	for _, request := range b.server.Requests() {
		if strings.Contains(request, "tokenreviews") {
			gotTokens++
		} else {
			gotAccess++
		}
	}
	if gotTokens != tokens || gotAccess != access {
		b.t.Errorf("reviewed %d tokens and %d times access, want %d and %d", gotTokens, gotAccess, tokens, access)
	}
}

func TestVerdictsAreCached(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.want("good", metrics, Allowed)
		b.want("other", metrics, Denied)
		b.want("made up", metrics, Unknown)
	}
	b.checkRequests(3, 3) // for a denied request, the Reviewer reviews two nonResourceURLs
	b.want("good", "/api/v1/pods", Allowed)
	b.checkRequests(3, 4) // the cache contains the token, but not the path
}

// TestSlowReviewsFitIntoScrapeTimeout checks the timeout of reviews. By default, Prometheus waits 10 s for the reviews
// and the metrics together.
func TestSlowReviewsFitIntoScrapeTimeout(t *testing.T) {
	b := newBench(t)
	b.want("good", metrics, Allowed)
	if b.longest > 3*time.Second {
		t.Errorf("a review may take %s", b.longest)
	}
}

// TestMetricsAccessByEitherPermission checks two permissions to read /metrics: the usual permission for the path
// /metrics, and a permission that is only valid for the agent.
func TestMetricsAccessByEitherPermission(t *testing.T) {
	b := newBench(t)
	b.server.KnowToken("own", "reader")
	b.server.Authorize(func(a podwatchtest.Attempt) bool {
		return a.Resource != "" || a.User == "reader" && a.Path == "/podlapse/metrics"
	})
	b.want("own", metrics, Allowed)
	b.want("own", "/api/v1/pods", Denied)
	b.want("good", metrics, Denied)
}

// Every account can get the API server's discovery paths. TestDiscoveryPermissionGrantsNoAPI checks that this
// permission gives no access to the agent.
func TestDiscoveryPermissionGrantsNoAPI(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/api/v1/pods", "/api/v1/pods/a/b", "/api/v1/pulls", "/debug/observations",
		"/healthz"} {
		b.want("other", path, Denied)
	}
}

func TestRevokedTokenExpiresAfterTwoMinutes(t *testing.T) {
	b := newBench(t)
	b.want("good", metrics, Allowed)
	b.server.KnowToken("good", "")
	b.now = b.now.Add(2 * time.Minute) // the lifetime of a revoked token in docs/security.md
	b.want("good", metrics, Allowed)
	b.now = b.now.Add(time.Nanosecond)
	b.want("good", metrics, Unknown)
	b.server.KnowToken("good", scraper)
	b.now = b.now.Add(refusedFor + time.Nanosecond)
	b.want("good", metrics, Allowed)
}

func TestPermissionsAreReviewedAgain(t *testing.T) {
	b := newBench(t)
	b.want("good", metrics, Allowed)
	b.want("other", metrics, Denied)
	b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Resource != "" || a.User == unauthorized })
	b.now = b.now.Add(deniedFor + time.Nanosecond)
	b.want("good", metrics, Allowed)
	b.want("other", metrics, Allowed)
	b.now = b.now.Add(allowedFor + time.Nanosecond)
	b.want("good", metrics, Denied)
}

func TestWithoutAPIServer(t *testing.T) {
	b := newBench(t)
	b.want("good", metrics, Allowed)
	b.server.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is away")
	b.want("good", metrics, Allowed)
	for _, token := range []string{"secret-token", "good"} {
		b.now = b.now.Add(acceptedFor + time.Nanosecond)
		verdict, err := b.Review(t.Context(), Request{Client: "10.0.0.2:1", Token: token, Path: metrics})
		if verdict != "" || err == nil || !strings.Contains(err.Error(), "etcd is away") {
			t.Errorf("%q, %v, want an error with the reason", verdict, err)
		}
		if text := fmt.Sprint(err, b.reports); strings.Contains(text, "secret-token") {
			t.Errorf("the error contains the token: %s", text)
		}
	}
	if b.up {
		t.Errorf("reports %q", b.reports)
	}
	b.server.Heal()
	b.want("good", metrics, Allowed)
	if !b.up {
		t.Errorf("reports %q", b.reports)
	}
}

func TestAgentWithoutReviewPermission(t *testing.T) {
	b := newBench(t)
	b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Resource != "subjectaccessreviews" })
	verdict, err := b.Review(t.Context(), Request{Client: "10.0.0.1:1", Token: "good", Path: metrics})
	if verdict != "" || err == nil {
		t.Errorf("%q, %v", verdict, err)
	}
	if last := b.reports[len(b.reports)-1]; b.up || !strings.HasPrefix(last, remedyForbidden) {
		t.Errorf("reports %q, want the remedy", last)
	}
}

// TestTokenFloodDoesNotBlockScrapers sends many invented tokens, or many requests with a pod's token without
// permissions. Clients with permission must still get their reviews.
func TestTokenFloodDoesNotBlockScrapers(t *testing.T) {
	b := newBench(t)
	b.want("good", metrics, Allowed)
	b.now = b.now.Add(allowedFor + time.Second)
	before := len(b.server.Requests())
	refused := 0
	for i := range 5000 {
		token, path := fmt.Sprint("made up ", i), metrics
		if i%2 == 0 {
			token, path = "other", fmt.Sprint("/api/v1/pods/a/", i)
		}
		if _, err := b.Review(t.Context(), Request{Client: "10.0.0.2:1", Token: token, Path: path}); err != nil {
			refused++
		}
	}
	if cost := len(b.server.Requests()) - before; cost > 10+clientBurst || refused < 4900 {
		t.Errorf("the flood caused %d reviews, and %d requests were refused", cost, refused)
	}
	b.want("good", metrics, Allowed)
}

// TestTokenFloodDoesNotBlockNewScraper checks a scraper whose token is new to the Reviewer, for example after a restart
// of the agent or of Prometheus.
func TestTokenFloodDoesNotBlockNewScraper(t *testing.T) {
	b := newBench(t)
	b.server.KnowToken("renewed", scraper)
	for round := range 3 {
		for i := range 500 {
			client := fmt.Sprintf("10.0.1.%d:1", i%50+1)
			_, _ = b.Review(t.Context(),
				Request{Client: client, Token: fmt.Sprint("made up ", round, i), Path: metrics})
		}
		if round == 0 {
			b.want("good", metrics, Allowed)
		}
		b.now = b.now.Add(20 * time.Second)
	}
	b.want("renewed", metrics, Allowed)
}

// TestMemoryIsBounded sends requests slowly, so that the Reviewer reviews each request.
func TestMemoryIsBounded(t *testing.T) {
	b := newBench(t)
	for i := range 3 * maxTokens {
		b.now = b.now.Add(time.Second)
		token := fmt.Sprint("made up ", i)
		if i%2 == 0 {
			b.server.KnowToken(token, scraper)
		}
		if _, err := b.Review(t.Context(), Request{Client: "10.0.0.2:1", Token: token, Path: metrics}); err != nil {
			t.Fatal(err)
		}
	}
	b.want("good", metrics, Allowed)
	sizes := []int{len(b.tokens.yes.Keys()), len(b.tokens.no.Keys()), len(b.authorized.Keys())}
	if slices.Max(sizes) > maxTokens || len(b.access.yes.Keys()) > maxAccess {
		t.Errorf("caches %v tokens and %d accesses", sizes, len(b.access.yes.Keys()))
	}
}

func TestDigestsAreKeyedAndUnambiguous(t *testing.T) {
	one, two := newDigests(), newDigests()
	digest := one.of("token")
	if again := one.of("token"); again != digest || two.of("token") == digest {
		t.Error("a digest must be stable within one agent and differ between agents")
	}
	if one.of("a", "bc") == one.of("ab", "c") {
		t.Error("the boundary between token and path is ambiguous")
	}
}
