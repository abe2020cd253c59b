package browser

import (
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
)

// Busy returns the share of a period in which the main thread of the tab was busy. Busy measures only the CPU time of
// the main thread. Other programs do not change the result. Chromium's software rendering does not change the result
// either, because it runs on other threads.
func (t *Tab) Busy(during time.Duration) (share float64, err error) {
	if _, err := runCommand(t, performance.Enable,
		performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		return 0, fmt.Errorf("measure the main thread: %w", err)
	}
	before, err := t.taskSeconds()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	time.Sleep(during)
	after, err := t.taskSeconds()
	if err != nil {
		return 0, err
	}
	return (after - before) / time.Since(began).Seconds(), nil
}

// taskSeconds returns the total time of all tasks of the main thread so far, in seconds.
func (t *Tab) taskSeconds() (float64, error) {
	response, err := runCommand(t, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, fmt.Errorf("measure the main thread: %w", err)
	}
	for _, m := range response.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("measure the main thread: the browser returned %d metrics, but the metric "+
		"\"TaskDuration\" is missing",
		len(response.Metrics))
}
