package podwatch

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// The remedies begin a report, because the API server's message is long and reports are cut.
const (
	remedyPods     = "allow the ServiceAccount to list and watch pods, or use --impersonate-node=on"
	remedyAsNode   = "allow impersonate:associated-node (Kubernetes 1.36 or newer), or use --impersonate-node=off"
	remedyEvents   = "allow the ServiceAccount to watch events, or use --events=off"
	remedyNode     = "allow the ServiceAccount to list and watch nodes, or use --node-health=off"
	remedyTokenBad = "the API server rejects the agent's token: check its ServiceAccount"
	remedyWhoToAsk = " (run podlapse-agent check for details): "
)

// worded formats an error of the API server for people, with the remedy if it is a refusal.
func worded(err error, remedy string) string {
	switch {
	case apierrors.IsForbidden(err):
		return remedy + remedyWhoToAsk + err.Error()
	case apierrors.IsUnauthorized(err):
		return remedyTokenBad + remedyWhoToAsk + err.Error()
	}
	return err.Error()
}
