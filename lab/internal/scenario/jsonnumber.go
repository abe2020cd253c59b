package scenario

import (
	"encoding/json"
	"fmt"
	"time"
)

// The function "number" formats a duration like the agent's API, in exact decimal seconds.
func number(d time.Duration) json.Number {
	return json.Number(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
}
