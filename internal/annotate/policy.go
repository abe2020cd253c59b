package annotate

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// In RBAC, the permission to patch pods always includes all fields of a pod and the pods of all nodes. With the
// permission to patch pods, an attacker who controls one agent could run any program on any node. The policy in the
// Kustomize component "annotate" limits the permission to patch pods. Before the agent writes annotations, it sends a
// test request that the policy must refuse. The refusal proves that the policy exists. Without this refusal, the agent
// writes no annotations.
const (
	// Forbidden is the key of an annotation that the policy never allows an agent to write. The agent sends this
	// annotation only in dry-run requests.
	Forbidden = "podlapse.dev/policy-must-refuse-this"
	// provenFor is how long the agent accepts a refusal as proof that the policy exists. After provenFor, the agent
	// tests the policy again, because an administrator can remove the policy.
	provenFor = 10 * time.Minute
	// If a policy refuses a request, the API server's message contains policyWords. To find the message in the source
	// code of Kubernetes, search for "denied" in staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating.
	policyWords = "ValidatingAdmissionPolicy"
)

// errNoPolicy explains why the agent writes no annotations.
var errNoPolicy = errors.New("no policy limits the agent's permission to patch pods: install the " +
	"ValidatingAdmissionPolicy and the ValidatingAdmissionPolicyBinding of the Kustomize component \"annotate\" " +
	"(Kubernetes 1.30 or newer), or use --annotate=off; see docs/annotations.md")

// checkPolicy tests whether a policy limits the agent's permission to patch pods. checkPolicy sends a dry-run request
// that the policy must refuse. If a policy refuses the request, checkPolicy returns nil. If the latest refusal is
// younger than provenFor, checkPolicy returns nil without sending a request.
func (a *Annotator) checkPolicy(ctx context.Context, p annotationRequest) error {
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
