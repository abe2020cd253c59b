package cri

import (
	"sync/atomic"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// degradable is an optional feature of the runtime: one of containerd's stores. If the runtime lacks the feature,
// timelines are less precise. degradable is safe for concurrent use as soon as the method "initialize" has returned.
type degradable struct {
	enabled atomic.Bool
	refused atomic.Bool // the runtime responded that it does not have the store
	logger  *zap.Logger
	name    string
	costs   string // the effect of a missing feature
}

// initialize sets the fields of d. If the argument "enabled" is false, the feature stays disabled.
func (d *degradable) initialize(enabled bool, logger *zap.Logger, name, costs string) {
	d.logger, d.name, d.costs = logger, name, costs
	d.enabled.Store(enabled)
}

func (d *degradable) isEnabled() bool { return d.enabled.Load() }

// disable disables the feature. The first call logs a warning.
func (d *degradable) disable() {
	d.refused.Store(true)
	if d.enabled.CompareAndSwap(true, false) {
		d.logger.Warn("containerd does not provide one of its stores: timelines are less precise",
			zap.String("store", d.name), zap.String("costs", d.costs))
	}
}

// tolerate returns err only if the runtime did not respond. If the runtime responded with an error, the store does not
// contain the object, has an internal error, or is missing. After an error response, tolerate returns nil, and the
// agent continues without the object. If the store is missing, tolerate also disables the feature.
func (d *degradable) tolerate(err error) error {
	return onlyIfBroken(d.disableIfMissing(err))
}

// disableIfMissing disables the feature and returns nil if err says that the store is missing. For every other error,
// disableIfMissing returns err.
func (d *degradable) disableIfMissing(err error) error {
	if status.Code(err) == codes.Unimplemented {
		d.disable()
		return nil
	}
	return err
}
