package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/audit"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/manifests"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// In the scenario "install", the API server validates the objects of each installation method. For some methods, the
// scenario also compares the permissions that the agent has with the permissions that the agent uses.
func install(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if err := judgeManifests(ctx, b, v); err != nil {
		return err
	}
	// The agent needs the permission "list" only if the API server has no streaming lists. With streaming lists, the
	// scenario would report "list" as an unused permission.
	if err := b.Node.DisableStreamingLists(ctx); err != nil {
		return err
	}
	if err := b.CreateSecret(ctx, "secret"); err != nil {
		return err
	}
	// The installation "own" is the default installation. Only this scenario tests the default installation. In other
	// scenarios, the agent writes files, so it runs as UID 0.
	if err := judgeRights(ctx, b, v, installation{name: "own", bare: true}); err != nil {
		return err
	}
	if err := checkInPod(ctx, b, v, "plain RBAC applies"); err != nil {
		return err
	}
	certified, err := certify(ctx, b)
	if err != nil {
		return err
	}
	guarded := installation{name: "guarded", components: []string{"metrics-auth", "tls"},
		useAllPermissions: func(ctx context.Context) error { return scrapeWithToken(ctx, b, v, certified) }}
	if err := judgeRights(ctx, b, v, guarded); err != nil {
		return err
	}
	if !b.Node.Stack.Has(stack.NodeImpersonation) {
		return nil
	}
	if err := judgeRights(ctx, b, v, installation{name: "mine",
		components: []string{"node-impersonation"}}); err != nil {
		return err
	}
	pod, err := b.Node.AgentPod(ctx)
	if err != nil {
		return err
	}
	token, err := b.TokenOf(ctx, pod)
	if err != nil {
		return err
	}
	if err := tryToken(ctx, b, v, token, false); err != nil {
		return err
	}
	return checkInPod(ctx, b, v, "node impersonation applies")
}

