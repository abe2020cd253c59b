package cri

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Probe finds the runtime in the same way as a Source. Probe returns the address of the socket, the runtime's name and
// version, and what the runtime cannot report. Probe closes the connection before it returns.
func Probe(ctx context.Context, endpoint Endpoint) (address, runtime, limits string, err error) {
	report := func(bool, string) {}
	session, err := New(Config{Endpoint: endpoint, Now: time.Now, Logger: zap.NewNop(), Report: report}).connectAny(ctx)
	if err != nil {
		return "", "", "", err
	}
	defer session.close()
	session.responder.findDiscardOption(ctx)
	return session.client.conn.Target(), session.runtime, session.responder.stores.describeLimits(), nil
}
