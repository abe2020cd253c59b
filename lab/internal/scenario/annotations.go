package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// What a pod asks with and gets.
const (
	askStartUp, gotStartUp = "podlapse.dev/annotate", "podlapse.dev/startup"
	askTime, gotTime       = "addtime", "timestamp"
)

// annotations has pods ask for annotations while the agent is killed and somebody else writes to the same pods: each gets what it
// asks for once. Then it tries the agent's own token on all that the policy must refuse.
func annotations(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const account, home = "podlapse-agent", "home"
	err := b.CreateAccount(ctx, account,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"watch"}})
	if err != nil {
		return err
	}
	if err := b.ApplyOf(ctx, "annotate", "policy.yaml"); err != nil {
		return err
	}
	token, err := homeToken(ctx, b, account, home)
	if err != nil {
		return err
	}
	if err := tryPolicy(ctx, b, v, account, home, token); err != nil {
		return err
	}
	kubeconfig, err := b.Node.TokenKubeconfig("scenario-agent", token)
	if err != nil {
		return err
	}
	change := node.AgentChange{Flags: []string{"--kubeconfig=" + kubeconfig, "--annotate"}}
	if err := b.Node.RestartAgentWith(ctx, change); err != nil {
		return err
	}
	witnessed, stop := witnessAnnotations(ctx, b)
	if err := annotateAmidTrouble(ctx, b, v, change); err != nil {
		_ = stop()
		return err
	}
	// A pod that was over before the agents came, and one that asks late.
	ask := map[string]any{"metadata": map[string]any{"annotations": map[string]string{askStartUp: "true", askTime: "late"}}}
	askedAt := time.Now()
	if err := b.Kube.Merge(ctx, b.PodPath(home), ask); err != nil {
		return err
	}
	if err := awaitAnnotated(ctx, b, home); err != nil {
		return err
	}
	v.Compared++
	if took := time.Since(askedAt); took > 3*time.Second {
		v.Problem("%s, which ran, was annotated %s after it asked", home, took)
	}
	if err := stop(); err != nil {
		return err
	}
	if err := witnessed.judge(ctx, b, v); err != nil {
		return err
	}
	if err := annotateAgainstWriters(ctx, b, v); err != nil {
		return err
	}
	// No kubelet would end it.
	if err := b.Kube.Delete(ctx, b.PodPath("elsewhere")+"?gracePeriodSeconds=0"); err != nil {
		return err
	}
	return v.noRefusals(ctx, b)
}

// annotateAgainstWriters takes an annotation from pods to which others write all the time, so that most versions are old
// when the agent writes: it has to be written again, and nothing of the others' may be lost.
func annotateAgainstWriters(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const pods, writers = 4, 2
	before, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	hammering, enough := context.WithCancel(ctx)
	defer enough()
	var hammers errgroup.Group
	latest := make([]string, pods*writers)
	for i := range latest {
		hammers.Go(func() error {
			for n := 0; hammering.Err() == nil; n++ {
				change := map[string]string{fmt.Sprint("hammered-", i): fmt.Sprint(n)}
				if b.Kube.ApplyAnnotations(ctx, b.Namespace, annotatedPod(i%pods), fmt.Sprint("hammer-", i), change) == nil {
					latest[i] = fmt.Sprint(n)
				}
			}
			return nil
		})
	}
	for i := range pods {
		if err := b.Kube.Merge(ctx, b.PodPath(annotatedPod(i)), map[string]any{"metadata": map[string]any{"annotations": map[string]any{gotTime: nil}}}); err != nil {
			return err
		}
	}
	for i := range pods {
		if err := awaitAnnotated(ctx, b, annotatedPod(i)); err != nil {
			return err
		}
	}
	enough()
	_ = hammers.Wait()
	for i, want := range latest {
		var pod corev1.Pod
		if err := b.Kube.Get(ctx, b.PodPath(annotatedPod(i%pods)), &pod); err != nil {
			return err
		}
		v.Compared++
		if got := pod.Annotations[fmt.Sprint("hammered-", i)]; got != want {
			v.Problem("%s lost what somebody else wrote: has %q, was %q", pod.Name, got, want)
		}
	}
	after, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	const name = "podlapse_annotation_requests_total"
	count := func(text, result string) float64 {
		n, _ := metrics.Sum(text, name, `result="`+result+`"`) // what cannot be read is 0, and then too few
		return n
	}
	written, conflicts := count(after, "written")-count(before, "written"), count(after, "conflict")-count(before, "conflict")
	v.Compared += 2
	if written != pods || conflicts == 0 {
		v.Problem("%v annotations were written instead of %d, with %v conflicts instead of some", written, pods, conflicts)
	}
	v.Note("%d pods, %d writers each: %v annotations written after %v conflicts", pods, writers, written, conflicts)
	return nil
}

