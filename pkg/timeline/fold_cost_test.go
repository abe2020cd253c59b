//go:build unix

package timeline

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/cputimetest"
)

// TestFoldCostGrowsLinearlyWithContainers compares two pods. The second pod has four times as many containers, and all
// containers fail. The fold of the second pod must take less than twelve times as much CPU time. A search for each
// container among all containers would take at least sixteen times as much.
func TestFoldCostGrowsLinearlyWithContainers(t *testing.T) {
	fastest := func(containers int) time.Duration {
		e, least := fullEvidence(containers), time.Duration(1<<62)
		for range 7 {
			begun := cputimetest.Used(t)
			e.fold(at(base.Add(time.Hour)), Skew{})
			least = min(least, cputimetest.Used(t)-begun)
		}
		return least
	}
	few, many := fastest(maxContainers/4), fastest(maxContainers)
	t.Logf("%s for %d containers, %s for %d", few, maxContainers/4, many, maxContainers)
	if many > 12*few {
		t.Errorf("%d containers take %s, %d take %s", maxContainers/4, few, maxContainers, many)
	}
}
