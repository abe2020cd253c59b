package cli

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/pkg/client"
)

// withRemedy adds a remedy to an error.
func (r agentAccess) withRemedy(err error) error {
	var refused *client.Refusal
	var unreached *agents.Unreached
	namespace := r.target.agentNamespace
	switch {
	case errors.As(err, &unreached):
		return unreachedRemedy(err, unreached, namespace)
	case errors.As(err, &refused) && refused.Kubernetes:
		return apiServerRemedy(err, refused, namespace)
	case refused != nil && (refused.Requests == client.WantsToken || refused.Requests == client.WantsPassword) &&
		r.cluster != nil:
		return fmt.Errorf("%w\nThe API server's proxy does not forward credentials. To connect without the proxy, run "+
			"kubectl -n %s port-forward POD 9717, and use --server=%s with --token-file or the password", err,
			namespace, localServer)
	case refused != nil && refused.Requests == client.WantsToken:
		return fmt.Errorf("%w: set --token-file", err)
	case refused != nil && refused.Requests == client.WantsPassword:
		return fmt.Errorf("%w: use --server=%s://USER:PASSWORD@%s", err, r.target.server.Scheme, r.target.server.Host)
	case errors.Is(err, agents.ErrNoAgent):
		return fmt.Errorf("%w\nCheck that the DaemonSet runs: kubectl -n %s get pods -o wide. If the agents are in "+
			"another namespace, set --agent-namespace", err, namespace)
	case refused != nil, errors.Is(err, client.ErrNotAnAgent), errors.Is(err, agents.ErrNotBound),
		errors.Is(err, errUnknownPod), r.cluster != nil:
		return err
	}
	return fmt.Errorf("--server: %w", err)
}

func apiServerRemedy(err error, refused *client.Refusal, namespace string) error {
	switch {
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w\nThe API server rejects the kubeconfig's credentials: check the credentials with "+
			"kubectl auth whoami", err)
	case refused.Status == http.StatusForbidden:
		return fmt.Errorf("%w\nIn namespace %s, the command requires these permissions: list pods, get pods/proxy, "+
			"get pods/portforward and create pods/portforward. In the namespace of the queried pod, the command "+
			"requires the permission get pods", err, namespace)
	case refused.Status >= http.StatusInternalServerError:
		return fmt.Errorf("%w\nThe API server failed or is overloaded: check the server with kubectl get --raw "+
			"/readyz", err)
	}
	return err
}

// unreachedRemedy adds a remedy to the error of an agent that the command reached neither over the API server's proxy
// nor over a port-forward.
func unreachedRemedy(err error, unreached *agents.Unreached, namespace string) error {
	var refused *client.Refusal
	if errors.As(unreached.Forward, &refused) && refused.Status == http.StatusForbidden {
		return fmt.Errorf("%w\nThe API server's proxy did not reach the agent, and you have no permission for the "+
			"port-forward: ask an administrator for the verbs get and create on pods/portforward in namespace %s", err,
			namespace)
	}
	return fmt.Errorf("%w\nNeither the API server's proxy nor a port-forward reached the agent. Check that the "+
		"agent's pod runs: kubectl -n %s get pods -o wide. If the pod runs, run kubectl -n %s port-forward POD 9717, "+
		"and use --server=%s", err, namespace, namespace, localServer)
}