const (
	annotatedPods = 12
	agentKills    = 4
)

func annotatedPod(i int) string { return fmt.Sprintf("asks-%d", i+1) }

// contended says of a pod that somebody else wants to have the last word about its annotation.
func contended(i int) bool { return i%6 == 5 }

// annotateAmidTrouble starts pods, kills agents, and writes to the pods all the time.
func annotateAmidTrouble(ctx context.Context, b *bench.Bench, v *Verdict, change node.AgentChange) error {
	random := rand.New(rand.NewPCG(b.Seed, 0))
	v.Note("the moments were drawn with --seed %d", b.Seed)
	pauses := make([]time.Duration, agentKills)
	for i := range pauses {
		pauses[i] = 300*time.Millisecond + time.Duration(random.Int64N(int64(2*time.Second)))
	}
	meddling, enough := context.WithCancel(ctx)
	defer enough()
	work, together := errgroup.WithContext(ctx)
	meddled := make(chan int, 1)
	go func() { meddled <- meddle(meddling, b) }()
	for i := range annotatedPods {
		work.Go(func() error {
			if err := sleep(together, time.Duration(i)*500*time.Millisecond); err != nil {
				return err
			}
			name := annotatedPod(i)
			spec := corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, b.BaseImage, time.Duration(i%3)*time.Second)}}
			if err := b.CreateAnnotatedPod(together, name, map[string]string{askStartUp: "true", askTime: "", "meddled": "0"}, spec); err != nil {
				return err
			}
			return awaitAnnotated(together, b, name)
		})
	}
	work.Go(func() error {
		for _, pause := range pauses {
			if err := sleep(together, pause); err != nil {
				return err
			}
			if err := b.Node.KillAgent(); err != nil {
				return err
			}
			if err := b.Node.RestartAgentWith(together, change); err != nil {
				return err
			}
		}
		return nil
	})
	err := work.Wait()
	enough()
	v.Note("somebody else wrote to the pods %d times meanwhile, the agent was killed %d times", <-meddled, agentKills)
	return err
}

// meddle writes to the pods as fast as the API server answers, and takes the annotation of some by force.
func meddle(ctx context.Context, b *bench.Bench) (writes int) {
	for n := 1; ctx.Err() == nil; n++ {
		for i := range annotatedPods {
			change := map[string]string{"meddled": fmt.Sprint(n)}
			manager := "meddler"
			if contended(i) && n%10 == 0 {
				change[gotStartUp], manager = "by force", "usurper"
			}
			err := b.Kube.ApplyAnnotations(ctx, b.Namespace, annotatedPod(i), manager, change)
			if err == nil {
				writes++
			}
			if errors.Is(sleep(ctx, 5*time.Millisecond), context.Canceled) {
				return writes
			}
		}
	}
	return writes
}

func awaitAnnotated(ctx context.Context, b *bench.Bench, name string) error {
	return b.Node.Report.Wait(ctx, "the annotations of pod "+name, startLimit, 100*time.Millisecond, func(ctx context.Context) error {
		var pod corev1.Pod
		if err := b.Kube.Get(ctx, b.PodPath(name), &pod); err != nil {
			return err
		}
		if pod.Annotations[gotStartUp] == "" || pod.Annotations[gotTime] == "" {
			return fmt.Errorf("it has %v", pod.Annotations)
		}
		return nil
	})
}

