package podwatch

import (
	"cmp"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func at(second int) time.Time { return time.Date(2026, 8, 17, 12, 0, second, 0, time.UTC) }

// stamp returns an instant in a time zone other than UTC, because client-go decodes timestamps to the local time zone.
func stamp(second int) metav1.Time {
	return metav1.NewTime(at(second).In(time.FixedZone("somewhere", 7200)))
}

func to[T any](v T) *T { return &v }

// fullPod has a value in each field that the agent reads.
var fullPod = &corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{
		UID: "uid", Namespace: "ns", Name: "web-abc12-x", CreationTimestamp: stamp(0), Generation: 2,
		ManagedFields:     []metav1.ManagedFieldsEntry{schedulerEntry(stamp(0))},
		DeletionTimestamp: to(stamp(50)), DeletionGracePeriodSeconds: to(int64(30)),
		Labels: map[string]string{
			podTemplateHash: "abc12", "app": "other", "app.kubernetes.io/unknown": "other",
			"app.kubernetes.io/component": "front", "app.kubernetes.io/instance": "web-1",
			"app.kubernetes.io/managed-by": "helm",
			"app.kubernetes.io/name":       "web", "app.kubernetes.io/part-of": "shop",
			"app.kubernetes.io/version": "5.7",
		},
		Annotations: map[string]string{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-abc12", Controller: to(true)}},
	},
	Spec: corev1.PodSpec{
		NodeName: "node-a", HostNetwork: true, RestartPolicy: corev1.RestartPolicyAlways,
		ResourceClaims:    []corev1.PodResourceClaim{{Name: "gpu"}},
		ImagePullSecrets:  []corev1.LocalObjectReference{{Name: "registry"}},
		PriorityClassName: "high", RuntimeClassName: to("gvisor"),
		ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "g"}},
		Volumes: []corev1.Volume{
			{Name: "none"},
			{Name: "claimed", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1",
				PullPolicy: corev1.PullAlways}}},
			{Name: "again",
				VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1"}}},
		},
		InitContainers: []corev1.Container{
			{Name: "init", Image: "i", ImagePullPolicy: corev1.PullAlways},
			{Name: "proxy", Image: "p", RestartPolicy: to(corev1.ContainerRestartPolicyAlways),
				StartupProbe: &corev1.Probe{PeriodSeconds: 3, TimeoutSeconds: 2, SuccessThreshold: 1}},
			{Name: "once", Image: "o", RestartPolicy: to(corev1.ContainerRestartPolicy("OnFailure"))},
		},
		Containers: []corev1.Container{
			{Name: "app", Image: "a:1", ImagePullPolicy: corev1.PullIfNotPresent, LivenessProbe: &corev1.Probe{},
				ReadinessProbe: &corev1.Probe{
					InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 2},
				Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}},
			{Name: "slow", Image: "s"},
			{Name: "new", Image: "n"},
		},
		EphemeralContainers: []corev1.EphemeralContainer{{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "d",
				ImagePullPolicy: corev1.PullNever},
		}},
	},
	Status: corev1.PodStatus{
		ObservedGeneration: 1,
		Phase:              corev1.PodPending, Reason: "why", QOSClass: corev1.PodQOSBurstable,
		StartTime: to(stamp(1)),
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: stamp(1)},
			{Type: corev1.PodReady, Status: corev1.ConditionUnknown},
		},
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3,
				StartedAt: stamp(5), FinishedAt: stamp(6)}}},
			{Name: "proxy", RestartCount: 1, Started: to(true), Ready: true,
				State: corev1.ContainerState{
					Running: &corev1.ContainerStateRunning{StartedAt: stamp(8)}},
				LastTerminationState: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: stamp(6),
						FinishedAt: stamp(7)}}},
			{Name: "app", Ready: true}, // not an init container
		},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "ghost", RestartCount: 9},
			{Name: "slow",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
					Message: `Back-off pulling image "s": ErrImagePull: s:latest: not found`}}, Started: to(false)},
			{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
				Reason: "ContainerStatusUnknown"}}},
		},
	},
}

