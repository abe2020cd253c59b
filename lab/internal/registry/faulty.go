package registry

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// errReset tells the handler of a request that the registry has reset the connection.
var errReset = errors.New("the registry reset the connection, because a rule requires a reset")

// faulty is a response writer that applies a rule to the response body. faulty records the times of the first and the
// last byte.
type faulty struct {
	http.ResponseWriter
	request *http.Request
	rule    Rule
	link    *link // simulated network link; nil if the rule's field Shared is false

	status  int
	sent    int64
	startAt time.Time // start of the body; the rate limit counts the time from here
	firstAt time.Time
	lastAt  time.Time
	stalled bool
	failure string
}

// chunk returns the maximum size of one write, in bytes. Small writes make the data rate uniform, but the registry
// reads the clock for each write. Therefore, the maximum size increases with the rate limit.
func (f *faulty) chunk() int64 {
	const most = 32 << 10
	if f.rule.BytesPerSecond == 0 {
		return most
	}
	return min(max(f.rule.BytesPerSecond/100, 1), most)
}

// WriteHeader implements http.ResponseWriter.
func (f *faulty) WriteHeader(status int) {
	if f.status == 0 {
		f.status = status
	}
	f.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (f *faulty) Write(body []byte) (int, error) {
	if f.status == 0 {
		f.WriteHeader(http.StatusOK)
	}
	if f.startAt.IsZero() {
		f.startAt = time.Now()
	}
	written := 0
	for written < len(body) {
		n := min(int64(len(body)-written), f.chunk(), f.untilNextFault())
		if n == 0 {
			if err := f.fault(); err != nil {
				return written, err
			}
			continue
		}
		if err := f.waitForRate(n); err != nil {
			return written, err
		}
		if f.firstAt.IsZero() {
			f.firstAt = time.Now()
		}
		m, err := f.ResponseWriter.Write(body[written : written+int(n)])
		written += m
		f.sent += int64(m)
		if err == nil && f.rule.BytesPerSecond > 0 {
			err = http.NewResponseController(f.ResponseWriter).Flush()
		}
		if err != nil {
			f.failure = err.Error()
			return written, err
		}
		f.lastAt = time.Now()
	}
	return written, nil
}

// untilNextFault returns the number of body bytes before the next stall or reset.
func (f *faulty) untilNextFault() int64 {
	left := int64(1) << 62
	if f.rule.Stall.Duration > 0 && !f.stalled {
		left = min(left, f.rule.StallAfterBytes-f.sent)
	}
	if f.rule.ResetAfterBytes > 0 {
		left = min(left, f.rule.ResetAfterBytes-f.sent)
	}
	return max(left, 0)
}

// fault applies the stall or the reset that is due.
func (f *faulty) fault() error {
	if f.rule.Stall.Duration > 0 && !f.stalled && f.sent >= f.rule.StallAfterBytes {
		f.stalled = true
		_ = http.NewResponseController(f.ResponseWriter).Flush()
		pausedAt := time.Now()
		err := f.waitOrDisconnect(f.rule.Stall.Duration)
		// The rate limit counts the time from startAt. Without this addition, the rate limit would permit a burst after
		// the pause.
		f.startAt = f.startAt.Add(time.Since(pausedAt))
		return err
	}
	f.failure = errReset.Error()
	control := http.NewResponseController(f.ResponseWriter)
	_ = control.Flush()
	connection, _, err := control.Hijack()
	if err != nil {
		return errReset
	}
	if secure, ok := connection.(*tls.Conn); ok {
		connection = secure.NetConn() // tls.Conn.Close would tell the client that the session ended normally
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes Close send RST instead of FIN
	}
	_ = connection.Close()
	return errReset
}

// waitForRate waits until the rate limit permits n more bytes. Without a shared link, waitForRate computes each delay
// from the start of the body. If waitForRate computed each delay from the previous write, the errors of the individual
// sleeps would add up.
func (f *faulty) waitForRate(n int64) error {
	if f.rule.BytesPerSecond == 0 {
		return nil
	}
	if f.link != nil {
		return f.waitOrDisconnect(time.Until(f.link.transfer(n, f.rule.BytesPerSecond, time.Now())))
	}
	due := time.Duration(float64(f.sent+n) / float64(f.rule.BytesPerSecond) * float64(time.Second))
	return f.waitOrDisconnect(time.Until(f.startAt.Add(due)))
}

// waitOrDisconnect waits for the given duration. If the client disconnects, waitOrDisconnect returns earlier.
func (f *faulty) waitOrDisconnect(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-f.request.Context().Done():
		f.failure = "client disconnected"
		return f.request.Context().Err()
	}
}
