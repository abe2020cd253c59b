package node

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// StopAPIServer ends the API server as a crash would. StartAPIServer, or the next Up, brings it back.
func (n Node) StopAPIServer() error { return n.stop(time.Second, apiServerName) }

// StartAPIServer starts it again and waits until it serves.
func (n Node) StartAPIServer(ctx context.Context) error {
	c := n.apiServer()
	if err := n.ensure(c); err != nil {
		return err
	}
	return n.await(ctx, c)
}

// KubeAsAgent is a client of the API server with the agent's own rights.
func (n Node) KubeAsAgent() (*kube.Client, error) {
	return kube.New(layout.Address(layout.APIServerPort), n.certificates(), agentUser)
}
