package export

import "github.com/podlapse/podlapse/pkg/timeline"

// eventRecords returns nil if there are none. Package redact has already removed credentials and
// container output from the messages.
func eventRecords(messages []timeline.EventMessage) []EventRecord {
	if len(messages) == 0 {
		return nil
	}
	return convert(messages, func(s timeline.EventMessage) EventRecord {
		return EventRecord{At: instantOf(s.At), Container: s.Container, Reason: s.Reason, Message: s.Message}
	})
}
