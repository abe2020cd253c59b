package cli

import "testing"

// TestFactorText expects two significant digits for factors below 1, because 0.0 hides how fast a registry is.
func TestFactorText(t *testing.T) {
	for factor, want := range map[float64]string{
		0: "0.0", 0.0512: "0.051", 0.05: "0.05", 0.934: "0.93", 0.996: "1.0", 1: "1.0", 20.04: "20.0",
	} {
		if got := factorText(&factor); got != want {
			t.Errorf("%v: got %q, want %q", factor, got, want)
		}
	}
	if got := factorText(nil); got != "-" {
		t.Errorf("got %q for an unknown factor", got)
	}
}
