package whatif

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

func TestEffectText(t *testing.T) {
	const ms = api.Seconds(time.Millisecond)
	certain := api.WhatIfRecord{TotalLeast: 8000 * ms, TotalMost: 10460 * ms, Gain: 37800 * ms, GainLeast: 36000 * ms,
		GainMost: 39000 * ms}
	similar := api.WhatIfRecord{TotalLeast: 44000 * ms, TotalMost: 48000 * ms, Gain: 2000 * ms, GainLeast: 1100 * ms,
		GainMost: 3000 * ms}
	byChance := func(p api.WhatIfRecord) api.WhatIfRecord { p.Gain = 0; return p }
	for want, p := range map[string]api.WhatIfRecord{
		"about 9.2 s instead of 47.0 s (8.0 to 10.5 s)": certain,
		"8.0 to 10.5 s instead of 47.0 s":               byChance(certain),
		"about 2.0 s earlier (1.1 to 3.0 s)":            similar,
		"1.1 to 3.0 s earlier":                          byChance(similar),
		"up to 9.0 s earlier":                           {GainLeast: -1000 * ms, GainMost: 9000 * ms},
	} {
		if got := effectText(p, 47000*ms); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
