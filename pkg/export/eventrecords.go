package export

import "github.com/podlapse/podlapse/pkg/timeline"

// eventRecords returns nil if there are none. Package redact has already removed credentials and
// container output from the messages.
func eventRecords(said []timeline.Said) []EventRecord {
	if len(said) == 0 {
		return nil
	}
	return convert(said, func(s timeline.Said) EventRecord {
		return EventRecord{At: instantOf(s.At), Container: s.Container, Reason: s.Reason, Message: s.Message}
	})
}