// fullConverted is the result that the test expects for fullPod.
var fullConverted = timeline.Pod{
	UID: "uid", RuntimeUID: "uid", Namespace: "ns", Name: "web-abc12-x", Node: "node-a",
	Owner: timeline.Owner{Kind: "Deployment", Name: "web"},
	Traits: &timeline.Traits{
		Controller: timeline.Owner{Kind: "ReplicaSet", Name: "web-abc12"},
		QOSClass:   "Burstable", PriorityClass: "high", RuntimeClass: "gvisor",
		App: timeline.AppLabels{Component: "front", Instance: "web-1", ManagedBy: "helm", Name: "web",
			PartOf: "shop", Version: "5.7"},
	},
	Revision: "abc12", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	Labels: "app=other,app.kubernetes.io/component=front,app.kubernetes.io/instance=web-1," +
		"app.kubernetes.io/managed-by=helm,app.kubernetes.io/name=web,app.kubernetes.io/part-of=shop," +
		"app.kubernetes.io/unknown=other,app.kubernetes.io/version=5.7,pod-template-hash=abc12",
	CreatedAt: at(0), AcknowledgedAt: at(1), DeletedAt: at(20),
	Phase: "Pending", Reason: "why", ReadinessGates: true,
	Generation: 2, KubeletGeneration: 1, UnschedulableAt: at(0), FieldsManaged: true, HostNetwork: true,
	ResourceClaims: true, VolumeClaims: true, RemoteVolumes: true, PullSecrets: true,
	Conditions: []timeline.Condition{{Type: "PodScheduled", True: true, TransitionAt: at(1)}, {Type: "Ready"}},
	Containers: []timeline.Container{
		{Name: "image:data:1", Kind: timeline.KindImageVolume, Image: "data:1", PullPolicy: timeline.PullAlways},
		{Name: "init", Kind: timeline.KindInit, Image: "i", PullPolicy: timeline.PullAlways,
			State: timeline.StateTerminated, StartedAt: at(5), FinishedAt: at(6), ExitCode: 3},
		{Name: "proxy", Kind: timeline.KindSidecar, Image: "p", StartupProbe: true, RestartsAlways: true,
			StartupTiming: timeline.ProbeTiming{Period: 3 * time.Second, Timeout: 2 * time.Second, Successes: 1},
			State:         timeline.StateRunning,
			Attempt:       1, StartedAt: at(8), Started: true, Ready: true,
			LastRun: &timeline.Run{StartedAt: at(6), FinishedAt: at(7), ExitCode: 1}},
		{Name: "once", Kind: timeline.KindInit, Image: "o"},
		{Name: "app", Kind: timeline.KindMain, Image: "a:1", PullPolicy: timeline.PullIfNotPresent,
			LivenessProbe: true, ReadinessProbe: true, MemoryLimited: true, RestartsAlways: true,
			ReadinessTiming: timeline.ProbeTiming{InitialDelay: 5 * time.Second, Period: 10 * time.Second,
				Timeout: time.Second, Successes: 2},
			State: timeline.StateTerminated, ExitCode: 137, EndReason: "ContainerStatusUnknown"},
		{Name: "slow", Kind: timeline.KindMain, Image: "s", State: timeline.StateWaiting, RestartsAlways: true,
			WaitingReason: "ImagePullBackOff", PullFailure: imagepull.FailureNotFound},
		{Name: "new", Kind: timeline.KindMain, Image: "n", RestartsAlways: true},
		{Name: "debug", Kind: timeline.KindEphemeral, Image: "d", PullPolicy: timeline.PullNever, RestartsNever: true},
	},
}

func TestConvertPod(t *testing.T) {
	got := convertPod(fullPod)
	if !reflect.DeepEqual(got, fullConverted) {
		t.Errorf("got %+v\nwant %+v", got, fullConverted)
	}
}

func TestConvertEmptyPod(t *testing.T) {
	want := timeline.Pod{Traits: &timeline.Traits{}, Conditions: []timeline.Condition{},
		Containers: []timeline.Container{}}
	if got := convertPod(&corev1.Pod{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestConvertStaticPod(t *testing.T) {
	got := convertPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: "mirror", Annotations: map[string]string{mirrorAnnotation: "hash", "kubernetes.io/config.hash": "hash",
			readAnnotation: "2026-08-17T14:00:01.123456789+02:00"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node-a",
			Controller: to(true)}},
	}, Spec: corev1.PodSpec{NodeName: "node-a"}})
	if want := at(1).Add(123456789); got.ReadAt != want {
		t.Errorf("read at %s, want %s", got.ReadAt, want)
	}
	if got.UID != "mirror" || got.RuntimeUID != "hash" || got.Owner != (timeline.Owner{Kind: "Node", Name: "node-a"}) {
		t.Errorf("got %+v", got)
	}
}

