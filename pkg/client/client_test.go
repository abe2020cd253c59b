package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is a server with the test's answer for each request.
func agent(t *testing.T, answer http.HandlerFunc) Client {
	t.Helper()
	server := httptest.NewServer(answer)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return Client{Server: server.URL + "/proxy/", HTTP: &http.Client{Transport: transport}}
}

func TestPodsOfSeveralPages(t *testing.T) {
	var asked []string
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
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
	const first = "/proxy/api/v1/pods?gone=true&labelSelector=app%3Dweb&name=web-%2A&namespace=x%2Cy&owner=Deployment%2Fweb&phase=pull&" +
		"since=1970-01-01T00%3A00%3A00Z&slower-than=1m0s&state=ready"
	if names != "abc" || len(asked) != 2 || asked[0] != first ||
		asked[1] != strings.Replace(first, "?", "?continue=t&", 1) {
		t.Errorf("%s, asked %q", names, asked)
	}
	for _, err := range c.Pods(t.Context(), Filter{}) {
		if err != nil {
			t.Error(err)
		}
		break // one page is enough
	}
	if len(asked) != 3 {
		t.Errorf("requests %q", asked)
	}
}

func TestRefusal(t *testing.T) {
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
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

// TestRefusalOfTheAPIServer distinguishes the API server's proxy from the agent behind it.
func TestRefusalOfTheAPIServer(t *testing.T) {
	c := agent(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(
			w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is forbidden\u001b[2J","reason":"Forbidden","code":403}`,
		)
	})
	_, err := c.Node(t.Context())
	var refused *Refusal
	if !errors.As(err, &refused) || !refused.Kubernetes || refused.Word != "Forbidden" ||
		err.Error() != `the API server says: "pods is forbidden\x1b[2J"` {
		t.Errorf("%v", err)
	}
}

// TestFollowResumes breaks the connection: the next one continues after the last event, and starts again when the
// agent sends a reset.
func TestFollowResumes(t *testing.T) {
	var streams atomic.Int32
	var lastIDs [3]string
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/stream") {
			if r.URL.Query().Get("gone") != "false" {
				t.Errorf("requests %s", r.URL)
			}
			fmt.Fprint(w, `{"items":[{"name":"listed"}]}`)
			return
		}
		n := streams.Add(1)
		lastIDs[n-1] = r.Header.Get("Last-Event-ID")
		switch n {
		case 1:
			fmt.Fprint(w, "retry: 1\n\n: hello\n\nid: e-1\nevent: reset\ndata: {}\n\nid: e-2\nevent: pod\ndata: "+
				"{\"name\":\"new\"}\n\n"+
				"id: e-3\nevent: of another time\ndata: ?\n\nid: e-4\nevent: pod\ndata: {\"name\":\"half")
		case 2:
			fmt.Fprint(w, "id: e-4\nevent: pulls\ndata: {\"items\":[{\"image\":\"i\"}]}\n\nid: f-0\nevent: "+
				"reset\ndata: {}\n\n")
		default:
			fmt.Fprint(w, "id: f-1\nevent: gone\ndata: {\"name\":\"new\"}\n\n")
		}
	})
	done := errors.New("done")
	var seen []string
	err := c.Follow(t.Context(), Filter{Gone: new(true)}, func(e Event) error {
		seen = append(seen, e.Kind+e.Record.Name+e.Pod.Name)
		if e.Kind == KindPulls && (len(e.Pulls) != 1 || e.Pulls[0].Image != "i") {
			t.Errorf("%+v", e)
		}
		if e.Kind == KindGone {
			return done
		}
		return nil
	})
	want := "open reset podlisted podnew broken open pulls reset podlisted broken open gonenew"
	if !errors.Is(err, done) || strings.Join(seen, " ") != want {
		t.Errorf("%v, %q; want %s", err, seen, want)
	}
	if lastIDs != [3]string{"", "e-2", "f-0"} {
		t.Errorf("resumed from %q", lastIDs)
	}
}

// TestFollowRetriesAfterTooManyRequests is refused with a temporary error.
func TestFollowRetriesAfterTooManyRequests(t *testing.T) {
	asked := 0
	c := agent(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":"too_many_requests","reason":"ask less often"}`)
			return
		}
		fmt.Fprint(w, "id: e-1\nevent: gone\ndata: {}\n\n")
	})
	done := errors.New("done")
	if err := c.Follow(t.Context(), Filter{}, func(e Event) error {
		if e.Kind == KindGone {
			return done
		}
		return nil
	}); !errors.Is(err, done) || asked != 2 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

