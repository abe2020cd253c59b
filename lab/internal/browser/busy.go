package browser

import (
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
)

// Busy measures for how much of a time the tab's main thread was at work: the time of its tasks by the clock of the thread, so that other
// programs on the machine, and Chromium's own painting in software, which is on other threads, do not count.
func (t *Tab) Busy(during time.Duration) (share float64, err error) {
	if _, err := call(t, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		return 0, fmt.Errorf("measure the main thread: %w", err)
	}
	before, err := t.tasks()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	time.Sleep(during)
	after, err := t.tasks()
	if err != nil {
		return 0, err
	}
	return (after - before) / time.Since(began).Seconds(), nil
}

// tasks is the time of all tasks so far, in seconds.
func (t *Tab) tasks() (float64, error) {
	answer, err := call(t, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, fmt.Errorf("measure the main thread: %w", err)
	}
	for _, m := range answer.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("measure the main thread: no TaskDuration among %d metrics", len(answer.Metrics))
}
