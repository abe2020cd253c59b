package cri

import (
	"math"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestFromNanos(t *testing.T) {
	zeroTimeNanos := time.Time{}.UnixNano() // the value that a Go runtime sends for an unknown timestamp
	for nanos, want := range map[int64]time.Time{
		0: {}, -1: {}, zeroTimeNanos: {}, math.MinInt64: {},
		1_700_000_000_123_456_789: time.Unix(1_700_000_000, 123_456_789).UTC(),
	} {
		if got := fromNanos(nanos); !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("fromNanos(%d) = %v, want %v", nanos, got, want)
		}
	}
}

func TestFromTimestamp(t *testing.T) {
	at := time.Unix(1_700_000_000, 7).UTC()
	for _, test := range []struct {
		stamp *timestamppb.Timestamp
		want  time.Time
	}{
		{nil, time.Time{}},
		{timestamppb.New(time.Time{}), time.Time{}},
		{&timestamppb.Timestamp{}, time.Time{}},
		{&timestamppb.Timestamp{Seconds: 1, Nanos: -5}, time.Time{}},
		{timestamppb.New(at), at},
	} {
		if got := fromTimestamp(test.stamp); !got.Equal(test.want) || got.IsZero() != test.want.IsZero() {
			t.Errorf("fromTimestamp(%v) = %v, want %v", test.stamp, got, test.want)
		}
	}
}

func TestConvertContainer(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	listed := &runtimeapi.Container{
		Id: "id", CreatedAt: at(10).UnixNano(), Metadata: &runtimeapi.ContainerMetadata{Name: "other", Attempt: 9},
		Labels: map[string]string{nameLabel: "app"}, Annotations: map[string]string{restartAnnotation: "3"},
	}
	tests := []struct {
		name   string
		listed *runtimeapi.Container
		status *runtimeapi.ContainerStatus
		want   timeline.ContainerRun
	}{
		{"removed meanwhile", listed, nil, timeline.ContainerRun{Name: "app", ID: "id", Attempt: 3, CreatedAt: at(10)}},
		{"running", listed, &runtimeapi.ContainerStatus{State: runtimeapi.ContainerState_CONTAINER_RUNNING,
			StartedAt: at(11).UnixNano(), FinishedAt: at(5).UnixNano(), ExitCode: 1},
			timeline.ContainerRun{Name: "app", ID: "id", Attempt: 3, CreatedAt: at(10), StartedAt: at(11)}},
		{"exited", listed, &runtimeapi.ContainerStatus{State: runtimeapi.ContainerState_CONTAINER_EXITED,
			StartedAt: at(11).UnixNano(), FinishedAt: at(12).UnixNano(), ExitCode: 137},
			timeline.ContainerRun{Name: "app", ID: "id", Attempt: 3, CreatedAt: at(10), StartedAt: at(11),
				FinishedAt: at(12), ExitCode: 137}},
		{"not kubelet's", &runtimeapi.Container{Id: "x", Metadata: &runtimeapi.ContainerMetadata{Name: "m", Attempt: 2},
			Annotations: map[string]string{restartAnnotation: "-1"}}, nil,
			timeline.ContainerRun{Name: "m", ID: "x", Attempt: 2}},
		{"empty", &runtimeapi.Container{}, &runtimeapi.ContainerStatus{}, timeline.ContainerRun{}},
		{"nothing", nil, nil, timeline.ContainerRun{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var status *runStatus
			if test.status != nil {
				status = convertStatus(test.status)
			}
			if got := convertContainer(test.listed, status); got != test.want {
				t.Errorf("got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestConvertImage(t *testing.T) {
	const digest = "sha256:aaaa"
	tests := []struct {
		name, ref string
		image     *runtimeapi.Image
		want      timeline.Image
	}{
		{"absent", "app", nil, timeline.Image{Ref: "app"}},
		{"present", "r.example/app:1",
			&runtimeapi.Image{Size: 7,
				RepoDigests: []string{"r.example/application@sha256:bbbb", "r.example/app@" + digest}},
			timeline.Image{Ref: "r.example/app:1", Present: true, SizeBytes: 7, Digest: digest}},
		{"short name", "app", &runtimeapi.Image{RepoDigests: []string{"docker.io/library/app@" + digest}},
			timeline.Image{Ref: "app", Present: true, Digest: digest}},
		{"of another repository", "app",
			&runtimeapi.Image{RepoDigests: []string{"r.example/app@" + digest, "docker.io", ""}},
			timeline.Image{Ref: "app", Present: true}},
		{"size that cannot be", "not a ref", &runtimeapi.Image{Size: math.MaxUint64},
			timeline.Image{Ref: "not a ref", Present: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := convertImage(test.ref, test.image); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestMajorVersion(t *testing.T) {
	for text, want := range map[string]int{
		"v2.4.2": 2, "2.0.0-rc.1": 2, "1.7.27-k3s1": 1, "v1.6": 1, "10": 10,
		"": -1, "unknown": -1, "v": -1, "-3.1": -1, "v2": 2,
	} {
		got, ok := majorVersion(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("majorVersion(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestRuntimeTextIsPrintable(t *testing.T) {
	version := &runtimeapi.VersionResponse{RuntimeName: "contai\x1b[2Jnerd\n", RuntimeVersion: "v2.4.2\r\u202e"}
	if got, want := runtimeText(version), "contai[2Jnerd 2.4.2"; got != want {
		t.Errorf("runtimeText = %q, want %q", got, want)
	}
}
