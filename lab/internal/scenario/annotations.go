package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// Names of annotations. If a pod has the annotation askStartUp, the agent must add the annotation gotStartUp. If a pod
// has the annotation askTime, the agent must add the annotation gotTime.
const (
	askStartUp, gotStartUp = "podlapse.dev/annotate", "podlapse.dev/startup"
	askTime, gotTime       = "addtime", "timestamp"
)

// The scenario "annotations" starts pods that request annotations. While the pods start, the scenario kills the agent,
// and other clients write to the pods. The agent must write each requested annotation exactly once. The scenario also
// sends requests with the agent's own token. The admission policy must refuse each request that the agent does not
// need.
func annotations(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const account, home = "podlapse-agent", "home"
	err := b.CreateAccount(ctx, account,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"},
			Verbs: []string{"list", "watch", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list", "watch"}})
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
	watcher, stop, err := watchAnnotations(ctx, b)
	if err != nil {
		return err
	}
	if err := annotateDuringKills(ctx, b, v, change); err != nil {
		_ = stop()
		return err
	}
	// The pod "home" was ready before the first agent with --annotate started. The scenario adds the request for
	// annotations to this running pod.
	ask := map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{askStartUp: "true", askTime: "late"}}}
	requestedAt := time.Now()
	if err := b.Kube.Merge(ctx, b.PodPath(home), ask); err != nil {
		return err
	}
	if err := awaitAnnotated(ctx, b, home); err != nil {
		return err
	}
	v.Compared++
	if took := time.Since(requestedAt); took > 3*time.Second {
		v.Problem("the running pod %s was annotated %s after its request, want at most 3 s", home, took)
	}
	if err := stop(); err != nil {
		return err
	}
	if err := watcher.checkAnnotations(ctx, b, v); err != nil {
		return err
	}
	if err := annotateAgainstWriters(ctx, b, v); err != nil {
		return err
	}
	// The node of the pod "elsewhere" has no kubelet. With a grace period of 0, the deletion needs no kubelet.
	if err := b.Kube.Delete(ctx, b.PodPath("elsewhere")+"?gracePeriodSeconds=0"); err != nil {
		return err
	}
	return v.noRefusals(ctx, b)
}

// annotateAgainstWriters removes an annotation from pods while other clients write to these pods continuously. The
// agent's copy of a pod is therefore often outdated when the agent writes the annotation again. The agent must not
// overwrite the changes of the other clients.
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
				if b.Kube.ApplyAnnotations(ctx, b.Namespace, annotatedPod(i%pods), fmt.Sprint("hammer-", i),
					change) == nil {
					latest[i] = fmt.Sprint(n)
				}
			}
			return nil
		})
	}
	for i := range pods {
		if err := b.Kube.Merge(ctx, b.PodPath(annotatedPod(i)),
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{gotTime: nil}}}); err != nil {
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
			v.Problem("%s lost another client's annotation: got %q, want %q", pod.Name, got, want)
		}
	}
	after, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	const name = "podlapse_annotation_requests_total"
	count := func(text, result string) float64 {
		// if the value is unreadable, n is 0 and the check below fails
		n, _ := metrics.Sum(text, name, `result="`+result+`"`)
		return n
	}
	written, conflicts := count(after, "written")-count(before, "written"),
		count(after, "conflict")-count(before, "conflict")
	v.Compared += 2
	if written != pods || conflicts == 0 {
		v.Problem("the agent wrote %v annotations, want %d, and met %v conflicts, want at least one", written,
			pods, conflicts)
	}
	v.Note("%d pods with %d writers each: the agent wrote %v annotations after %v conflicts", pods, writers,
		written, conflicts)
	return nil
}

const (
	annotatedPods = 12
	agentKills    = 4
)

func annotatedPod(i int) string { return fmt.Sprintf("asks-%d", i+1) }

// isContended reports whether another client overwrites the pod's annotation with a forced server-side apply.
func isContended(i int) bool { return i%6 == 5 }

// annotateDuringKills starts pods that request annotations. While the pods start, annotateDuringKills kills and
// restarts the agent several times, and writes to the pods continuously.
func annotateDuringKills(ctx context.Context, b *bench.Bench, v *Verdict, change node.AgentChange) error {
	random := rand.New(rand.NewPCG(b.Seed, 0))
	v.Note("the times were drawn with --seed %d", b.Seed)
	pauses := make([]time.Duration, agentKills)
	for i := range pauses {
		pauses[i] = 300*time.Millisecond + time.Duration(random.Int64N(int64(2*time.Second)))
	}
	writing, enough := context.WithCancel(ctx)
	defer enough()
	work, together := errgroup.WithContext(ctx)
	writes := make(chan int, 1)
	go func() { writes <- writeContinuously(writing, b) }()
	for i := range annotatedPods {
		work.Go(func() error {
			if err := sleep(together, time.Duration(i)*500*time.Millisecond); err != nil {
				return err
			}
			name := annotatedPod(i)
			spec := corev1.PodSpec{Containers: []corev1.Container{
				bench.MainContainer(mainName, b.BaseImage, time.Duration(i%3)*time.Second)}}
			if err := b.CreateAnnotatedPod(together, name,
				map[string]string{askStartUp: "true", askTime: "", "changed": "0"}, spec); err != nil {
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
	v.Note("another client wrote to the pods %d times, and the agent was killed %d times", <-writes,
		agentKills)
	return err
}

// writeContinuously writes to the pods until ctx ends. After each write, it pauses for 5 ms. For some pods,
// writeContinuously overwrites the agent's annotation with a forced server-side apply.
func writeContinuously(ctx context.Context, b *bench.Bench) (writes int) {
	for n := 1; ctx.Err() == nil; n++ {
		for i := range annotatedPods {
			change := map[string]string{"changed": fmt.Sprint(n)}
			manager := "other-client"
			if isContended(i) && n%10 == 0 {
				change[gotStartUp], manager = "by force", "overwriter"
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
	return b.Node.Report.Wait(ctx, "the annotations of pod "+name, startLimit, 100*time.Millisecond,
		func(ctx context.Context) error {
			var pod corev1.Pod
			if err := b.Kube.Get(ctx, b.PodPath(name), &pod); err != nil {
				return err
			}
			if pod.Annotations[gotStartUp] == "" || pod.Annotations[gotTime] == "" {
				return fmt.Errorf("an annotation is missing: the pod has the annotations %v", pod.Annotations)
			}
			return nil
		})
}

// startUpAnnotation is the documented content of the annotation podlapse.dev/startup.
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
	if reported.State != "ready" || reported.Error == nil || reported.Verdict == "" || sum-reported.Total > 1e-6 ||
		reported.Total-sum > 1e-6 {
		v.Problem("%s: annotation %s is invalid: want state ready, an error bound, a verdict, and causes that add up",
			pod, text)
	}
	timeline, err := b.Agent.Timeline(ctx, b.Namespace, pod)
	if err != nil {
		v.Problem("%s: %v", pod, err)
		return
	}
	// The current agent might have more or less evidence than the agent that wrote the annotation. Therefore, the total
	// in the annotation and the current total are allowed to differ by the sum of both error bounds.
	total, wrong := timeline.TotalSeconds.Float64()
	most, alsoWrong := timeline.TotalError.Float64()
	if wrong != nil || alsoWrong != nil ||
		reported.Error != nil && math.Abs(reported.Total-total) > most+*reported.Error {
		v.Problem("%s: the annotation states %.3f s, but the API states %v s ±%v s", pod, reported.Total, total, most)
	}
}
