package export

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podlapse/podlapse/internal/startuptest"
)

var update = flag.Bool("update", false, "rewrite the files in testdata; read the difference by eye")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// after returns an instant relative to the creation of the pods of startuptest.
func after(d time.Duration) time.Time { return startuptest.After(d) }
