package annotate

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RBAC cannot restrict the permission to patch pods to annotations or to a node. With this permission alone, an
// attacker in control of one agent can run any program on any node. The policy of the component annotate restricts
// the permission. So the agent writes only after it has seen the policy refuse a request.
const (
	// Forbidden is an annotation that the policy never allows an agent to write. The agent requests this annotation
	// only in a dry run.
	Forbidden = "podlapse.dev/policy-must-refuse-this"
	// provenFor is the time for which a refusal proves the policy. Afterwards the agent tests again, because an
	// administrator can remove the policy.
	provenFor = 10 * time.Minute
	// policyWords is part of the API server's message when a policy refuses a request
	// (staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating, denied).
	policyWords = "ValidatingAdmissionPolicy"
)

// errNoPolicy explains why the agent writes no annotations.
var errNoPolicy = errors.New("no policy limits the agent's permission to patch pods: use --annotate=off, or " +
	"install the ValidatingAdmissionPolicy and the ValidatingAdmissionPolicyBinding of the Kustomize component " +
	"annotate (Kubernetes 1.30 or newer); see docs/annotations.md")

// The method limited sends a dry-run request that the policy must refuse. The method limited returns nil if a policy
// refused the request.
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
