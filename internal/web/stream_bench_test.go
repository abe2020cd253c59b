//go:build unix

package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/cputimetest"
	"github.com/podlapse/podlapse/internal/live/livetest"
	"github.com/podlapse/podlapse/internal/startuptest"
)

// BenchmarkStream measures one second with 500 pods, 20 changes, and five viewers over TCP. The result is the CPU
// time of the whole process, including the viewers, as a share of one core.
func BenchmarkStream(b *testing.B) {
	c := livetest.New()
	f := &fake{timelines: startUps(0, 500)}
	config := f.config()
	config.API.Live = c.Hub
	server := httptest.NewServer(handlerOf(config))
	defer server.Close()
	ctx, stop := context.WithCancel(b.Context())
	var parts sync.WaitGroup
	parts.Go(func() { _ = c.Hub.Run(ctx) })
	bytes := make(chan int64, 5)
	for range 5 {
		parts.Go(func() {
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/stream", nil)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				b.Error(err)
				return
			}
			n, _ := io.Copy(io.Discard, response.Body)
			response.Body.Close()
			bytes <- n
		})
	}
	time.Sleep(time.Second)
	n, before, began := 0, cputimetest.Used(b), time.Now()
	for b.Loop() { // one second
		for range 20 {
			c.Set(startuptest.Changed(f.timelines[n%len(f.timelines)], n))
			n++
			time.Sleep(50 * time.Millisecond)
		}
	}
	b.ReportMetric(100*(cputimetest.Used(b)-before).Seconds()/time.Since(began).Seconds(), "%core")
	stop()
	parts.Wait()
	http.DefaultClient.CloseIdleConnections()
	b.ReportMetric(float64(<-bytes)/float64(n), "bytes/change")
}
