package kubeclient

import apierrors "k8s.io/apimachinery/pkg/api/errors"

const (
	remedyTokenBad = "the API server rejects the agent's token: check the agent's ServiceAccount"
	remedyCheck    = " (run podlapse-agent check for details): "
)

// Explain formats an error of the API server for people. If the API server refused the request, the text starts with
// the remedy. The API server's message is long. This message comes last, because the agent cuts off the end of long
// health reports.
func Explain(err error, remedy string) string {
	switch {
	case apierrors.IsForbidden(err):
		return remedy + remedyCheck + err.Error()
	case apierrors.IsUnauthorized(err):
		return remedyTokenBad + remedyCheck + err.Error()
	}
	return err.Error()
}
