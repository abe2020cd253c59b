package cri

import (
	"sync/atomic"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// degradable is a feature that a runtime should have, but may turn out not to have. It is safe for
// concurrent use once enabled.
type degradable struct {
	enabled atomic.Bool
	refused atomic.Bool // the runtime answered that it does not serve the store
	logger  *zap.Logger
	name    string
	costs   string // what is unknown without it
}

// set sets all fields; a feature that is not enabled stays so.
func (d *degradable) set(enabled bool, logger *zap.Logger, name, costs string) {
	d.logger, d.name, d.costs = logger, name, costs
	d.enabled.Store(enabled)
}

func (d *degradable) on() bool { return d.enabled.Load() }

// disable disables the feature and logs this the first time.
func (d *degradable) disable() {
	d.refused.Store(true)
	if d.enabled.CompareAndSwap(true, false) {
		d.logger.Warn("containerd store not served; timelines are less precise", zap.String("store", d.name),
			zap.String("costs", d.costs))
	}
}

// forgive returns nil for errors after which the answer only lacks details: the store does not have the object, fails
// internally, or is not served at all. In the last case, it disables the store. It returns err if the runtime did not
// respond.
func (d *degradable) forgive(err error) error {
	return ifBroken(d.unlessMissing(err))
}

// unlessMissing returns nil and disables the store if err says that the store is not served at all; otherwise it
// returns err.
func (d *degradable) unlessMissing(err error) error {
	if status.Code(err) == codes.Unimplemented {
		d.disable()
		return nil
	}
	return err
}
