package runtimeproxy

import (
	"sync"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxRefusedMethods is the maximum number of method names that the proxy stores. A limit is necessary because the
	// client chooses the names. CRI and containerd have 120 methods.
	maxRefusedMethods = 256
	// maxMethodName is the maximum length of a stored name in bytes. The longest method name of CRI and containerd has
	// 62 bytes.
	maxMethodName = 128
)

// refusedCalls counts the refused calls and logs the first call of each method.
type refusedCalls struct {
	logger *zap.Logger

	mu      sync.Mutex
	methods map[string]uint64
	others  uint64 // number of refused calls of methods that are not in the map
}

// refuse counts a refused call and returns its status.
func (r *refusedCalls) refuse(method string, why error) error {
	method = method[:min(len(method), maxMethodName)]
	if r.countCall(method) {
		r.logger.Warn("the proxy refused a call to the container runtime: the agent never makes such a call, "+
			"so another process uses the proxy's socket",
			zap.String("method", method), zap.Error(why))
	}
	return status.Errorf(codes.PermissionDenied, "runtime-proxy refuses %s: %v", method, why)
}

// countCall counts a call and reports whether it is the first call of its method.
func (r *refusedCalls) countCall(method string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.methods == nil {
		r.methods = map[string]uint64{}
	}
	n, known := r.methods[method]
	if !known && len(r.methods) == maxRefusedMethods {
		r.others++
		return r.others == 1
	}
	r.methods[method] = n + 1
	return !known
}

// logCounts logs the numbers of refused calls if any call was refused.
func (r *refusedCalls) logCounts() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.methods) > 0 {
		r.logger.Warn(
			"the proxy refused calls to the container runtime",
			zap.Any("calls", r.methods),
			zap.Uint64("others", r.others),
		)
	}
}
