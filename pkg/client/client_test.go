package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPodsOfSeveralPages(t *testing.T) {
	var requested []string
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
		if r.URL.Query().Get("continue") == "" {
			fmt.Fprint(w, `{"items":[{"name":"a"},{"name":"b"}],"continue":"t","remaining":1}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"name":"c"}]}`)
	})
	var names string
	filter := Filter{
		Namespaces: []string{"x", "y"}, Name: "web-*", Owner: "Deployment/web", LabelSelector: "app=web",
		States: []timeline.State{timeline.StateReady},
		Phases: []timeline.Phase{timeline.PhasePull}, SlowerThan: time.Minute, Since: time.Unix(0, 0).UTC(),
		Gone: new(true),
	}
	for record, err := range c.Pods(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		names += record.Name
	}
	const first = "/proxy/api/v1/pods?gone=true&labelSelector=app%3Dweb&name=web-%2A&namespace=x%2Cy&" +
		"owner=Deployment%2Fweb&phase=pull&since=1970-01-01T00%3A00%3A00Z&slower-than=1m0s&state=ready"
	if names != "abc" || len(requested) != 2 || requested[0] != first ||
		requested[1] != strings.Replace(first, "?", "?continue=t&", 1) {
		t.Errorf("%s, requested %q", names, requested)
	}
	for _, err := range c.Pods(t.Context(), Filter{}) {
		if err != nil {
			t.Error(err)
		}
		break // one page is enough
	}
	if len(requested) != 3 {
		t.Errorf("requests %q", requested)
	}
}

func TestTotals(t *testing.T) {
	var requested []string
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
		if r.URL.RawQuery == "" {
			fmt.Fprint(w, `{}`) // not an agent
			return
		}
		fmt.Fprint(w, `{"node":"a","ended":3,"registries":[]}`)
	})
	since := time.Unix(0, 5).UTC()
	got, err := c.Totals(t.Context(), since, since.Add(time.Hour), "x", "y")
	if err != nil || got.Ended != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	const want = "/proxy/api/v1/totals?namespace=x%2Cy&since=1970-01-01T00%3A00%3A00.000000005Z&" +
		"until=1970-01-01T01%3A00%3A00.000000005Z"
	if requested[0] != want {
		t.Errorf("requested %s, want %s", requested[0], want)
	}
	if _, err := c.Totals(t.Context(), time.Time{}, time.Time{}); !errors.Is(err, ErrNotAnAgent) {
		t.Errorf("a response without totals: %v", err)
	}
}

func TestWorkload(t *testing.T) {
	var requested []string
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
		if r.URL.RawQuery == "" {
			fmt.Fprint(w, `{}`) // not an agent
			return
		}
		fmt.Fprint(w, `{"node":"a","summary":{"start_ups":{"measured":3},"causes":[]}}`)
	})
	got, err := c.Workload(t.Context(), "shop", "Deployment", "web", "old", "new")
	if err != nil || got.Summary.StartUps.Measured != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Workload(t.Context(), "shop", "Deployment", "web"); !errors.Is(err, ErrNotAnAgent) {
		t.Errorf("a response without a summary: %v", err)
	}
	const path = "/proxy/api/v1/workloads/shop/Deployment/web"
	if len(requested) != 2 || requested[0] != path+"?revision=old%2Cnew" || requested[1] != path {
		t.Errorf("requests %q", requested)
	}
}

func TestPhases(t *testing.T) {
	responses := []string{`{"items":[{"phase":"pull","cause":"registry","text":"x"}]}`, `{}`}
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/proxy/api/v1/phases" {
			t.Errorf("requested %s", r.URL)
		}
		fmt.Fprint(w, responses[0])
		responses = responses[1:]
	})
	if got, err := c.Phases(t.Context()); err != nil || len(got.Items) != 1 || got.Items[0].Text != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Phases(t.Context()); !errors.Is(err, ErrNotAnAgent) {
		t.Errorf("a response without phases: %v", err)
	}
}

func TestPulls(t *testing.T) {
	var requested string
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		requested = r.URL.String()
		fmt.Fprint(w, `{"items":[],"recent":[{"pod":"web-0"}]}`)
	})
	got, err := c.Pulls(t.Context(), "shop")
	if err != nil || len(got.Recent) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if want := "/proxy/api/v1/pulls?limit=500&namespace=shop"; requested != want {
		t.Errorf("requested %s, want %s", requested, want)
	}
}

func TestRefusal(t *testing.T) {
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"not_found","reason":"no pod"}`)
	})
	_, err := c.Pod(t.Context(), "a", "b")
	var refused *Refusal
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound || refused.Word != "not_found" ||
		refused.Reason != "no pod" {
		t.Errorf("%v", err)
	}
	if err := c.Follow(t.Context(), Filter{}, func(Event) error { return nil }); !errors.As(err, &refused) {
		t.Errorf("follow: %v", err)
	}
	for server, want := range map[string]string{"": "must be http://HOST:PORT",
		"localhost:9717": "must be http://HOST:PORT", ":": "must be http://HOST:PORT"} {
		if _, err := (Client{Server: server}).Node(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", server, err)
		}
	}
}

// TestRefusalOfTheAPIServer distinguishes errors of the API server's proxy from errors of the agent behind the
// proxy.
func TestRefusalOfTheAPIServer(t *testing.T) {
	c := startAgent(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(
			w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is `+
				`forbidden\u001b[2J","reason":"Forbidden","code":403}`,
		)
	})
	_, err := c.Node(t.Context())
	var refused *Refusal
	if !errors.As(err, &refused) || !refused.Kubernetes || refused.Word != "Forbidden" ||
		err.Error() != `the API server responded: "pods is forbidden\x1b[2J"` {
		t.Errorf("%v", err)
	}
}