// TestCredentials sends a token or a password with every request, and reports which one the server requires.
func TestCredentials(t *testing.T) {
	var shown, challenge, body string
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
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
		{withPassword, "", "", "<html>", "Basic bWU6c2VjcmV0", "", "is this a podlapse agent?"},
		{c.Server, "", "Bearer", `{"reason":"show a token"}`, "", WantsToken, "show a token"},
		{c.Server, "a-token", `Bearer error="invalid_token"`, `{"reason":"nobody's"}`, "Bearer a-token", WantsToken,
			"nobody's"},
		{c.Server, "", "Basic", "Unauthorized", "", WantsPassword, "requires a valid password"},
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
			(refused.Requests != test.wants || refused.Status != http.StatusUnauthorized) {
			t.Errorf("%+v: %+v", test, err)
		}
		if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "a-token") {
			t.Errorf("%+v: says %q", test, err)
		}
	}
}

func TestFollowReturnsWhenContextEnds(t *testing.T) {
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Follow(ctx, Filter{}, func(Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add("id: a\nevent: pod\ndata: {}\n\n:\n\ndata\ndata: x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := frames{lines: bufio.NewScanner(strings.NewReader(text))}
		for {
			got, err := r.next(func() {})
			if err != nil {
				return
			}
			if strings.Contains(got.id+got.kind, "\n") || got.data == nil {
				t.Errorf("%+v", got)
			}
		}
	})
}

// TestOtherServers queries servers that are not agents.
func TestOtherServers(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "it contains no list", `null`: "it contains no list",
		`{"items":[],"continue":"x"}`:             "the list does not end",
		`{"items":[{"name":"a"}],"continue":"x"}`: "the list does not end",
	} {
		c := agent(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
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
	if _, err := agent(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{}`)
	}).Pulls(t.Context()); !errors.Is(err, ErrNotAnAgent) {
		t.Error(err)
	}
	pages := 0
	c := agent(t, func(w http.ResponseWriter, _ *http.Request) {
		pages++
		fmt.Fprintf(w, `{"items":[%s{"name":"a"}],"continue":"%d"}`, strings.Repeat(`{"name":"a"},`, 999), pages)
	})
	told := 0
	var err error
	for _, err = range c.Pods(t.Context(), Filter{}) {
		told++
	}
	if !errors.Is(err, ErrNotAnAgent) || told != maxRecords+1 {
		t.Errorf("told %d times, %v", told, err)
	}
}

func TestObjects(t *testing.T) {
	const list = `{"kind":"PodList","items":[]}`
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
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

// TestFollowSilentAgent ends a connection without data and returns the reason. Time is simulated, and no server runs.
func TestFollowSilentAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, silent := range map[string]roundTripper{
			"before its answer": func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			"after it": func(r *http.Request) (*http.Response, error) {
				body, w := io.Pipe()
				context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
				return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
			},
		} {
			began, done := time.Now(), errors.New("done")
			var why error
			err := Client{Server: "http://agent", HTTP: &http.Client{Transport: silent}}.Follow(t.Context(), Filter{},
				func(e Event) error {
					if e.Kind == KindBroken {
						why = e.Err
						return done
					}
					return nil
				})
			if !errors.Is(err, done) || fmt.Sprint(why) != "the agent sent nothing for 45s" ||
				time.Since(began) != silence {
				t.Errorf("%s: %v, after %s because %v", name, err, time.Since(began), why)
			}
		}
	})
}

// A slow callback must not look like a silent agent.
func TestFollowWithSlowCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := 0
		agent := roundTripper(func(r *http.Request) (*http.Response, error) {
			streams++
			body, w := io.Pipe()
			context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
			go func() { // ends with the connection; writes block until they are read
				fmt.Fprint(w, "id: e-1\nevent: pulls\ndata: {}\n\n")
				fmt.Fprint(w, "id: e-2\nevent: gone\ndata: {}\n\n")
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
		})
		done := errors.New("done")
		err := Client{Server: "http://agent", HTTP: &http.Client{Transport: agent}}.Follow(t.Context(), Filter{},
			func(e Event) error {
				time.Sleep(2 * silence)
				switch e.Kind {
				case KindGone:
					return done
				case KindBroken:
					return e.Err
				}
				return nil
			})
		if !errors.Is(err, done) || streams != 1 {
			t.Errorf("%v, after %d connections", err, streams)
		}
	})
}

// After a list that failed, TestFollowListsAgain starts again: earlier events are no position to resume from.
func TestFollowListsAgain(t *testing.T) {
	var streams, lists atomic.Int32
	lastIDs := make(chan string, 3)
	c := agent(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/stream") {
			if lists.Add(1) == 2 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			fmt.Fprint(w, `{"items":[]}`)
			return
		}
		lastIDs <- r.Header.Get("Last-Event-ID")
		fmt.Fprintf(w, "id: e-%d\nevent: reset\ndata: {}\n\n", streams.Add(1))
	})
	done := errors.New("done")
	resets := 0
	if err := c.Follow(t.Context(), Filter{}, func(e Event) error {
		if e.Kind == KindReset {
			if resets++; resets == 2 {
				return done
			}
		}
		return nil
	}); !errors.Is(err, done) {
		t.Error(err)
	}
	if got := <-lastIDs + " " + <-lastIDs + " " + <-lastIDs; got != " e-1 " {
		t.Errorf("resumed from %q", got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
