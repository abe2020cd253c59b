package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeauth"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// skewLimit is the largest clock skew that the command `check` accepts. The first phases of a start-up use timestamps
// of two clocks: the control plane's clock and the node's clock.
const skewLimit = 500 * time.Millisecond

// absentNode is a node name that cannot exist, because RFC 6761 reserves the domain "invalid".
const absentNode = "podlapse-check.invalid"

// checkControlPlane tests the API server's response, the agent's permissions, and the clock skew. The agent must have
// the required permissions, and must not be able to read secrets.
func checkControlPlane(ctx context.Context, c config) []finding {
	api, err := newAPIServer(c)
	if err != nil {
		return []finding{{"api server", checkFailed, err.Error(),
			"run the agent in a pod with a ServiceAccount, or set --kubeconfig"}}
	}
	reviews, err := kubeauth.NewClient(api.config)
	if err != nil {
		return []finding{failedRequest("api server", err)}
	}
	k := controlPlane{ctx, c, api, reviews}
	reached := k.reached()
	if reached.outcome != checkOK {
		return []finding{reached, {"pods", checkSkipped, "cannot reach the API server", ""}}
	}
	findings := []finding{reached, k.checkPods(), k.checkLimit(), k.checkEvents(), k.checkSecrets()}
	if c.node.health || c.node.startUp {
		findings = append(findings, k.checkNode())
	}
	if c.webAuth == webAuthKubernetes {
		findings = append(findings, k.webAuth())
	}
	findings = append(findings, k.checkFeatures()...)
	return append(findings, k.checkClocks())
}

// controlPlane tests the API server through the clients that the command `run` uses.
type controlPlane struct {
	ctx     context.Context
	c       config
	api     apiServer
	reviews *kubeauth.Client
}

func (k controlPlane) reached() finding {
	f := finding{subject: "api server", outcome: checkOK}
	ctx, cancel := context.WithTimeout(k.ctx, checkLimit)
	defer cancel()
	body, err := k.api.own.Get().AbsPath("/version").DoRaw(ctx)
	var v apiversion.Info
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		return failedRequest(f.subject,
			fmt.Errorf("get the version of the API server at %s: %w", k.api.config.Host, err))
	}
	f.detail = fmt.Sprintf("Kubernetes %s at %s", v.GitVersion, k.api.config.Host)
	return f
}

// list sends a list request for at most one object, to keep the load on the API server low.
func (k controlPlane) list(client rest.Interface, resource, selector string) error {
	ctx, cancel := context.WithTimeout(k.ctx, checkLimit)
	defer cancel()
	request := client.Get().Resource(resource).Param("limit", "1")
	if selector != "" {
		request.Param("fieldSelector", selector)
	}
	return request.Do(ctx).Error()
}

// failedRequest returns the finding for a failed request to the API server.
func failedRequest(subject string, err error) finding {
	f := finding{subject, checkFailed, err.Error(),
		"check that the API server runs, that --kubeconfig contains the server's address and CA, and that " +
			"no network policy blocks the connection"}
	switch {
	case apierrors.IsUnauthorized(err):
		f.remedy = "the API server rejects the agent's token: check the agent's ServiceAccount and --kubeconfig"
	case apierrors.IsForbidden(err):
		f.remedy = "bind the default ClusterRoles system:basic-user and system:public-info-viewer to the ServiceAccount"
	}
	return f
}

func podsOf(node string) string { return fields.OneTermEqualSelector("spec.nodeName", node).String() }

