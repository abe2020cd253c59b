package main

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// partPodCache is what the health board calls the comparison of pods with a list.
const partPodCache = "pod_cache"

// Bounds of --verify-interval: a list costs the API server more than a watch that tells nothing.
const (
	minVerifyInterval = 10 * time.Second
	maxVerifyInterval = 24 * time.Hour
)

func (c *config) setVerifyInterval(value string) error {
	c.verifyInterval = 0
	if value == verifyOff {
		return nil
	}
	interval, err := time.ParseDuration(value)
	if err != nil || interval < minVerifyInterval || interval > maxVerifyInterval {
		return fmt.Errorf("invalid interval %q: must be off, or 10s to 24h, for example 10m", value)
	}
	c.verifyInterval = interval
	return nil
}

// newVerify is how pods are compared with a list, which is never without --verify-interval.
func newVerify(c config, board *health.Board) podwatch.Verify {
	if c.verifyInterval == 0 {
		return podwatch.Verify{}
	}
	return podwatch.Verify{Interval: c.verifyInterval, Report: board.Register(partPodCache, "not compared yet")}
}

// registerVerification has what comparisons find counted, if there are any.
func registerVerification(c config, pods *podwatch.Pods, registry prometheus.Registerer) {
	if c.verifyInterval > 0 {
		registry.MustRegister(export.NewPodCache(func() export.PodCache { return export.PodCache(pods.Verification()) }))
	}
}

// watchDelays take how late watches are; both are nil without --watch-delays.
type watchDelays struct {
	pod   func(podwatch.Change, time.Duration)
	event func(time.Duration)
}

func newWatchDelays(c config, registry prometheus.Registerer) watchDelays {
	if !c.watchDelays {
		return watchDelays{}
	}
	var changes []string
	for _, change := range podwatch.Changes() {
		changes = append(changes, string(change))
	}
	delays := export.NewWatchDelays(registry, changes)
	return watchDelays{
		pod:   func(change podwatch.Change, late time.Duration) { delays.Pod(string(change), late) },
		event: delays.Event,
	}
}