// TestCredentials sends a token or a password with every request, and checks which kind of credentials the Refusal
// reports as required.
func TestCredentials(t *testing.T) {
	var shown, challenge, body string
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		shown = r.Header.Get("Authorization")
		if challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, body)
	})
	withPassword := strings.Replace(c.Server, "http://", "http://me:secret@", 1)
	for _, test := range []struct {
		server, token, challenge, body string
		shown, wants, says             string
	}{
		{c.Server, "", "", "{}", "", "", ""},
		{c.Server, "a-token", "", "{}", "Bearer a-token", "", ""},
		{withPassword, "", "", "{}", "Basic bWU6c2VjcmV0", "", ""},
		{withPassword, "a-token", "", "{}", "Bearer a-token", "", ""},
		{withPassword, "", "", "<html>", "Basic bWU6c2VjcmV0", "",
			"check that a podlapse agent listens at this address"},
		{c.Server, "", "Bearer", `{"reason":"show a token"}`, "", SchemeBearer, "show a token"},
		{c.Server, "a-token", `Bearer error="invalid_token"`, `{"reason":"nobody's"}`, "Bearer a-token", SchemeBearer,
			"nobody's"},
		{c.Server, "", "Basic", "Unauthorized", "", SchemeBasic, "requires a valid password"},
	} {
		c.Server, c.Token, challenge, body = test.server, test.token, test.challenge, test.body
		_, err := c.Node(t.Context())
		if shown != test.shown || (err == nil) != (test.says == "") {
			t.Errorf("%+v: shown %q, %v", test, shown, err)
		}
		if err == nil {
			continue
		}
		var refused *Refusal
		if errors.As(err, &refused) != (challenge != "") || refused != nil &&
			(refused.Scheme != test.wants || refused.Status != http.StatusUnauthorized) {
			t.Errorf("%+v: %+v", test, err)
		}
		if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "a-token") {
			t.Errorf("%+v: got error %q", test, err)
		}
	}
}

// TestOtherServers queries servers that are not agents.
func TestOtherServers(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "the response contains no list", `null`: "the response contains no list",
		`{"items":[],"continue":"x"}`:             "the list has no last page",
		`{"items":[{"name":"a"}],"continue":"x"}`: "the list has no last page",
	} {
		c := startAgent(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		var err error
		for _, err = range c.Pods(t.Context(), Filter{}) {
		}
		if !errors.Is(err, ErrNotAnAgent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
		if _, err := c.Pod(t.Context(), "a", "b"); !errors.Is(err, ErrNotAnAgent) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := startAgent(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{}`)
	}).Pulls(t.Context()); !errors.Is(err, ErrNotAnAgent) {
		t.Error(err)
	}
	pages := 0
	c := startAgent(t, func(w http.ResponseWriter, _ *http.Request) {
		pages++
		fmt.Fprintf(w, `{"items":[%s{"name":"a"}],"continue":"%d"}`, strings.Repeat(`{"name":"a"},`, 999), pages)
	})
	reports := 0
	var err error
	for _, err = range c.Pods(t.Context(), Filter{}) {
		reports++
	}
	if !errors.Is(err, ErrNotAnAgent) || reports != maxRecords+1 {
		t.Errorf("reported %d times, %v", reports, err)
	}
}

func TestObjects(t *testing.T) {
	const list = `{"kind":"PodList","items":[]}`
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		if want := "/proxy/api/v1/objects/pods?labelSelector=app%3Dweb&namespace=shop"; r.URL.String() != want {
			t.Errorf("requests %s, want %s", r.URL, want)
		}
		fmt.Fprint(w, list)
	})
	got, err := c.Objects(t.Context(), Filter{Namespaces: []string{"shop"}, LabelSelector: "app=web"})
	if err != nil || string(got) != list {
		t.Errorf("%s, %v", got, err)
	}
}

// endlessAgent is a transport whose responses have no length and no end.
type endlessAgent struct{}

func (endlessAgent) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.NopCloser(repeated(strings.Repeat(" ", 1<<20)))
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: body}, nil
}

type repeated string

func (r repeated) Read(p []byte) (int, error) { return copy(p, r), nil }

func TestEndlessResponse(t *testing.T) {
	c := Client{Server: "http://agent.invalid", HTTP: &http.Client{Transport: endlessAgent{}}}
	if _, err := c.Node(t.Context()); err == nil || !strings.Contains(err.Error(), "exceeds 67108864 bytes") {
		t.Errorf("got %v", err)
	}
}
