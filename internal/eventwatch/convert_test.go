package eventwatch

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// kubeletEvent returns an Event that the kubelet creates at madeAt.
func kubeletEvent(podUID, reason string, madeAt time.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("pod.%x", madeAt.UnixNano())},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "pod", UID: types.UID(podUID),
			FieldPath: "spec.containers{app}"},
		Source: corev1.EventSource{Component: "kubelet", Host: nodeName},
		Reason: reason, Message: reason + " it", Count: 1,
		FirstTimestamp: metav1.NewTime(madeAt.Truncate(time.Second)),
		LastTimestamp:  metav1.NewTime(madeAt.Truncate(time.Second)),
	}
}

func TestConvertEvent(t *testing.T) {
	created := at(10).Add(123456789)
	arrived, opened := created.Add(20*time.Millisecond), at(0)
	base := timeline.EventSeen{
		UID: "pod", ArrivedAt: arrived, Live: true, Container: "app", Reason: "Pulling", Message: "Pulling it",
		NamedAt: created, FirstAt: at(10), LastAt: at(10), Count: 1,
	}
	for _, test := range []struct {
		name   string
		change func(*corev1.Event)
		want   func(*timeline.EventSeen)
		opened time.Time
	}{
		{name: "as kubelet makes it"},
		{name: "in the burst of a new watch", opened: arrived.Add(-kubeclient.CatchUp + 1),
			want: func(w *timeline.EventSeen) { w.Live = false }},
		{name: "a repeat", change: func(e *corev1.Event) {
			e.Count, e.FirstTimestamp = 3, metav1.NewTime(at(4))
			e.Name = fmt.Sprintf("pod.with.dots.%x", at(4).Add(5).UnixNano())
		}, want: func(w *timeline.EventSeen) { w.Count, w.FirstAt, w.NamedAt = 3, at(4), at(4).Add(5) }},
		{name: "sent late", change: func(e *corev1.Event) {
			e.FirstTimestamp, e.LastTimestamp = metav1.NewTime(at(7)), metav1.NewTime(at(7))
		}, want: func(w *timeline.EventSeen) {
			w.Live, w.FirstAt, w.LastAt, w.NamedAt = false, at(7), at(7), time.Time{}
		}},
		{name: "named otherwise", change: func(e *corev1.Event) { e.Name = "3a5e6b1c-7cf0-4a9e-8d0a-2f3c4d5e6f70" },
			want: func(w *timeline.EventSeen) { w.NamedAt = time.Time{} }},
		{name: "a name that is not hex", change: func(e *corev1.Event) { e.Name = "pod.xyz" },
			want: func(w *timeline.EventSeen) { w.NamedAt = time.Time{} }},
		{name: "a name beyond 64 bits", change: func(e *corev1.Event) { e.Name = "pod.ffffffffffffffffff" },
			want: func(w *timeline.EventSeen) { w.NamedAt = time.Time{} }},
		{name: "a hex name of another second", change: func(e *corev1.Event) { e.Name = "pod.abc" },
			want: func(w *timeline.EventSeen) { w.NamedAt = time.Time{} }},
		{name: "no stamps", change: func(e *corev1.Event) {
			e.FirstTimestamp, e.LastTimestamp, e.Count = metav1.Time{}, metav1.Time{}, 0
		},
			want: func(w *timeline.EventSeen) {
				w.Live, w.NamedAt, w.FirstAt, w.LastAt = false, time.Time{}, time.Time{}, time.Time{}
			}},
		{name: "event time alone", change: func(e *corev1.Event) {
			e.FirstTimestamp, e.LastTimestamp, e.EventTime = metav1.Time{}, metav1.Time{}, metav1.NewMicroTime(created)
		}},
		{name: "of the pod", change: func(e *corev1.Event) { e.InvolvedObject.FieldPath = "" },
			want: func(w *timeline.EventSeen) { w.Container = "" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			event, want := kubeletEvent("runtime-pod", "Pulling", created), base
			if test.change != nil {
				test.change(event)
			}
			if test.want != nil {
				test.want(&want)
			}
			if test.opened.IsZero() {
				test.opened = opened
			}
			if got := convertEvent(event, "pod", test.opened, arrived); got != want {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestContainerOf(t *testing.T) {
	for path, want := range map[string]string{
		"spec.containers{app}": "app", "spec.initContainers{i-1}": "i-1", "spec.ephemeralContainers{debug}": "debug",
		"spec.containers{" + strings.Repeat("x", maxContainerName) + "}":   strings.Repeat("x", maxContainerName),
		"spec.containers{" + strings.Repeat("x", maxContainerName+1) + "}": "",
		"": "", "spec.containers": "", "spec.containers{app": "", "spec.volumes{app}": "", "spec.containers[0]": "",
		"{": "",
	} {
		if got := containerOf(path); got != want {
			t.Errorf("containerOf(%q) = %q, want %q", path, got, want)
		}
	}
}

func FuzzConvertEvent(f *testing.F) {
	f.Add("pod.17f5c2b1a2b3c4d5", "spec.containers{app}", "Pulling image", int64(1_700_000_000), int32(1))
	f.Add("", "", "\xff", int64(-1), int32(-5))
	f.Fuzz(func(t *testing.T, name, fieldPath, message string, first int64, count int32) {
		seen := convertEvent(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name},
			InvolvedObject: corev1.ObjectReference{FieldPath: fieldPath},
			Message:        message, Count: count, FirstTimestamp: metav1.Unix(first, 0),
		}, "pod", at(0), at(1))
		if len(seen.Message) > untrusted.MaxMessage || !utf8.ValidString(seen.Message) || seen.Count < 1 {
			t.Errorf("%+v", seen)
		}
		if !seen.NamedAt.IsZero() &&
			(seen.NamedAt.Before(seen.FirstAt) || !seen.NamedAt.Before(seen.FirstAt.Add(time.Second))) {
			t.Errorf("named at %v, first at %v", seen.NamedAt, seen.FirstAt)
		}
		if seen.LastAt.Before(seen.FirstAt) {
			t.Errorf("last at %v, first at %v", seen.LastAt, seen.FirstAt)
		}
	})
}
