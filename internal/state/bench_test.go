package state

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// BenchmarkSave saves a change on a node with twenty starting pods and a hundred reported pods.
func BenchmarkSave(b *testing.B) {
	for _, whole := range []bool{false, true} {
		b.Run(map[bool]string{false: "append", true: "replace"}[whole], func(b *testing.B) {
			d, err := Open(b.TempDir(), "node-1", zap.NewNop())
			if err != nil {
				b.Fatal(err)
			}
			k, err := d.NewSaver(Config{Node: "node-1", Header: recording.Header{Scope: timeline.Scope{Since: created}},
				Now:    created.Local,
				Report: func(bool, string) {}, Registerer: prometheus.NewRegistry(), Logger: zap.NewNop()})
			if err != nil {
				b.Fatal(err)
			}
			for i := range 100 {
				k.Reported(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
			}
			for i := range 20 {
				uid := fmt.Sprintf("pod-%d", i)
				k.Observe(seen(uid, 1, ""), true)
				for n := range 10 {
					k.Observe(event(uid, float64(n), "app"), true)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				k.Observe(seen("pod-1", 2, "latest"), false)
				if whole {
					k.size = 0
				}
				if err := k.save(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeep measures the calls for which package reconcile waits.
func BenchmarkKeep(b *testing.B) {
	d, err := InMemory(nil, "node-1", func([]byte) {})
	if err != nil {
		b.Fatal(err)
	}
	k, err := d.NewSaver(Config{Node: "node-1", Now: created.Local,
		Report: func(bool, string) {}, Registerer: prometheus.NewRegistry(), Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k.Observe(seen("pod-1", 2, "latest"), i == 0)
	}
}
