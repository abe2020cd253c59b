package main

import (
	"fmt"
	"time"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// partPodCache is the health board's name for the comparison of the cached pods with a list.
const partPodCache = "pod_cache"

// Bounds of --verify-interval. The minimum exists because a list costs the API server more than a watch without
// changes.
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

// newVerify configures the comparison of pods with a list. Without --verify-interval, the agent never compares.
func newVerify(d deps) podwatch.Verify {
	if d.config.verifyInterval == 0 {
		return podwatch.Verify{}
	}
	return podwatch.Verify{
		Interval: d.config.verifyInterval, Report: d.board.Register(partPodCache, "not compared yet"),
		Registerer: d.registry,
	}
}
