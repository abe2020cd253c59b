package export

import (
	"strings"
	"testing"
)

// elsewhere lists, by the beginning of their names, the metrics that other packages register, and how many series each
// may have.
var elsewhere = map[string]int{
	"podlapse_history_":                       1,
	"podlapse_stream_":                        1,
	"podlapse_apiserver_":                     9, // by resource and verb
	"podlapse_event_watches_":                 1,
	"podlapse_event_watch_open_seconds_total": 1,
	"podlapse_event_watch_waiting_pods":       1,
	"podlapse_events_received_total":          1,
	"podlapse_events_used_total":              1,
	"podlapse_events_refused_total":           3, // by reason
}

// fromElsewhere returns how many series each metric of another package may have.
func fromElsewhere(t *testing.T) map[string]int {
	t.Helper()
	series := map[string]int{}
	for name, labels := range documented(t) {
		for beginning, most := range elsewhere {
			if !strings.HasPrefix(name, beginning) {
				continue
			}
			if series[name] = most; labels != "" && most == 1 {
				t.Errorf("%s has labels %s, which nobody counts", name, labels)
			}
		}
	}
	return series
}
