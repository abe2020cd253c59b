package export

import (
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// eventRecords is nil when there are none.
func eventRecords(said []timeline.Said) []EventRecord {
	if len(said) == 0 {
		return nil
	}
	return convert(said, func(s timeline.Said) EventRecord {
		return EventRecord{At: instantOf(s.At), Container: s.Container, Reason: s.Reason, Message: eventMessage(s)}
	})
}

// quoting are the Events in which kubelet repeats what a container said, or the command that it was given: either can be a secret.
var quoting = []string{"Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook"}

// eventMessage is what kubelet itself said: of an Event that quotes, the words before.
func eventMessage(s timeline.Said) string {
	if !slices.Contains(quoting, s.Reason) {
		return s.Message
	}
	at := strings.IndexAny(s.Message, ":(")
	if at < 0 {
		return s.Message
	}
	return s.Message[:at+1] + " …"
}
