package runtimeproxy

import (
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/podlapse/podlapse/internal/critest"
)

// BenchmarkCall compares calls to a fake runtime with the same calls through a proxy, both over real sockets. The
// metric p99-us is the 99th percentile of the durations of the calls, in microseconds.
func BenchmarkCall(b *testing.B) {
	runtime := filepath.Join(b.TempDir(), "r.sock")
	startRuntime(b, runtime)
	ways := map[string]*grpc.ClientConn{"direct": connect(b, runtime), "proxy": connect(b, serve(b, runtime).path)}
	for _, method := range []string{"/runtime.v1.RuntimeService/Version", "/runtime.v1.RuntimeService/ContainerStatus",
		"/containerd.services.content.v1.Content/Read"} {
		for _, way := range []string{"direct", "proxy"} {
			b.Run(path.Base(method)+"/"+way, func(b *testing.B) {
				b.ReportAllocs()
				var took []time.Duration
				for b.Loop() {
					begun := time.Now()
					if _, err := call(b.Context(), ways[way], method, critest.Requests()[method]); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			})
		}
	}
}
