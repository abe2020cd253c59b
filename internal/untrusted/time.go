package untrusted

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lastSecond is the last second that RFC 3339 can express. An object in protobuf can contain a later timestamp than
// lastSecond.
var lastSecond = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()

// Time converts a timestamp of an object to UTC. Time returns zero if the timestamp is absent, is not after the
// epoch, or is after the year 9999.
func Time(t metav1.Time) time.Time {
	if t.Unix() <= 0 || t.Unix() > lastSecond {
		return time.Time{}
	}
	return t.UTC()
}
