package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
)

// withRemedy adds a remedy to an error.
func (r agentAccess) withRemedy(err error) error {
	var refused *client.Refusal
	var unreached *agents.Unreached
	var late *lateError
	namespace := r.target.agentNamespace
	switch {
	case errors.As(err, &late), errors.Is(err, errNoNumbers):
		return err // the error contains the remedy
	case toKubelet(err):
		return fmt.Errorf("%w\nThe API server cannot connect to the kubelet of the agent's node. So kubectl logs, "+
			"exec and port-forward also fail for pods of this node. Repair the connection from the API server to the "+
			"kubelet, or set --server to an address at which you can reach the agent without the API server", err)
	case errors.As(err, &unreached):
		return unreachedRemedy(err, unreached, namespace)
	case errors.As(err, &refused) && refused.Kubernetes:
		return apiServerRemedy(err, refused, namespace)
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, agents.ErrNoResponse):
		return fmt.Errorf("%w\nCheck that the API server responds: kubectl get --raw /readyz. To query another "+
			"cluster, set --context or --kubeconfig", err)
	case refused != nil && (refused.Scheme == client.SchemeBearer || refused.Scheme == client.SchemeBasic) &&
		r.cluster != nil:
		return fmt.Errorf("%w\nThe API server's proxy does not forward credentials. To connect without the proxy, "+
			"run kubectl -n %s port-forward POD 9717, and use --server=%s. For an agent that requires a token, add "+
			"--token-file. For an agent that requires a password, write USER:PASSWORD@ before the host in "+
			"--server", err, namespace, localServer)
	case refused != nil && refused.Scheme == client.SchemeBearer:
		return fmt.Errorf("%w: set --token-file", err)
	case refused != nil && refused.Scheme == client.SchemeBasic:
		return fmt.Errorf("%w: use --server=%s://USER:PASSWORD@%s", err, r.target.server.Scheme, r.target.server.Host)
	case errors.Is(err, agents.ErrNoAgentOnNode):
		return fmt.Errorf("%w\nCheck the node's name: kubectl get nodes. If the node exists, check that an agent runs "+
			"on this node: kubectl -n %s get pods -o wide. If the agents are in another namespace, set "+
			"--agent-namespace", err, namespace)
	case errors.Is(err, agents.ErrNoAgent):
		return fmt.Errorf("%w\nCheck that the agents' pods run: kubectl -n %s get pods -o wide. If the agents are "+
			"in another namespace, set --agent-namespace", err, namespace)
	case refused != nil, errors.Is(err, client.ErrNotAnAgent), errors.Is(err, agents.ErrNotBound),
		errors.Is(err, errUnknownPod), r.cluster != nil:
		return err
	}
	return r.serverRemedy(err)
}

// toKubelet reports whether a port-forward failed because the API server cannot connect to the kubelet. If the API
// server cannot connect to the kubelet, its message contains "error dialing backend". The message comes from the
// function "dial" in k8s.io/apimachinery/pkg/util/proxy.
func toKubelet(err error) bool {
	var unreached *agents.Unreached
	if errors.As(err, &unreached) {
		err = unreached.Forward
	}
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Kubernetes && strings.Contains(refused.Reason, "error dialing backend")
}

// serverRemedy adds a remedy to the error of a query to the agent in --server. If the user set neither --server nor a
// kubeconfig, the error comes from the local agent. The address in the remedy contains no password.
func (r agentAccess) serverRemedy(err error) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case r.target.noKubeconfig != "" && exitOf(err) == ExitUnreachable:
		return fmt.Errorf("%s, and the local agent at %s is unreachable: %w\nTo query the agents of a cluster, set "+
			"--kubeconfig or KUBECONFIG. To query one agent, set --server to its URL", r.target.noKubeconfig,
			localServer, err)
	case r.target.noKubeconfig != "":
		return err
	case errors.As(err, &certificate):
		return fmt.Errorf("--server: %w\nSet --ca-file to a file with the CA certificate that verifies the agent's "+
			"certificate", err)
	case exitOf(err) == ExitUnreachable:
		return fmt.Errorf("--server: %w\nCheck that an agent listens at %s://%s. To query all agents of a cluster, "+
			"remove --server: the command then reads your kubeconfig", err, r.target.server.Scheme,
			r.target.server.Host)
	}
	return fmt.Errorf("--server: %w", err)
}

// unknownOnNode adds a remedy to the error of an agent that does not know a pod. The argument "node" is the node that
// the API server returns for the pod. If the user selected the agent, "node" is empty.
func (a agentQuery) unknownOnNode(err error, pod resource, node string) error {
	if node != "" {
		return fmt.Errorf("%w\nAccording to the API server, the pod is on node %s. The node's agent may not have "+
			"seen the pod yet: repeat the command. If the error remains, check the agent: %s nodes %s", err, node,
			a.Program.Name, node)
	}
	return fmt.Errorf("%w\nAn agent knows only the pods of its own node. Check the pod's name, namespace (-n) and "+
		"node: kubectl get pod %s -n %s -o wide. %s", err, terminal.ShortName(pod.name),
		terminal.ShortName(pod.namespace), pod.asWorkload())
}

// unknownPod returns the error for a pod that no agent knows.
func unknownPod(pod resource, queried int) error {
	return fmt.Errorf("%w: no agent knows the %s (agents queried: %d): check the name and the namespace (-n). "+
		"%s An agent remembers only the latest deleted pods, and forgets all deleted pods when the agent restarts",
		errUnknownPod, pod, queried, pod.asWorkload())
}

// unknownWorkload returns the error for a workload if no agent knows any start-up of the workload. If the argument
// "since" is set, the error names this time, because the agents might know start-ups that ended earlier.
func unknownWorkload(r resource, since time.Time) error {
	if !since.IsZero() {
		return fmt.Errorf("%w: no agent knows a start-up of %s that is in progress or that ended after %s: set a "+
			"longer --since, or check the name and the namespace (-n)", errUnknownPod, r,
			since.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: no agent knows a pod of %s: check the name and the namespace (-n). Agents know only pods "+
		"that are bound to a node: run kubectl get pods -n %s -o wide to see the nodes. An agent remembers only the "+
		"latest deleted pods, and forgets all deleted pods when the agent restarts", errUnknownPod, r,
		terminal.ShortName(r.namespace))
}

// asWorkload returns a hint for the error about an unknown pod. The user might have misspelled the type of a resource,
// or might have used the name of a workload as the name of a pod.
func (r resource) asWorkload() string {
	return cmp.Or(r.typo, "For a workload, use TYPE/NAME, for example deploy/"+terminal.ShortName(r.name)+".")
}

func apiServerRemedy(err error, refused *client.Refusal, namespace string) error {
	switch {
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w\nThe API server rejects the kubeconfig's credentials. Check the credentials: "+
			"kubectl auth whoami", err)
	case refused.Status == http.StatusForbidden:
		return fmt.Errorf("%w\nIn the agents' namespace (%s), the command requires these permissions: list pods, get "+
			"pods/proxy, get pods/portforward and create pods/portforward. If you name a pod, the command also "+
			"requires permission to get pods in the namespace of that pod", err, namespace)
	case refused.Status >= http.StatusInternalServerError:
		return fmt.Errorf("%w\nThe API server failed or is overloaded. Check the server: kubectl get --raw "+
			"/readyz", err)
	}
	return err
}

// unreachedRemedy adds a remedy to the error of an agent that the command could not reach. Both the API server's proxy
// and the port-forward failed.
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
