package kubeclient

import (
	"context"
	"net/http"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// clockReadings is the maximum length of the queue of clock readings. Run takes the readings from this queue. The queue
// is full only if many watches open at the same time. If the queue is full, the Clock drops new readings. Later
// responses provide more readings.
const clockReadings = 16

// Clock reads the API server's clock from the header Date of responses. Clock sends no requests.
type Clock struct {
	now      func() time.Time
	readings chan timeline.ClockSeen
}

// NewClock creates a Clock, which the caller passes to LoadConfig.
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

// Waiting returns the clock readings that Run has not taken from the queue yet, and empties the queue. Waiting does not
// block.
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
// starts the response. The API server starts the response to a watch immediately.
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