// tryPolicy asks the API server, in dry runs, for what the agent's token must be good for and for what it must not.
func tryPolicy(ctx context.Context, b *bench.Bench, v *Verdict, account, home, token string) error {
	asks := map[string]string{askStartUp: "true", askTime: "", "other": "stays"}
	elsewhere := corev1.PodSpec{NodeName: "node-2", Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}}}
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
		{"its node's pod with a token that names no node", "here", nameless, both, false},
		{"a pod that does not ask for its start-up", home, token, annotate(map[string]any{gotStartUp: "{}"}), false},
		{"a pod that does not ask for the time", home, token, annotate(map[string]any{gotTime: "now"}), false},
		{"another annotation", "here", token, annotate(map[string]any{"another": "x"}), false},
		{"another annotation's value", "here", token, annotate(map[string]any{"other": "changes"}), false},
		{"another annotation's end", "here", token, annotate(map[string]any{"other": nil}), false},
		{"an annotation beside a label", "here", token, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{gotTime: "now"}, "labels": map[string]any{"a": "b"}}}, false},
		{"a finalizer", "here", token, map[string]any{"metadata": map[string]any{"finalizers": []string{"podlapse.dev/never"}}}, false},
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
	// The API server needs a moment to put a policy into force.
	err = b.Node.Report.Wait(ctx, "the policy to be in force", 30*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		if isForbidden(patch(ctx, attempts[0].pod, attempts[0].token, attempts[0].change)) {
			return nil
		}
		return errors.New("what it is to refuse is allowed")
	})
	if err != nil {
		return err
	}
	for _, a := range attempts {
		err := patch(ctx, a.pod, a.token, a.change)
		v.Compared++
		if a.allowed && err != nil || !a.allowed && !isForbidden(err) {
			v.Problem("the agent's token on %s: %s, allowed is to be %t", a.what, answerOf(err), a.allowed)
		} else {
			v.Note("the agent's token on %s: %s", a.what, answerOf(err))
		}
	}
	return nil
}

func isForbidden(err error) bool {
	var status *kube.StatusError
	return errors.As(err, &status) && status.Code == http.StatusForbidden
}

// noRefusals wants the agent that is there to have been let do all that it asked for.
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
			v.Problem("the API server refused or failed %v requests of the agent", n)
		}
	}
	waiting, err := metrics.Sum(text, "podlapse_annotation_waiting_pods")
	if err == nil && waiting != 0 {
		v.Problem("%v pods wait for annotations", waiting)
	}
	v.Compared += 3
	return err
}

// startUpAnnotation is what a pod got, from its documentation alone.
type startUpAnnotation struct {
	State   string             `json:"state"`
	Total   float64            `json:"total_seconds"`
	Error   *float64           `json:"error_seconds"`
	Causes  map[string]float64 `json:"seconds_by_cause"`
	Verdict string             `json:"verdict"`
}

func (v *Verdict) startUpAnnotation(ctx context.Context, b *bench.Bench, pod, text string) {
	var reported startUpAnnotation
	if err := json.Unmarshal([]byte(text), &reported); err != nil {
		v.Problem("%s: annotation %s: %v", pod, text, err)
		return
	}
	sum := 0.0
	for _, seconds := range reported.Causes {
		sum += seconds
	}
	v.Compared += 2
	if reported.State != "ready" || reported.Error == nil || reported.Verdict == "" || sum-reported.Total > 1e-6 || reported.Total-sum > 1e-6 {
		v.Problem("%s: annotation %s does not add up", pod, text)
	}
	timeline, err := b.Agent.Timeline(ctx, b.Namespace, pod)
	if err != nil {
		v.Problem("%s: %v", pod, err)
		return
	}
	// The agent that wrote it may have known more, or less, than the one that is there now.
	total, wrong := timeline.TotalSeconds.Float64()
	most, alsoWrong := timeline.TotalError.Float64()
	if wrong != nil || alsoWrong != nil || reported.Error != nil && math.Abs(reported.Total-total) > most+*reported.Error {
		v.Problem("%s: annotated %.3f s, the API says %v s ±%v s", pod, reported.Total, total, most)
	}
}
