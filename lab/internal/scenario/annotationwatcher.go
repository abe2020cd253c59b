package scenario

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// annotationWatcher watches the pods of a bench, and records every value of their annotations.
type annotationWatcher struct {
	mu sync.Mutex
	// The map contains the values of each annotation in chronological order. The first key is the name of the pod. The
	// second key is the name of the annotation. An empty string means that the pod did not have the annotation.
	values map[string]map[string][]string
	last   map[string]corev1.Pod
}

// watchAnnotations watches the pods until the caller calls stop. watchAnnotations returns after the watch has opened,
// so that the watch delivers the first state of each new pod.
func watchAnnotations(ctx context.Context, b *bench.Bench) (w *annotationWatcher, stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	w = &annotationWatcher{values: map[string]map[string][]string{}, last: map[string]corev1.Pod{}}
	opened, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- b.Kube.WatchPods(ctx, b.Namespace, func() { close(opened) }, w.see) }()
	select {
	case <-opened:
		return w, func() error { cancel(); return <-ended }, nil
	case err := <-ended:
		cancel()
		return nil, nil, errors.Join(err, context.Cause(ctx))
	}
}

func (w *annotationWatcher) see(pod corev1.Pod, _ bool, _ time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.values[pod.Name] == nil {
		w.values[pod.Name] = map[string][]string{}
	}
	for _, name := range []string{gotStartUp, gotTime} {
		of := w.values[pod.Name]
		if value := pod.Annotations[name]; len(of[name]) == 0 || of[name][len(of[name])-1] != value {
			of[name] = append(of[name], value)
		}
	}
	w.last[pod.Name] = pod
}

// checkAnnotations requires that each requested annotation is absent first, and then has one value that never changes.
// On some pods, another client overwrites the annotation gotStartUp with a forced server-side apply. On these pods, the
// agent must keep the other client's value.
func (w *annotationWatcher) checkAnnotations(ctx context.Context, b *bench.Bench, v *Verdict) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	forced := 0
	for i := range annotatedPods {
		name := annotatedPod(i)
		for _, annotation := range []string{gotStartUp, gotTime} {
			values := slices.DeleteFunc(slices.Clone(w.values[name][annotation]),
				func(value string) bool { return value == "" || value == "by force" })
			all := w.values[name][annotation]
			v.Compared++
			switch {
			case annotation == gotStartUp && isContended(i):
				at := slices.Index(all, "by force")
				if len(values) > 1 || at >= 0 && at < len(all)-1 {
					v.Problem("%s: the agent overwrote a value that another client had forced: %q", name, all)
				}
				if at >= 0 {
					forced++
				}
			case len(all) != 2 || all[0] != "" || len(values) != 1:
				v.Problem("%s: %s had the values %q, want an empty value and then exactly one value", name, annotation,
					all)
			}
		}
		pod := w.last[name]
		v.checkOwner(pod, isContended(i))
		if !isContended(i) {
			v.startUpAnnotation(ctx, b, name, pod.Annotations[gotStartUp])
		}
		at, err := time.Parse(time.RFC3339, pod.Annotations[gotTime])
		if early := at.Before(pod.CreationTimestamp.Time); err != nil || early || at.After(time.Now()) {
			v.Problem("%s, created %s: annotation timestamp is %q (%v), want a time between creation and now", name,
				pod.CreationTimestamp, pod.Annotations[gotTime], err)
		}
	}
	v.Note("%d pods requested annotations; in every observed version, both annotations had one value; another client "+
		"overwrote the start-up annotation of %d pods by force", annotatedPods, forced)
	var other corev1.Pod
	if err := b.Kube.Get(ctx, b.PodPath("elsewhere"), &other); err != nil {
		return err
	}
	v.Compared++
	if other.Annotations[gotStartUp] != "" || other.Annotations[gotTime] != "" {
		v.Problem("the agent annotated a pod of another node: %v", other.Annotations)
	}
	return nil
}

// checkOwner checks which fields of the pod the field manager "podlapse" owns. This field manager must own the
// requested annotations, and no other field. If "taken" is true, another client is allowed to own the annotation
// gotStartUp.
func (v *Verdict) checkOwner(pod corev1.Pod, taken bool) {
	v.Compared++
	var entries []string
	for _, fields := range pod.ManagedFields {
		if fields.Manager != "podlapse" {
			continue
		}
		raw := fields.FieldsV1.GetRawBytes()
		entries = append(entries, string(fields.Operation)+" "+string(raw))
		if fields.Operation != metav1.ManagedFieldsOperationApply || fields.Subresource != "" ||
			bytes.Count(raw, []byte(`"f:`)) != 2+bytes.Count(raw, []byte(gotStartUp))+bytes.Count(raw,
				[]byte(`"f:`+gotTime)) {
			v.Problem("%s: the field manager podlapse owns more than its annotations: %s", pod.Name, raw)
		}
	}
	all := strings.Join(entries, "; ")
	if len(entries) != 1 || !strings.Contains(all, `"f:`+gotTime+`"`) ||
		!taken && !strings.Contains(all, `"f:`+gotStartUp+`"`) {
		v.Problem("%s: the field manager podlapse owns %s, want one entry with its annotations", pod.Name, all)
	}
}
