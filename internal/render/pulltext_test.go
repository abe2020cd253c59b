package render

import (
	"testing"
	"time"
)

func TestLengthText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 0: "0.0 s", 59990 * time.Millisecond: "1m00s", 59940 * time.Millisecond: "59.9 s",
		time.Minute: "1m00s", 61*time.Minute + 5*time.Second: "1h01m", 100 * time.Hour: "100h00m",
	} {
		if got := LengthText(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}