// checkPods tests whether the agent can list and watch the pods of its node. The command `run` requires the permissions
// to list and to watch the pods.
func (k controlPlane) checkPods() finding {
	f := finding{subject: "pods", outcome: checkOK, detail: "can list and watch the pods of " + k.c.nodeName}
	err := k.listAndWatch("pods", podsOf(k.c.nodeName))
	if err == nil {
		return f
	}
	f.outcome, f.detail = checkFailed, err.Error()
	switch {
	case !apierrors.IsForbidden(err):
		return failedRequest(f.subject, err)
	case k.c.asNode:
		f.remedy = "allow the ServiceAccount the verb impersonate:associated-node on nodes " +
			"(authentication.k8s.io), and the verbs impersonate-on:associated-node:list and :watch on pods; " +
			"run the agent in a pod on " + k.c.nodeName + "; before Kubernetes 1.36, use --impersonate-node=off"
	default:
		f.remedy = "allow the ServiceAccount to list and watch pods, or use --impersonate-node=on to limit the " +
			"agent to pods of its node"
	}
	return f
}

// listAndWatch sends a list request, and then opens and closes a watch. Both requests use the client that reads pods.
func (k controlPlane) listAndWatch(resource, selector string) error {
	if err := k.list(k.api.pods, resource, selector); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(k.ctx, checkLimit)
	defer cancel()
	w, err := k.api.pods.Get().Resource(resource).Param("watch", "true").Param("fieldSelector", selector).
		Param("timeoutSeconds", "1").Watch(ctx)
	if err == nil {
		w.Stop()
	}
	return err
}

// checkLimit reports what limits the agent's access to pods: plain RBAC or node impersonation. With node impersonation,
// checkLimit requests objects that the agent must not read. The API server must refuse each of these requests.
func (k controlPlane) checkLimit() finding {
	f := finding{subject: "limit", outcome: checkOK}
	own := k.list(k.api.own, "pods", "")
	switch {
	case permissionUnknown(own):
		return failedRequest(f.subject, own)
	case !k.c.asNode && own != nil:
		f.detail = "plain RBAC applies, and another authorizer denies reading the pods of all nodes"
	case !k.c.asNode:
		f.detail = "plain RBAC applies: the agent can read the pods of every node; from Kubernetes 1.36, " +
			"--impersonate-node=on limits the agent to the pods of its node"
	case own == nil:
		f.outcome, f.detail = checkFailed, "plain RBAC applies: the agent can read the pods of every node with its "+
			"own identity, so impersonation does not limit the agent"
		f.remedy = "remove all verbs on pods from the ServiceAccount's own rules: impersonation does not require " +
			"these verbs"
	default:
		return k.nodeImpersonationLimit()
	}
	return f
}

func (k controlPlane) nodeImpersonationLimit() finding {
	f := finding{subject: "limit", outcome: checkOK,
		detail: "node impersonation applies: the API server refuses to list all pods, and refuses pods of other nodes"}
	for _, attempt := range []struct{ what, resource, selector string }{
		{"pods of all nodes", "pods", ""}, {"another node's pods", "pods", podsOf(absentNode)},
		{"secrets", "secrets", ""},
	} {
		err := k.list(k.api.pods, attempt.resource, attempt.selector)
		switch {
		case err == nil:
			f.outcome, f.detail = checkFailed, "with the node's identity, the agent can read "+attempt.what
			f.remedy = "check that the API server runs with --authorization-mode=Node,RBAC, and that no rule grants " +
				"additional permissions to the group system:nodes"
			return f
		case permissionUnknown(err):
			return failedRequest(f.subject, err)
		}
	}
	return f
}

// permissionUnknown returns true if a request failed for a reason other than a denied permission. The agent then does
// not know whether it has the permission.
func permissionUnknown(err error) bool { return err != nil && !apierrors.IsForbidden(err) }

func (k controlPlane) checkEvents() finding {
	if k.c.events == eventsOff {
		return finding{"events", checkOff, "--events=off: the times of failed pulls, and of waits for volumes and " +
			"the network, are less precise", ""}
	}
	return k.checkPermissions("events", "can watch the kubelet's Events",
		"allow the ServiceAccount to list and watch events, or use --events=off",
		action{"watch", "", "events"}, action{"list", "", "events"})
}

