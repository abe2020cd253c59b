package podobjects

import (
	"time"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// Feature returns the removable feature: the flag --serve-objects and the cache of pod objects.
func Feature() feature.Feature {
	var on bool
	return feature.Feature{
		Flags: flags.Table{flags.Switch("serve-objects", "SERVE_OBJECTS", &on,
			"serve the objects of the node's pods at /api/v1/objects/pods, without the fields that can contain "+
				"secrets. Each pod takes about 2 KiB of memory")},
		WholePods: func() bool { return on },
		Start: func(feature.Agent) feature.Hooks {
			if !on {
				return feature.Hooks{}
			}
			objects := New(time.Now)
			return feature.Hooks{
				PodWatch:  func(config *podwatch.Config) { config.Keeper = objects },
				WritePods: objects.WriteList,
			}
		},
	}
}