func TestDeletedAt(t *testing.T) {
	for _, test := range []struct {
		name string
		meta metav1.ObjectMeta
		want time.Time
	}{
		{"not", metav1.ObjectMeta{DeletionGracePeriodSeconds: to(int64(30))}, time.Time{}},
		{"with grace", metav1.ObjectMeta{DeletionTimestamp: to(stamp(40)), DeletionGracePeriodSeconds: to(int64(30))},
			at(10)},
		{"at once", metav1.ObjectMeta{DeletionTimestamp: to(stamp(40)), DeletionGracePeriodSeconds: to(int64(0))},
			at(40)},
		{"grace unknown", metav1.ObjectMeta{DeletionTimestamp: to(stamp(40))}, at(40)},
		{"garbage", metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}, DeletionGracePeriodSeconds: to(int64(30))},
			time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := DeletedAt(&corev1.Pod{ObjectMeta: test.meta}); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestConvertOwner(t *testing.T) {
	const due = "29782800" // the Unix minute of at(0)
	if time.Unix(29782800*60, 0).UTC() != at(0) {
		t.Fatalf("at(0) is minute %d", at(0).Unix()/60)
	}
	job := func(name string) timeline.Owner { return timeline.Owner{Kind: "Job", Name: name} }
	for _, test := range []struct {
		name, kind, owner, hash string
		group                   string // batch if empty
		notController           bool
		want                    timeline.Owner
	}{
		{name: "none"},
		{name: "not the controller", kind: "ReplicaSet", owner: "web-abc", hash: "abc", notController: true},
		{name: "deployment", kind: "ReplicaSet", owner: "web-abc", hash: "abc",
			want: timeline.Owner{Kind: "Deployment", Name: "web"}},
		{name: "replica set of its own", kind: "ReplicaSet", owner: "web-abc",
			want: timeline.Owner{Kind: "ReplicaSet", Name: "web-abc"}},
		{name: "another hash", kind: "ReplicaSet", owner: "web-abc", hash: "bc",
			want: timeline.Owner{Kind: "ReplicaSet", Name: "web-abc"}},
		{name: "nothing but the hash", kind: "ReplicaSet", owner: "-abc", hash: "abc",
			want: timeline.Owner{Kind: "ReplicaSet", Name: "-abc"}},
		{name: "cron job", kind: "Job", owner: "backup-" + due, want: timeline.Owner{Kind: "CronJob", Name: "backup"}},
		{name: "cron job a day ago", kind: "Job", owner: "backup-29781361",
			want: timeline.Owner{Kind: "CronJob", Name: "backup"}},
		{name: "cron job with the longest name", kind: "Job", owner: strings.Repeat("b", 52) + "-" + due,
			want: timeline.Owner{Kind: "CronJob", Name: strings.Repeat("b", 52)}},
		{name: "daemon set", kind: "DaemonSet", owner: "agent", want: timeline.Owner{Kind: "DaemonSet", Name: "agent"}},
		{name: "job", kind: "Job", owner: "backup", want: job("backup")},
		{name: "job with a number", kind: "Job", owner: "backup-12", want: job("backup-12")},
		{name: "job with a date", kind: "Job", owner: "backup-20260817", want: job("backup-20260817")},
		{name: "job with a later minute", kind: "Job", owner: "backup-29782802", want: job("backup-29782802")},
		{name: "job with a minute a day ago", kind: "Job", owner: "backup-29781360", want: job("backup-29781360")},
		{name: "job with a padded minute", kind: "Job", owner: "backup-0" + due, want: job("backup-0" + due)},
		{name: "job with only a minute", kind: "Job", owner: "-" + due, want: job("-" + due)},
		{name: "job with a name too long for a cron job", kind: "Job", owner: strings.Repeat("b", 53) + "-" + due,
			want: job(strings.Repeat("b", 53) + "-" + due)},
		{name: "job with a long number", kind: "Job", owner: "backup-297828000000", want: job("backup-297828000000")},
		{name: "job of another API group", kind: "Job", group: "batch.volcano.sh", owner: "backup-" + due,
			want: job("backup-" + due)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: stamp(1),
				Labels: map[string]string{podTemplateHash: test.hash}}}
			if test.kind != "" {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: cmp.Or(test.group, "batch") + "/v1",
					Kind: test.kind, Name: test.owner, Controller: to(!test.notController)}}
			}
			if got := OwnerOf(p); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestRevision(t *testing.T) {
	for _, test := range []struct {
		name, kind, owner, label, value, want string
	}{
		{name: "none", label: podTemplateHash, value: "abc"},
		{name: "deployment", kind: "ReplicaSet", owner: "web-abc", label: podTemplateHash, value: "abc", want: "abc"},
		{name: "stateful set", kind: "StatefulSet", owner: "db", label: controllerRevisionHash, value: "db-5c4",
			want: "db-5c4"},
		{name: "job", kind: "Job", owner: "backup", label: controllerRevisionHash, value: "x"},
		{name: "cron job", kind: "Job", owner: "backup-29782800", want: "backup-29782800"},
		{name: "job with a minute a day ago", kind: "Job", owner: "backup-29781360"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: stamp(1),
				Labels: map[string]string{test.label: test.value}}}
			if test.kind != "" {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: test.kind, Name: test.owner,
					Controller: to(true)}}
			}
			if got := ownerRevision(p); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOversizedTraceParentIsIgnored(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{"traceparent": strings.Repeat("0", maxTraceParent+1)}}}
	if got := convertPod(p).TraceParent; got != "" {
		t.Errorf("got %q", got)
	}
}
