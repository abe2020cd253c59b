package export

import (
	"flag"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/podlapse/podlapse/internal/startuptest"
)

var update = flag.Bool("update", false, "rewrite the files in testdata; read the difference by eye")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// after returns an instant relative to the creation of the pods of startuptest.
func after(d time.Duration) time.Time { return startuptest.After(d) }

func gather(t testing.TB, registry *prometheus.Registry) []*dto.MetricFamily {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}
