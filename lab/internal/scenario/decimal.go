package scenario

import (
	"encoding/json"
	"fmt"
	"time"
)

// decimal formats a duration as decimal seconds, without rounding. The agent's API uses the same format.
func decimal(d time.Duration) json.Number {
	return json.Number(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
}
