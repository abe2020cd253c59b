package scenario

import (
	"encoding/json"
	"fmt"
	"time"
)

// decimal formats a duration in exact decimal seconds, as the agent's API does.
func decimal(d time.Duration) json.Number {
	return json.Number(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
}
