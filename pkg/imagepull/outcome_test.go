package imagepull_test

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestIsPull checks that an attempt counts as a pull only if its outcome or one of its times shows a pull.
func TestIsPull(t *testing.T) {
	for outcome, want := range map[imagepull.Outcome]struct{ withoutTime, withTime bool }{
		imagepull.OutcomePresent:    {false, false},
		imagepull.OutcomeUnknown:    {false, true},
		imagepull.OutcomeVerified:   {true, true},
		imagepull.OutcomeJoined:     {true, true},
		imagepull.OutcomeDownloaded: {true, true},
		imagepull.OutcomeFailed:     {true, true},
		imagepull.OutcomePulling:    {true, true},
	} {
		if got := imagepull.IsPull(outcome, time.Time{}, time.Time{}); got != want.withoutTime {
			t.Errorf("%s without a known time: %t", outcome, got)
		}
		if got := imagepull.IsPull(outcome, time.Time{}, time.Unix(1, 0)); got != want.withTime {
			t.Errorf("%s with a known time: %t", outcome, got)
		}
	}
}
