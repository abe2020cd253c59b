package watchdelay

import (
	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// Feature returns a compatibility feature (see cmd/agent/compat.go): the flag --watch-delays and its metrics.
func Feature() feature.Feature {
	var on bool
	return feature.Feature{
		Flags: flags.Table{flags.Switch("watch-delays", "WATCH_DELAYS", &on,
			"export metrics of the delays of the pod watch and the Event watches. A delay is the time from the "+
				"timestamp in a changed object until the watch delivers the change")},
		Start: func(agent feature.Agent) feature.Hooks {
			if !on {
				return feature.Hooks{}
			}
			delays := New(agent.Registerer)
			return feature.Hooks{
				PodWatch:   func(config *podwatch.Config) { config.Delays = delays },
				EventDelay: delays.Event,
			}
		},
	}
}
