package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/client"
)

// deadFleet has agents that all respond in 100 ms, except the first agents, which never respond.
type deadFleet struct {
	agents []Agent
	dead   int

	mu        sync.Mutex
	now, most int // number of queries in progress, and the maximum of this number
}

// newDeadFleet returns a fleet. The argument "ready" states whether the pods of the dead agents are still ready.
func newDeadFleet(size, dead int, ready bool) *deadFleet {
	f := &deadFleet{dead: dead}
	for i := range size {
		f.agents = append(f.agents, Agent{Client: client.Client{Server: fmt.Sprint(i)}, Node: fmt.Sprint(i),
			Ready: i >= dead || ready, route: &route{forward: &http.Transport{}}})
	}
	return f
}

func (f *deadFleet) query(ctx context.Context, c client.Client) (string, error) {
	f.add(1)
	defer f.add(-1)
	var number int
	if _, err := fmt.Sscan(c.Server, &number); err != nil {
		return "", err
	}
	if number < f.dead {
		<-ctx.Done()
		return "", ctx.Err()
	}
	time.Sleep(100 * time.Millisecond)
	return c.Server, nil
}

func (f *deadFleet) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += n
	f.most = max(f.most, f.now)
}

// TestDeadAgentsDelayNoOthers uses 200 agents. The first 64 agents never respond. The time limits are the limits of the
// commands.
func TestDeadAgentsDelayNoOthers(t *testing.T) {
	const limit, perAgent = 30 * time.Second, 8 * time.Second
	for name, test := range map[string]struct {
		ready bool
		most  time.Duration // maximum time until the last healthy agent has responded
		all   time.Duration // maximum time until the end
	}{
		"not ready":   {false, 2 * time.Second, 7 * time.Second},
		"still ready": {true, 6 * time.Second, 13 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newDeadFleet(200, 64, test.ready)
				ctx, stop := context.WithTimeout(t.Context(), limit)
				defer stop()
				began, responded, late := time.Now(), 0, time.Duration(0)
				var mu sync.Mutex
				EachDone(ctx, f.agents, perAgent, f.query, func(i int, response Result[string]) {
					mu.Lock()
					defer mu.Unlock()
					if i < f.dead {
						unready := strings.Contains(fmt.Sprint(response.Err), "the agent's pod is not ready")
						if !errors.Is(response.Err, context.DeadlineExceeded) || unready == test.ready {
							t.Errorf("agent %d: %v", i, response.Err)
						}
						return
					}
					if response.Err != nil || response.Value != fmt.Sprint(i) {
						t.Errorf("agent %d: %q, %v", i, response.Value, response.Err)
					}
					responded, late = responded+1, time.Since(began)
				})
				if took := time.Since(began); responded != 136 || late > test.most || took > test.all {
					t.Errorf("%d agents responded within %s of %s", responded, late, took)
				}
				if f.most > AtOnce+maxSilent {
					t.Errorf("%d queries at once", f.most)
				}
			})
		})
	}
}

// TestQueriesAtOnce checks the limit of queries while all agents respond.
func TestQueriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDeadFleet(200, 0, true)
		Each(t.Context(), f.agents, time.Second, f.query)
		if f.most != AtOnce {
			t.Errorf("%d queries at once, want %d", f.most, AtOnce)
		}
	})
}

// TestSilentAgentsAreLimited uses more dead agents than slots for silent agents. After the end of the context, Each
// must not query further agents.
func TestSilentAgentsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDeadFleet(500, 500, true)
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		late := 0
		for _, response := range Each(ctx, f.agents, 20*time.Second, f.query) {
			if errors.Is(response.Err, ErrNotQueried) {
				late++
			}
		}
		if f.most != AtOnce+maxSilent || late != 500-2*(AtOnce+maxSilent) {
			t.Errorf("%d queries at once, %d agents were not queried", f.most, late)
		}
	})
}

// TestManyDeadAgents uses 800 agents, and the default time limits of the commands. The pods of the first 400 agents are
// ready, but these agents never respond. All other agents must respond.
func TestManyDeadAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDeadFleet(800, 400, true)
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		for i, response := range Each(ctx, f.agents, 8*time.Second, f.query) {
			if errors.Is(response.Err, ErrNotQueried) || (response.Err == nil) != (i >= f.dead) {
				t.Fatalf("agent %d: %v", i, response.Err)
			}
		}
	})
}

// TestLongestTime compares LongestTime with the time that Each needs.
func TestLongestTime(t *testing.T) {
	for _, limit := range []time.Duration{8 * time.Second, 20 * time.Second} {
		for _, dead := range []int{1, AtOnce, 100, 500} {
			synctest.Test(t, func(t *testing.T) {
				f, began := newDeadFleet(dead, dead, true), time.Now()
				Each(t.Context(), f.agents, limit, f.query)
				took, longest := time.Since(began), LongestTime(dead, limit)
				if took > longest || took < longest*2/3 {
					t.Errorf("%d agents, %s: took %s, LongestTime is %s", dead, limit, took, longest)
				}
			})
		}
	}
}

// TestSlowResponseIsNotSilence uses agents that respond immediately, and then take 5 s for the rest of the response.
// The number of queries must stay at AtOnce, because more responses at once would take even longer.
func TestSlowResponseIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDeadFleet(3*AtOnce, 0, true)
		for i := range f.agents {
			f.agents[i].Client = client.Client{Server: "http://agent", HTTP: &http.Client{Transport: emptyResponder{}}}
		}
		Each(t.Context(), f.agents, 8*time.Second, func(ctx context.Context, c client.Client) (int, error) {
			f.add(1)
			defer f.add(-1)
			if _, err := c.Node(ctx); err != nil {
				return 0, err
			}
			time.Sleep(5 * time.Second)
			return 0, nil
		})
		if f.most != AtOnce {
			t.Errorf("%d queries at once, want %d", f.most, AtOnce)
		}
	})
}

// emptyResponder is a transport that responds to each request with an empty object.
type emptyResponder struct{}

// RoundTrip implements http.RoundTripper.
func (emptyResponder) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: request, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("{}"))}, nil
}
