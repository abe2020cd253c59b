package registry

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// serve writes size bytes in pieces through a rule, like a file server. serve returns the duration of the writes by the
// clock of the synctest bubble.
func serve(t *testing.T, rule Rule, size int) (*faulty, time.Duration) {
	t.Helper()
	writer := &faulty{ResponseWriter: httptest.NewRecorder(), rule: rule,
		request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)}
	startedAt := time.Now()
	if n, err := io.Copy(writer, bytes.NewReader(make([]byte, size))); err != nil || n != int64(size) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	return writer, time.Since(startedAt)
}

func TestThrottleIsAccurate(t *testing.T) {
	for _, test := range []struct {
		size int
		rate int64
		want time.Duration
	}{
		{20 << 20, 4 << 20, 5 * time.Second},
		{20 << 20, 1 << 30, 20 * time.Second / 1024},
		{20_000_001, 3_000_000, 6666667 * time.Microsecond},
		{1000, 10, 100 * time.Second},
		{1, 1, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			writer, took := serve(t, Rule{BytesPerSecond: test.rate}, test.size)
			if off := (took - test.want).Abs(); off > time.Millisecond {
				t.Errorf("%d bytes at %d/s took %s, want %s", test.size, test.rate, took, test.want)
			}
			if logged := writer.lastAt.Sub(writer.startAt); logged != took {
				t.Errorf("the timestamps for the log are %s apart, but it took %s", logged, took)
			}
		})
	}
}

func TestThrottleIsSmooth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writer, _ := serve(t, Rule{BytesPerSecond: 4 << 20}, 1<<20)
		// The rate limit must not delay the first byte by more than the time for a small piece.
		if wait := writer.firstAt.Sub(writer.startAt); wait > 10*time.Millisecond {
			t.Errorf("the first byte came after %s", wait)
		}
	})
}

func TestNoBurstAfterStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := Rule{BytesPerSecond: 1 << 20, Stall: Duration{3 * time.Second}, StallAfterBytes: 1 << 20}
		_, took := serve(t, rule, 2<<20)
		if want := 5 * time.Second; (took - want).Abs() > time.Millisecond {
			t.Errorf("took %s, want %s", took, want)
		}
	})
}

func TestSharedLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all activeRules
		if err := all.replaceRules([]Rule{{Repository: "*/*", BytesPerSecond: 1 << 20, Shared: true}}); err != nil {
			t.Fatal(err)
		}
		startedAt := time.Now()
		done := make(chan time.Duration)
		for range 4 {
			go func() {
				writer := &faulty{ResponseWriter: httptest.NewRecorder(),
					request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)}
				writer.rule, writer.link = all.useRule("a/b", KindBlob)
				_, _ = io.Copy(writer, bytes.NewReader(make([]byte, 1<<20)))
				done <- time.Since(startedAt)
			}()
		}
		var last time.Duration
		for range 4 {
			last = max(last, <-done)
		}
		if off := (last - 4*time.Second).Abs(); off > 10*time.Millisecond {
			t.Errorf("four bodies of a second each took %s", last)
		}
	})
}
