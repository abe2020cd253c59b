package annotate

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// part is the annotator's name in package health and in the findings of the command `check`.
const part = "annotations"

// checkLimit is the timeout of one test of the command `check`.
const checkLimit = 5 * time.Second

// Feature returns the removable feature "annotate" (see package feature). The feature consists of the flag --annotate
// and the component that writes annotations.
func Feature() feature.Feature {
	var on bool
	return feature.Feature{
		Flags: flags.Table{flags.Switch("annotate", "ANNOTATE", &on,
			"write annotations to pods that request them through another annotation. A pod with the annotation "+
				"podlapse.dev/annotate: \"true\" gets the annotation podlapse.dev/startup after its start-up. A pod "+
				"with the annotation \"addtime\" (any value) immediately gets the annotation \"timestamp\", which "+
				"contains the current time. Requires a ServiceAccount that can patch pods")},
		CheckAPI: func(ctx context.Context, api feature.APIServer) []feature.Finding {
			if !on {
				return nil
			}
			return []feature.Finding{checkPermissions(ctx, api)}
		},
		Start: func(agent feature.Agent) feature.Hooks {
			if !on {
				return feature.Hooks{}
			}
			a := New(Config{
				Client: agent.Client, NodeName: agent.NodeName, Timelines: agent.Timelines, Now: time.Now,
				Report: agent.Health.Register(part, "not started yet"), Registerer: agent.Registerer,
			})
			return feature.Hooks{
				Follower: podFollower{a}, Changed: a.Changed,
				Components: func() []feature.Component {
					return []feature.Component{{Name: part, Last: true, Run: a.Run}}
				},
			}
		},
	}
}

// podFollower adapts an Annotator to the interface podwatch.Follower.
type podFollower struct{ *Annotator }

// Restarted implements podwatch.Follower. Restarted does nothing, because the annotator ignores restarts.
func (podFollower) Restarted(*corev1.Pod, podwatch.Restart) {}

// checkPermissions tests whether the agent can patch pods, and whether the API server supports policies that limit this
// permission. checkPermissions does not test whether such a policy exists, because reading policies requires another
// permission. The annotator tests the policy before the first write.
func checkPermissions(ctx context.Context, api feature.APIServer) feature.Finding {
	f := feature.Finding{
		Subject: part,
		Detail:  "can patch pods; before its first write, the agent verifies that a policy limits this permission",
	}
	switch may, err := api.May(ctx, "patch", "", "pods"); {
	case err != nil:
		return api.RequestFailed(part, err)
	case !may:
		f.Failed, f.Detail = true, "RBAC does not allow the verb patch on pods"
		f.Remedy = "install the component annotate (annotate.enabled in the chart), or use --annotate=off"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	body, err := api.Client.Get().AbsPath("/apis/admissionregistration.k8s.io/v1").
		SetHeader("Accept", "application/json").DoRaw(ctx)
	var kinds metav1.APIResourceList
	if err == nil {
		err = json.Unmarshal(body, &kinds)
	}
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return api.RequestFailed(part, err)
	case !slices.ContainsFunc(kinds.APIResources,
		func(r metav1.APIResource) bool { return r.Name == "validatingadmissionpolicies" }):
		f.Failed = true
		f.Detail = "can patch pods, but the API server does not support ValidatingAdmissionPolicy to limit this " +
			"permission: the agent does not write annotations"
		f.Remedy = "use Kubernetes 1.30 or newer, or delete the role podlapse-agent-annotate and use --annotate=off"
	}
	return f
}
