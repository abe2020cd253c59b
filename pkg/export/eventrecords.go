package export

import "github.com/podlapse/podlapse/pkg/timeline"

// eventRecords is nil when there are none. Messages have no credentials and no words of containers
// any more: see package redact.
func eventRecords(said []timeline.Said) []EventRecord {
	if len(said) == 0 {
		return nil
	}
	return convert(said, func(s timeline.Said) EventRecord {
		return EventRecord{At: instantOf(s.At), Container: s.Container, Reason: s.Reason, Message: s.Message}
	})
}
