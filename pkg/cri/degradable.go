package cri

import (
	"sync/atomic"

	"go.uber.org/zap"
)

// degradable is something a runtime should have and may turn out not to. It is safe for concurrent
// use once enabled.
type degradable struct {
	enabled atomic.Bool
	logger  *zap.Logger
	name    string
}

func (d *degradable) enable(logger *zap.Logger, name string) {
	d.logger, d.name = logger, name
	d.enabled.Store(true)
}

func (d *degradable) on() bool { return d.enabled.Load() }

// disable says so the first time.
func (d *degradable) disable() {
	if d.enabled.CompareAndSwap(true, false) {
		d.logger.Warn("containerd store is not served, timing is coarser", zap.String("store", d.name))
	}
}
