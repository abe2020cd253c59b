package cri

import (
	"sync/atomic"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// degradable represents one of containerd's stores. A store is optional, but if it is missing, timelines are less
// precise. Call the method "initialize" first. After initialize, degradable is safe for concurrent use.
type degradable struct {
	enabled atomic.Bool
	refused atomic.Bool // the runtime responded that it does not have the store
	logger  *zap.Logger
	name    string
	shows   string // the fact that only this store shows
}

// initialize sets the fields of d. If the argument "enabled" is false, the store stays disabled.
func (d *degradable) initialize(enabled bool, logger *zap.Logger, name, shows string) {
	d.logger, d.name, d.shows = logger, name, shows
	d.enabled.Store(enabled)
}

func (d *degradable) isEnabled() bool { return d.enabled.Load() }

// disable disables the store. If the store was enabled, disable also logs a warning.
func (d *degradable) disable() {
	d.refused.Store(true)
	if d.enabled.CompareAndSwap(true, false) {
		d.logger.Warn("containerd does not provide one of its stores: timelines are less precise",
			zap.String("store", d.name), zap.String("unreported", d.shows))
	}
}

// tolerate returns err only if the runtime did not respond. If the runtime responded with an error, tolerate returns
// nil, and the agent continues without the object. An error response means one of three problems: the store does not
// contain the object, has an internal error, or is missing. If the store is missing, tolerate also disables the store.
func (d *degradable) tolerate(err error) error {
	return onlyIfBroken(d.disableIfMissing(err))
}

// disableIfMissing checks whether err says that the store is missing. If the store is missing, disableIfMissing
// disables the store and returns nil. For every other error, disableIfMissing returns err.
func (d *degradable) disableIfMissing(err error) error {
	if status.Code(err) == codes.Unimplemented {
		d.disable()
		return nil
	}
	return err
}
