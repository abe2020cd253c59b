package scenario

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// tryPolicy sends dry-run requests with the agent's token. For one request, tryPolicy uses a second token of the
// agent's account. This token does not contain the name of a node. The API server must allow the requests that the
// agent needs, and must refuse all other requests.
func tryPolicy(ctx context.Context, b *bench.Bench, v *Verdict, account, home, token string) error {
	asks := map[string]string{askStartUp: "true", askTime: "", "other": "stays"}
	elsewhere := corev1.PodSpec{NodeName: "absent-" + b.Namespace,
		Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}}}
	if err := b.CreateAnnotatedPod(ctx, "elsewhere", asks, elsewhere); err != nil {
		return err
	}
	here := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}}}
	if err := b.CreateAnnotatedPod(ctx, "here", asks, here); err != nil {
		return err
	}
	if err := b.AwaitReady(ctx, "here", startLimit); err != nil {
		return err
	}
	nameless, err := b.Token(ctx, account, "")
	if err != nil {
		return err
	}
	annotate := func(changes map[string]any) any {
		return map[string]any{"metadata": map[string]any{"annotations": changes}}
	}
	both := annotate(map[string]any{gotStartUp: "{}", gotTime: "now"})
	attempts := []struct {
		what, pod, token string
		change           any
		allowed          bool
	}{
		{"another node's pod", "elsewhere", token, both, false},
		{"a pod of its node, with both annotations", "here", token, both, true},
		{"a pod of its node, with a token that names no node", "here", nameless, both, false},
		{"a pod that does not request its start-up", home, token, annotate(map[string]any{gotStartUp: "{}"}), false},
		{"a pod that does not request the time", home, token, annotate(map[string]any{gotTime: "now"}), false},
		{"another annotation", "here", token, annotate(map[string]any{"another": "x"}), false},
		{"another annotation's value", "here", token, annotate(map[string]any{"other": "changes"}), false},
		{"the removal of another annotation", "here", token, annotate(map[string]any{"other": nil}), false},
		{"an annotation together with a label", "here", token, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{gotTime: "now"}, "labels": map[string]any{"a": "b"}}}, false},
		{"a finalizer", "here", token,
			map[string]any{"metadata": map[string]any{"finalizers": []string{"podlapse.dev/never"}}}, false},
		{"an owner", "here", token, map[string]any{"metadata": map[string]any{"ownerReferences": []any{
			map[string]any{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x"}}}}, false},
		{"the image", "here", token, map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": mainName, "image": "another"}}}}, false},
	}
	patch := func(ctx context.Context, pod, token string, change any) error {
		client, err := b.Node.KubeAs(token, http.Header{})
		if err != nil {
			return err
		}
		defer client.Close()
		return client.MergeLists(ctx, b.PodPath(pod)+"?dryRun=All", change)
	}
	// The API server enforces a new policy after a short delay.
	err = b.Node.Report.Wait(ctx, "the policy to be in force", 30*time.Second, 100*time.Millisecond,
		func(ctx context.Context) error {
			if isForbidden(patch(ctx, attempts[0].pod, attempts[0].token, attempts[0].change)) {
				return nil
			}
			return errors.New("the API server allowed a request that the policy must refuse")
		})
	if err != nil {
		return err
	}
	for _, a := range attempts {
		err := patch(ctx, a.pod, a.token, a.change)
		v.Compared++
		if a.allowed && err != nil || !a.allowed && !isForbidden(err) {
			v.Problem("write with the agent's token (%s): %s, want allowed: %t", a.what, responseOf(err), a.allowed)
		} else {
			v.Note("write with the agent's token (%s): %s", a.what, responseOf(err))
		}
	}
	return nil
}

func isForbidden(err error) bool {
	var status *kube.StatusError
	return errors.As(err, &status) && status.Code == http.StatusForbidden
}

// noRefusals reads the metrics of the current agent. If an annotation request failed or was refused, or if a pod still
// waits for annotations, noRefusals adds a problem to the verdict.
func (v *Verdict) noRefusals(ctx context.Context, b *bench.Bench) error {
	text, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, result := range []string{"written", "conflict", "gone", "refused", "failed"} {
		n, err := metrics.Sum(text, "podlapse_annotation_requests_total", `result="`+result+`"`)
		if err != nil {
			return err
		}
		v.Note("requests of the last agent: %v %s", n, result)
		if (result == "refused" || result == "failed") && n > 0 {
			v.Problem("%v requests of the agent were refused or failed, want 0", n)
		}
	}
	waiting, err := metrics.Sum(text, "podlapse_annotation_waiting_pods")
	if err == nil && waiting != 0 {
		v.Problem("%v pods are still waiting for annotations, want 0", waiting)
	}
	v.Compared += 3
	return err
}
