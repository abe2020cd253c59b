package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/pkg/podwatch/podwatchtest"
)

// BenchmarkScrape scrapes an agent with 500 pods that all start, as after a node's reboot, and with as many that run. Package
// export has a benchmark of the same with every value of every label.
func BenchmarkScrape(b *testing.B) {
	const pods = 500
	for name, start := range map[string]bool{"starting": true, "running": false} {
		b.Run(name, func(b *testing.B) {
			cluster := podwatchtest.Start(b)
			for i := range pods {
				pod := web0(time.Now().Add(-time.Minute))
				pod.Name, pod.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint("uid-web-", i))
				if !start {
					pod = ready(pod, time.Now().Add(-30*time.Second))
				}
				cluster.Put(pod)
			}
			agent := startInside(b, cluster, "--cri-endpoint=off", "--events=off")
			defer agent.stop()
			if start {
				agent.await(b, "podlapse_pods_starting", pods)
			} else {
				agent.await(b, "podlapse_evidence_reconstructed_total", pods)
			}
			handler := promhttp.HandlerFor(agent.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
			bytes := 0
			for b.Loop() {
				b.StopTimer()
				time.Sleep(100 * time.Millisecond) // scrapes are far apart: nothing is left of what the one before worked out
				b.StartTimer()
				request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil)
				request.Header.Set("Accept-Encoding", "gzip")
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				bytes = answer.Body.Len()
			}
			b.ReportMetric(float64(bytes), "gzip-B")
		})
	}
}
