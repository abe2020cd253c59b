package node

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// StopAPIServer stops the API server almost as suddenly as a crash. The API server gets only one second to exit.
// StartAPIServer or the next Up starts the API server again.
func (n Node) StopAPIServer() error { return n.stopComponents(time.Second, apiServerName) }

// StartAPIServer starts the API server again and waits until the API server responds to requests.
func (n Node) StartAPIServer(ctx context.Context) error {
	c := n.apiServer()
	if err := n.ensureRunning(c); err != nil {
		return err
	}
	return n.awaitReady(ctx, c)
}

// KubeAsAgent returns a client of the API server with the agent's own permissions.
func (n Node) KubeAsAgent() (*kube.Client, error) {
	return kube.New(layout.Address(layout.APIServerPort), n.certificates(), agentUser)
}
