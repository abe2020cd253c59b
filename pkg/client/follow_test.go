package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollowResumes breaks the connection. The next connection must continue after the last event. If the agent sends
// a reset, the connection must begin with all current pods.
func TestFollowResumes(t *testing.T) {
	var streams atomic.Int32
	var lastIDs [3]string
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
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

// TestFollowRetriesAfterTooManyRequests responds to Follow's first request with a temporary error.
func TestFollowRetriesAfterTooManyRequests(t *testing.T) {
	requested := 0
	c := startAgent(t, func(w http.ResponseWriter, _ *http.Request) {
		if requested++; requested == 1 {
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
	}); !errors.Is(err, done) || requested != 2 {
		t.Errorf("%v after %d requests", err, requested)
	}
}

func TestFollowReturnsWhenContextEnds(t *testing.T) {
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
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
		r := frameReader{lines: bufio.NewScanner(strings.NewReader(text))}
		for {
			got, err := r.readEvent(func() {})
			if err != nil {
				return
			}
			if strings.Contains(got.id+got.kind, "\n") || got.data == nil {
				t.Errorf("%+v", got)
			}
		}
	})
}

// TestFollowSilentAgent checks that Follow closes a connection without data and returns the reason. Time is
// simulated, and no server runs.
func TestFollowSilentAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, silent := range map[string]roundTripper{
			"before its response": func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			"after its response": func(r *http.Request) (*http.Response, error) {
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
				time.Since(began) != maxSilence {
				t.Errorf("%s: %v, after %s because %v", name, err, time.Since(began), why)
			}
		}
	})
}

// TestFollowWithSlowCallback checks that a slow callback does not look like a silent agent.
func TestFollowWithSlowCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := 0
		agent := roundTripper(func(r *http.Request) (*http.Response, error) {
			streams++
			body, w := io.Pipe()
			context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
			go func() { // runs until the connection ends; writes block until the client reads
				fmt.Fprint(w, "id: e-1\nevent: pulls\ndata: {}\n\n")
				fmt.Fprint(w, "id: e-2\nevent: gone\ndata: {}\n\n")
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
		})
		done := errors.New("done")
		err := Client{Server: "http://agent", HTTP: &http.Client{Transport: agent}}.Follow(t.Context(), Filter{},
			func(e Event) error {
				time.Sleep(2 * maxSilence)
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

// TestFollowListsAgain makes a list request fail. Follow must then begin with a new list, because Follow cannot
// resume from earlier events.
func TestFollowListsAgain(t *testing.T) {
	var streams, lists atomic.Int32
	lastIDs := make(chan string, 3)
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
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
