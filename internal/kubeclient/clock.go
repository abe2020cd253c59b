package kubeclient

import (
	"context"
	"net/http"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// clockReadings is the maximum number of clock readings that wait for Run. The number of waiting readings reaches the
// maximum only if many watches open at the same time. At the maximum, the Clock drops new readings, because later
// responses will provide more readings.
const clockReadings = 16

// Clock reads the API server's clock from the header Date of responses. Clock sends no requests.
type Clock struct {
	now      func() time.Time
	readings chan timeline.ClockSeen
}

// NewClock creates a Clock for LoadConfig.
func NewClock(now func() time.Time) *Clock {
	return &Clock{now, make(chan timeline.ClockSeen, clockReadings)}
}

// Run passes each clock reading to the function "observe". Run returns nil when ctx is done.
func (c *Clock) Run(ctx context.Context, observe func(context.Context, timeline.Observation)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case reading := <-c.readings:
			observe(ctx, reading)
		}
	}
}

// Waiting returns the readings that still wait for Run, and removes them from the Clock. The method does not block.
func (c *Clock) Waiting() []timeline.ClockSeen {
	var readings []timeline.ClockSeen
	for {
		select {
		case reading := <-c.readings:
			readings = append(readings, reading)
		default:
			return readings
		}
	}
}

// read wraps a transport and reads the header Date of each response. The API server writes the header Date when it
// starts the response. For a watch, the response starts immediately.
func (c *Clock) read(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		sentAt := c.now()
		response, err := next.RoundTrip(request)
		if err != nil {
			return response, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil && date.Unix() > 0 {
			select {
			case c.readings <- timeline.ClockSeen{SentAt: sentAt, ArrivedAt: c.now(), ControlPlaneAt: date.UTC()}:
			default:
			}
		}
		return response, nil
	})
}
