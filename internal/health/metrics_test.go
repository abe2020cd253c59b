package health

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
)

func TestSourcesHaveMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	board := NewBoard(time.Now, zap.NewNop())
	board.Register("state", "") // the part is not a source
	podWatch := board.RegisterSource(registry, "pod_watch", "")
	board.RegisterSource(registry, "cri", "")
	for _, up := range []bool{true, false, true, false, true} {
		podWatch(up, "")
	}
	want := `# HELP podlapse_source_reconnects_total Number of times that a source of observations recovered ` +
		`from a failure. Excludes the first connection of the source. Also excludes watches that the agent ` +
		`reopened after a normal end.
# TYPE podlapse_source_reconnects_total counter
podlapse_source_reconnects_total{source="cri"} 0
podlapse_source_reconnects_total{source="pod_watch"} 2
# HELP podlapse_source_up Whether a source of observations works: 1 if the source works, 0 if not. Timelines are ` +
		`less precise while a source does not work.
# TYPE podlapse_source_up gauge
podlapse_source_up{source="cri"} 0
podlapse_source_up{source="pod_watch"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if statuses := board.Statuses(); len(statuses) != 3 || !statuses[1].Up || statuses[2].Part != "cri" {
		t.Errorf("%+v", statuses)
	}
}
