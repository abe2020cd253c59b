package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// A start-up counts as reported after every sink has finished the start-up. The sinks can finish in any order.
func TestReportsWaitForAllSinks(t *testing.T) {
	of := func(uid string) timeline.Timeline { return timeline.Timeline{UID: uid} }
	for sinks := range 3 {
		var reported []string
		r := newDeliveries(func(tl timeline.Timeline) { reported = append(reported, tl.UID) })
		var through []func(timeline.Timeline)
		for range sinks {
			through = append(through, r.addSink())
		}
		for _, uid := range []string{"a", "b"} {
			r.receive(of(uid))
		}
		for i, done := range through {
			if len(reported) > 0 {
				t.Errorf("%d sinks: %q reported after only %d of them", sinks, reported, i)
			}
			done(of("b"))
			if i == 1 {
				done(of("a"))
			}
		}
		if want := [][]string{{"a", "b"}, {"b"}, {"b"}}[sinks]; !slices.Equal(reported, want) {
			t.Errorf("%d sinks: reported %q, want %q", sinks, reported, want)
		}
	}
}

// TestDeliveriesAcceptSameStartUpAgain reports a start-up twice, as for a static pod whose mirror was recreated. The
// second report also waits for all sinks.
func TestDeliveriesAcceptSameStartUpAgain(t *testing.T) {
	reported := 0
	r := newDeliveries(func(timeline.Timeline) { reported++ })
	one, other := r.addSink(), r.addSink()
	for round := range 3 {
		one(timeline.Timeline{UID: "a"})
		if reported != round || len(r.missing) != 1 {
			t.Errorf("round %d: reported %d times after one sink, %d sinks missing", round, reported, len(r.missing))
		}
		other(timeline.Timeline{UID: "a"})
		if reported != round+1 || len(r.missing) != 0 {
			t.Errorf("round %d: reported %d times, %d sinks missing", round, reported, len(r.missing))
		}
	}
}

// If the collector was unreachable or the agent was killed, the next agent sends each trace exactly once.
func TestUnsentTracesAreSentByNextAgent(t *testing.T) {
	for _, records := range []string{recordsNone, recordsTimeline} {
		for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(records+" "+end.String(), func(t *testing.T) {
				address := agentstest.ClosedAddress(t)
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
				cluster := podwatchtest.Start(t)
				pod := web0(time.Now().Add(-3 * time.Second))
				cluster.Put(pod)
				stateDir := filepath.Join(t.TempDir(), "state")
				flags := []string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off",
					"--events", "off",
					"--state-dir", stateDir, "--records", records}
				agent := start(t, flags...)
				written := agent.collectRecords()
				agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
				cluster.Put(readyPod(pod, time.Now()))
				agent.pollUntil("/metrics", `podlapse_pod_startups_total{state="ready"} 1`)
				if records == recordsTimeline {
					agent.pollUntil("/metrics", `podlapse_sink_sent_total{sink="records"} 1`)
				}
				awaitInFiles(t, stateDir, `"ready":true`)
				agent.signal(end)
				agent.wait()
				before := written()

				sent := &collector{metrics: map[string]bool{}}
				listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: sent}}
				server.Start()
				defer server.Close()
				agent = start(t, flags...)
				written = agent.collectRecords()
				if root := sent.awaitRootSpan(t); root.Name != "pod startup shop/web-0" {
					t.Errorf("got %s", root.Name)
				}
				agent.pollUntil("/metrics", `podlapse_sink_sent_total{sink="otlp"} 1`)
				agent.mustEndCleanly()
				again := written()
				if records == recordsTimeline && (len(before) != 1 || len(again) != 1 || before[0].ID != again[0].ID) {
					t.Errorf("records %+v, then %+v; want one each with the same ID", before, again)
				}

				agent = start(t, flags...)
				written = agent.collectRecords()
				agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
				agent.mustEndCleanly()
				sent.mu.Lock()
				defer sent.mu.Unlock()
				if rest := written(); len(rest)+len(sent.spans) > 0 {
					t.Errorf("reported again: %+v, %d spans", rest, len(sent.spans))
				}
			})
		}
	}
}

// If a collector refuses a trace, the agent drops and counts the trace. The next agent does not send the trace again.
func TestRefusedTracesAreNotRetried(t *testing.T) {
	var requested int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/traces") {
			requested++ // no lock, because the only sink sends one request at a time
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	flags := []string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--state-dir", filepath.Join(t.TempDir(), "state"), "--records", recordsNone}
	agent := start(t, flags...)
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	cluster.Put(readyPod(pod, time.Now()))
	agent.pollUntil("/metrics", `podlapse_sink_dropped_total{sink="otlp"} 1`)
	agent.mustEndCleanly()
	agent = start(t, flags...)
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	agent.mustEndCleanly()
	server.Close()
	if requested != 1 {
		t.Errorf("requested %d times", requested)
	}
}
