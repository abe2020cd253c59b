package scenario

import (
	"encoding/json"
	"fmt"
	"time"
)

// number formats a duration as the agent's API does, in exact decimal seconds.
func number(d time.Duration) json.Number {
	return json.Number(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
}
