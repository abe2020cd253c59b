package kubeclient

import apierrors "k8s.io/apimachinery/pkg/api/errors"

const (
	remedyTokenBad = "the API server rejects the agent's token: check its ServiceAccount"
	remedyWhoToAsk = " (run podlapse-agent check for details): "
)

// Explain formats an error of the API server for people. If it is a refusal, the text begins with the
// remedy, because the API server's message is long and reports are cut.
func Explain(err error, remedy string) string {
	switch {
	case apierrors.IsForbidden(err):
		return remedy + remedyWhoToAsk + err.Error()
	case apierrors.IsUnauthorized(err):
		return remedyTokenBad + remedyWhoToAsk + err.Error()
	}
	return err.Error()
}
