package timeline

import (
	"fmt"
	"time"
)

// SecondsText formats a duration in seconds with the given number of decimals, for example "12.0 s". SecondsText rounds
// half away from zero. SecondsText rounds the integer number of nanoseconds, because a float64 cannot represent most
// decimal numbers exactly. For example, the float64 for 11.95 is smaller than 11.95. All texts about start-ups use
// SecondsText, so they show the same number for the same duration.
func SecondsText(d time.Duration, decimals int) string {
	unit := time.Second
	for range decimals {
		unit /= 10
	}
	return fmt.Sprintf("%.*f s", decimals, d.Round(unit).Seconds())
}
