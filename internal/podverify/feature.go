package podverify

import (
	"fmt"
	"time"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// part is the name under which the agent reports the health of the comparisons.
const part = "pod_cache"

// off is the value of --verify-interval that disables comparisons.
const off = "off"

// Bounds of --verify-interval. The interval has a minimum, because a list costs the API server more than an idle watch.
const (
	minInterval = 10 * time.Second
	maxInterval = 24 * time.Hour
)

// Feature returns the removable feature: the flag --verify-interval and the comparisons.
func Feature() feature.Feature {
	var interval time.Duration
	return feature.Feature{
		Flags: flags.Table{{
			Name: "verify-interval", Variable: "VERIFY_INTERVAL", Value: "off|DURATION", Default: off,
			Help: "interval at which the agent compares the pods from its watch with a list from the API server. If " +
				"the pods differ from the list, the agent corrects its own state. \"off\": no comparisons. Other " +
				"values: 10s to 24h. The agent lengthens or shortens each interval by up to 10 %. Before Kubernetes " +
				"1.34, each list makes the API server read all pods of the cluster",
			Set: func(value string) (err error) { interval, err = parseInterval(value); return err },
		}},
		Start: func(agent feature.Agent) feature.Hooks {
			if interval == 0 {
				return feature.Hooks{}
			}
			return feature.Hooks{PodWatch: func(config *podwatch.Config) {
				config.Verifier = New(Config{
					Interval: interval, Report: agent.Health.Register(part, "not compared yet"),
					Registerer: agent.Registerer, Now: config.Now,
				})
			}}
		},
	}
}

// parseInterval parses the value of --verify-interval. If the value is "off", the result is zero.
func parseInterval(value string) (time.Duration, error) {
	if value == off {
		return 0, nil
	}
	interval, err := time.ParseDuration(value)
	if err != nil || interval < minInterval || interval > maxInterval {
		return 0, fmt.Errorf("invalid interval %q: must be off, or 10s to 24h, for example 10m", value)
	}
	return interval, nil
}
