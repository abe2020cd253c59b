package annotate

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RBAC cannot restrict the permission to patch pods to annotations, or to a node: with that
// permission alone, an attacker in control of one agent can run anything on any node. The policy of
// the component annotate restricts it. So the agent writes only if it has seen the policy refuse a
// request.
const (
	// Forbidden is an annotation that the policy lets no agent write. It is only requested in a dry
	// run.
	Forbidden = "podlapse.dev/policy-must-refuse-this"
	// provenFor is how long a refusal counts: a policy may be removed while the agent runs.
	provenFor = 10 * time.Minute
	// policyWords are in the API server's message when a policy refuses a request
	// (staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating, denied).
	policyWords = "ValidatingAdmissionPolicy"
)

// errNoPolicy is why nothing is written.
var errNoPolicy = errors.New("no policy limits the agent's right to patch pods: " +
	"install the ValidatingAdmissionPolicy and binding of the component annotate, " +
	"which require Kubernetes 1.30, or use --annotate=off; see docs/annotations.md")

// limited sends a dry-run request that the policy must refuse. It returns nil if a policy did.
func (a *Annotator) limited(ctx context.Context, p asking) error {
	now := a.config.Now()
	if !a.provenAt.IsZero() && now.Sub(a.provenAt) < provenFor {
		return nil
	}
	values := maps.Clone(p.owned)
	values[Forbidden] = "true"
	switch err := a.apply(ctx, p, values, "All"); {
	case err == nil:
		return errNoPolicy
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), policyWords):
		a.provenAt = now
		return nil
	default:
		return err
	}
}