// checkNode tests whether the agent can list and watch the object of its node.
func (k controlPlane) checkNode() finding {
	f := finding{subject: "node", outcome: checkOK, detail: "can list and watch the object of " + k.c.nodeName}
	err := k.listAndWatch("nodes", fields.OneTermEqualSelector("metadata.name", k.c.nodeName).String())
	switch {
	case err == nil && k.c.node.health && k.c.node.addons.AnyNamespace():
		f.detail += "; --addons has labels but no namespace: any user who can create pods with these labels in any " +
			"namespace can add pods to the node's add-ons"
		return f
	case err == nil:
		return f
	case !apierrors.IsForbidden(err):
		return failedRequest(f.subject, err)
	case k.c.asNode:
		f.remedy = "allow the ServiceAccount impersonate-on:associated-node:list and :watch on nodes, or use " +
			"--node-health=off and --node-startup=off"
	default:
		f.remedy = "allow the ServiceAccount to list and watch nodes, or use --node-health=off and " +
			"--node-startup=off"
	}
	f.outcome, f.detail = checkFailed, err.Error()
	return f
}

func (k controlPlane) webAuth() finding {
	return k.checkPermissions("web auth", "can create TokenReviews and SubjectAccessReviews",
		"give the ServiceAccount the rules of the component metrics-auth, or use --web-auth=none",
		action{"create", "authentication.k8s.io", "tokenreviews"},
		action{"create", "authorization.k8s.io", "subjectaccessreviews"})
}

// action is a verb and a resource of an RBAC rule, for example the verb "list" and the resource "pods".
type action struct{ verb, group, resource string }

// checkPermissions tests whether the agent's own identity has the permission for every action in the argument "needed".
func (k controlPlane) checkPermissions(subject, detail, remedy string, needed ...action) finding {
	for _, a := range needed {
		may, err := k.mayI(k.ctx, a)
		switch {
		case err != nil:
			return failedRequest(subject, err)
		case !may:
			return finding{subject, checkFailed, "RBAC does not allow the verb " + a.verb + " on " + a.resource, remedy}
		}
	}
	return finding{subject, checkOK, detail, ""}
}

func (k controlPlane) mayI(ctx context.Context, a action) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return k.reviews.MayI(ctx, a.verb, a.group, a.resource)
}

// checkSecrets verifies that the agent has no permission to read secrets.
func (k controlPlane) checkSecrets() finding {
	f := finding{subject: "secrets", outcome: checkOK, detail: "cannot be read"}
	may, err := k.mayI(k.ctx, action{"list", "", "secrets"})
	switch {
	case err != nil:
		return failedRequest(f.subject, err)
	case may:
		f.outcome, f.detail = checkFailed, "the agent can read secrets, but does not need this permission"
		f.remedy = "give the agent its own ServiceAccount with the rules in docs/security.md"
	}
	return f
}

// checkClocks computes the clock skew. During the other tests, the API server has sent its time in the header Date of
// its responses.
func (k controlPlane) checkClocks() finding {
	f := finding{subject: "clocks", outcome: checkOK}
	var clocks timeline.Clocks
	for _, seen := range k.api.clock.Waiting() {
		clocks.Observe(seen)
	}
	skew := clocks.Skew()
	f.detail = fmt.Sprintf("the API server's clock is %s to %s ahead of this node's clock",
		skew.Least.Round(time.Millisecond), skew.Most.Round(time.Millisecond))
	switch {
	case !skew.Known():
		f.outcome, f.detail = checkFailed, "the API server's responses have no valid Date header"
		f.remedy = "check whether a proxy between the node and the API server removes or rewrites the Date header"
	case skew.Least > skewLimit || skew.Most < -skewLimit:
		f.outcome, f.remedy = checkFailed, "synchronize the clocks of this node and of the control plane (chrony, "+
			"systemd-timesyncd)"
	}
	return f
}
