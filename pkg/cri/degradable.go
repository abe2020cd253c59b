package cri

import (
	"sync/atomic"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// degradable is something a runtime should have and may turn out not to. It is safe for concurrent
// use once enabled.
type degradable struct {
	enabled atomic.Bool
	logger  *zap.Logger
	name    string
	costs   string // what nobody can tell without it
}

func (d *degradable) on() bool { return d.enabled.Load() }

// disable says so the first time.
func (d *degradable) disable() {
	if d.enabled.CompareAndSwap(true, false) {
		d.logger.Warn("containerd store not served; timelines are less precise", zap.String("store", d.name),
			zap.String("costs", d.costs))
	}
}

// forgive is nil for an error that an answer can do without: the store does not have the thing, or has a fault of
// its own, or is not served at all, after which it is disabled. It is err when the runtime did not answer.
func (d *degradable) forgive(err error) error {
	return ifBroken(d.unlessMissing(err))
}

// unlessMissing is err unless it says that the store is not served at all, after which it is disabled.
func (d *degradable) unlessMissing(err error) error {
	if status.Code(err) == codes.Unimplemented {
		d.disable()
		return nil
	}
	return err
}