// checkInPod runs "podlapse-agent check" in the agent's container.
func checkInPod(ctx context.Context, b *bench.Bench, v *Verdict, want string) error {
	pod, err := b.Node.AgentPod(ctx)
	if err != nil {
		return err
	}
	stdout, stderr, err := runInAgent(ctx, b, pod, "check")
	v.Compared++
	if err != nil {
		v.Problem("podlapse-agent check in the agent's pod: %v, want no error in\n%s%s", err, stdout, stderr)
	} else if !strings.Contains(stdout, want) {
		v.Problem("podlapse-agent check in the agent's pod: %q is missing in\n%s%s", want, stdout, stderr)
	}
	for line := range strings.Lines(stdout) {
		v.Note("check in pod %s: %s", pod.Name, strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// runInAgent uses the container runtime to run the agent's program in the agent's container. runInAgent does not use
// kubectl exec, because the API server cannot reach the kubelet.
func runInAgent(ctx context.Context, b *bench.Bench, pod corev1.Pod,
	args ...string) (stdout, stderr string, err error) {
	pipes, err := os.MkdirTemp(b.Node.Run, "exec-")
	if err != nil {
		return "", "", fmt.Errorf("run podlapse-agent in the agent's pod: %w", err)
	}
	defer os.RemoveAll(pipes)
	container, err := node.ContainerID(pod, "agent")
	if err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, b.Node.Programs.RuntimeTool("ctr"),
		append([]string{"--address", b.Node.ContainerdSocket(), "--namespace", "k8s.io",
			"tasks", "exec", "--exec-id", "lab", "--fifo-dir", pipes, container, "/podlapse-agent"}, args...)...)
	var out, failures strings.Builder // standard error also contains warnings of ctr itself
	cmd.Stdout, cmd.Stderr = &out, &failures
	err = cmd.Run()
	return out.String(), failures.String(), err
}

// judgeManifests uninstalls the agent. Then it applies the manifests of each installation method in a dry run. The API
// server refuses unknown fields and values of the wrong type. For kinds that Kubernetes itself does not define,
// judgeManifests installs the real CustomResourceDefinitions.
func judgeManifests(ctx context.Context, b *bench.Bench, v *Verdict) error {
	variants, err := renderVariants(b.Node)
	if err != nil {
		return err
	}
	// If an object already exists, a dry run does not detect that its manifest lacks a required field.
	if err := b.Node.UninstallAgent(ctx); err != nil {
		return err
	}
	definitions, err := manifests.Definitions(ctx)
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := b.ApplyOwned(ctx, definition); err != nil {
			return err
		}
	}
	objects := 0
	for _, variant := range variants {
		documents, err := manifests.Documents(variant.Objects)
		if err != nil {
			return err
		}
		for _, document := range documents {
			if err := dryRun(ctx, b, document); err != nil {
				v.Problem("%s: %v", variant.Name, err)
			}
			objects++
		}
	}
	v.Compared += objects
	v.Note("the API server accepts %d objects of %d ways to install the agent, strictly, in a dry run", objects,
		len(variants))
	return requireStrictChart(ctx, b, v)
}

// dryRun applies an object in a dry run. dryRun first waits until the API server serves the kind of the object.
func dryRun(ctx context.Context, b *bench.Bench, document []byte) error {
	err := b.Node.Report.Wait(ctx, "the API server to serve a kind", 20*time.Second, 100*time.Millisecond,
		func(ctx context.Context) error {
			return b.Kube.Knows(ctx, document)
		})
	if err != nil {
		return err
	}
	return b.Kube.Apply(ctx, "podlapse-lab-dry-run", document, true)
}

// requireStrictChart requires that the API server refuses objects with mistakes. If the API server accepted mistakes,
// the dry run would not prove that the manifests are valid.
func requireStrictChart(ctx context.Context, b *bench.Bench, v *Verdict) error {
	for want, mistake := range map[string]string{
		".spec.template.spec.hostNetworks: field not declared in schema": `{apiVersion: apps/v1, kind: DaemonSet, ` +
			`metadata: {name: x, namespace: podlapse}, ` +
			`spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, ` +
			`spec: {hostNetworks: true, containers: [{name: a, image: a}]}}}}`,
		"spec.podMetricsEndpoints[0].interval": `{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, ` +
			`metadata: {name: x, namespace: podlapse}, ` +
			`spec: {selector: {}, podMetricsEndpoints: [{interval: soon}]}}`,
		"spec.groups[0].rules[0].expr": `{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, ` +
			`metadata: {name: x, namespace: podlapse}, ` +
			`spec: {groups: [{name: g, rules: [{record: r}]}]}}`,
		"allowHostPorts": `{apiVersion: security.openshift.io/v1, kind: SecurityContextConstraints, ` +
			`metadata: {name: x}, allowHostPorts: perhaps}`,
	} {
		err := b.Kube.Apply(ctx, "podlapse-lab-dry-run", []byte(mistake), true)
		v.Compared++
		if err == nil {
			v.Problem("the API server must refuse a wrong %s, but accepted the object", want)
		} else if !strings.Contains(err.Error(), want) {
			v.Problem("the API server must name the wrong field %s, but responded: %v", want, err)
		}
	}
	return nil
}

func renderVariants(n node.Node) ([]manifests.Variant, error) {
	source, err := build.FindSource()
	if err != nil {
		return nil, err
	}
	if source, err = filepath.EvalSymlinks(source); err != nil {
		return nil, fmt.Errorf("render manifests: %w", err)
	}
	scratch, err := os.MkdirTemp(n.State, "manifests-")
	if err != nil {
		return nil, fmt.Errorf("render manifests: %w", err)
	}
	defer os.RemoveAll(scratch)
	return manifests.Variants(node.Manifests(source), scratch)
}

// installation describes one way to deploy the agent.
type installation struct {
	name       string // name of the pod whose start-up the agent reports
	bare       bool   // if true, the agent is deployed without a state directory: see DeployBase
	components []string
	// After the start-up of the pod, useAllPermissions makes the agent use its remaining permissions. If the start-up
	// makes the agent use all its permissions, useAllPermissions is nil.
	useAllPermissions func(context.Context) error
}

// judgeRights deploys the agent. Then judgeRights starts a pod for which the agent uses all its data sources. The agent
// must use exactly the permissions that it has.
func judgeRights(ctx context.Context, b *bench.Bench, v *Verdict, i installation) error {
	deploy := func() error { return b.Node.DeployAgent(ctx, i.components...) }
	if i.bare {
		deploy = func() error { return b.Node.DeployBase(ctx) }
	}
	if err := deploy(); err != nil {
		return err
	}
	cold, err := b.Image(ctx, i.name, 1<<20)
	if err != nil {
		return err
	}
	timeline, err := startWithSecret(ctx, b, i.name, cold)
	if err != nil {
		return err
	}
	v.Contract(timeline)
	if i.useAllPermissions != nil {
		if err := i.useAllPermissions(ctx); err != nil {
			return err
		}
	}
	pod, err := b.Node.AgentPod(ctx)
	if err != nil {
		return err
	}
	granted, err := rightsOf(ctx, b, pod)
	if err != nil {
		return err
	}
	var use audit.Use
	// A short wait is enough. If the agent does not use a permission during the wait, the verdict reports this
	// permission.
	_ = b.Node.Report.Wait(ctx, "the agent to use all its permissions", 5*time.Second, 200*time.Millisecond,
		func(context.Context) error {
			if use, err = audit.Of(b.Node.AuditLog(), pod.Name); err != nil {
				return err
			}
			if !slices.Equal(use.Rights, granted) {
				return errors.New("the agent still has unused permissions")
			}
			return nil
		})
	if err != nil {
		return err
	}
	what := strings.Join(append([]string{"base"}, i.components...), " with ")
	v.Compared += 2
	if slices.Equal(use.Rights, granted) {
		v.Note("%s: according to the API server's audit log, the agent has and used %q", what, granted)
	} else {
		v.Problem("%s: the agent has the permissions %q but used %q, want the same list", what, granted, use.Rights)
	}
	if len(use.Refused) > 0 {
		v.Problem("%s: the API server refused requests of the agent: %q", what, use.Refused)
	}
	return nil
}

// startWithSecret starts a pod that mounts the Secret, so the Node authorizer allows the node to read the Secret. If
// the API server refuses the agent's request for the Secret, only the impersonation rules can be the reason.
func startWithSecret(ctx context.Context, b *bench.Bench, name, image string) (agent.Timeline, error) {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}},
		Volumes: []corev1.Volume{bench.SecretVolume("secret")}}
	if err := b.CreatePod(ctx, name, spec); err != nil {
		return agent.Timeline{}, err
	}
	if err := b.AwaitReady(ctx, name, startLimit); err != nil {
		return agent.Timeline{}, err
	}
	return b.AwaitSettled(ctx, name)
}

