//go:build unix

package whatif

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/cputimetest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// largePod returns the start-up of a pod with 32 sidecars and 31 main containers. Every container has a probe.
func largePod() api.Record {
	parts := []part{{timeline.PhaseSandbox, "", 1}}
	const sidecars, containers = 32, 63
	name := func(i int) string { return fmt.Sprint("c", i) }
	for i := range containers {
		parts = append(parts, part{timeline.PhasePull, name(i), 1}, part{timeline.PhaseContainerCreate, name(i), 0.1},
			part{timeline.PhaseContainerStart, name(i), 0.1})
		if i < sidecars {
			parts = append(parts, part{timeline.PhaseStartupProbe, name(i), 5},
				part{timeline.PhaseKubeletSync, name(i), 0.1})
		}
	}
	r := invented(append(parts, part{timeline.PhaseReadinessProbe, name(containers - 1), 5})...)
	for i := range containers {
		if i < sidecars {
			r.Pulls[i].Kind = timeline.KindSidecar
			r = probed(r, name(i), timeline.ProbeStartup, 10*time.Second)
		} else {
			r = probed(r, name(i), timeline.ProbeReadiness, 10*time.Second)
		}
	}
	return r
}

// TestCostOfLargePods compares the CPU time of the predictions with the CPU time to read the record, because both
// depend on the machine. If the model scanned all phases for each change, each container and each earlier sidecar, the
// predictions would take about 100 times as long as reading the record.
func TestCostOfLargePods(t *testing.T) {
	record := largePod()
	s, ok := newStartUp(&record)
	if !ok {
		t.Fatal("the start-up has no predictions")
	}
	gains := 0
	for _, c := range s.candidateChanges() {
		if _, ok := s.gainOf(c); ok && c.canSave() {
			gains++
		}
	}
	if gains < 34 { // the images, the last readiness probe, and the startup probes of 32 sidecars
		t.Errorf("only %d changes have a gain", gains)
	}
	const reads = 40
	read, predict := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 10 {
		began := cputimetest.Used(t)
		for range reads {
			newStartUp(&record)
		}
		read = min(read, cputimetest.Used(t)-began)
		began = cputimetest.Used(t)
		Predict(record)
		predict = min(predict, cputimetest.Used(t)-began)
	}
	if predict > read {
		t.Errorf("the predictions take %s, and reading the record %d times takes %s", predict, reads, read)
	}
}

func BenchmarkLargePod(b *testing.B) {
	record := largePod()
	b.ReportAllocs()
	for b.Loop() {
		Predict(record)
	}
}