// rightsOf returns the permissions of a pod's account. rightsOf omits the permissions that every account has. rightsOf
// sends its requests with a separate token, so the audit log does not attribute these requests to the pod.
func rightsOf(ctx context.Context, b *bench.Bench, pod corev1.Pod) ([]string, error) {
	token, err := b.AccountToken(ctx, pod.Namespace, pod.Spec.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	own, err := reviewRules(ctx, b, token)
	if err != nil {
		return nil, err
	}
	if token, err = b.AccountToken(ctx, b.Namespace, "default"); err != nil {
		return nil, err
	}
	common, err := reviewRules(ctx, b, token)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(own, func(right string) bool { return slices.Contains(common, right) }), nil
}

func reviewRules(ctx context.Context, b *bench.Bench, token string) ([]string, error) {
	client, err := b.Node.KubeAs(token, http.Header{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	review := authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: node.AgentNamespace}}
	if err := client.CreateInto(ctx, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review,
		&review); err != nil {
		return nil, fmt.Errorf("review the permissions of a token: %w", err)
	}
	var rules []rbacv1.PolicyRule
	for _, rule := range review.Status.ResourceRules {
		rules = append(rules, rbacv1.PolicyRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups,
			Resources: rule.Resources})
	}
	for _, rule := range review.Status.NonResourceRules {
		rules = append(rules, rbacv1.PolicyRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
	}
	return audit.Granted(rules), nil
}
