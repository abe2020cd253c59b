package cri

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	nameLabel         = "io.kubernetes.container.name"
	restartAnnotation = "io.kubernetes.container.restartCount"
)

// fromNanos converts CRI's Unix nanoseconds, where 0 means not yet.
func fromNanos(nanos int64) time.Time {
	if nanos <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// fromTimestamp converts a timestamp of containerd's stores. A value that is not after the epoch is
// absent.
func fromTimestamp(stamp *timestamppb.Timestamp) time.Time {
	if !stamp.IsValid() || stamp.AsTime().Unix() <= 0 {
		return time.Time{}
	}
	return stamp.AsTime()
}

// convertSandbox leaves the timestamps to the caller, who knows what CRI's created_at means in this
// runtime.
func convertSandbox(sandbox *runtimeapi.PodSandbox) timeline.Sandbox {
	return timeline.Sandbox{
		ID:      sandbox.GetId(),
		Attempt: int(sandbox.GetMetadata().GetAttempt()),
		Ready:   sandbox.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY,
	}
}

// convertContainer merges the listed container with its status, which may be nil.
func convertContainer(listed *runtimeapi.Container, status *runtimeapi.ContainerStatus) timeline.ContainerRun {
	run := timeline.ContainerRun{
		Name:      cmp.Or(listed.GetLabels()[nameLabel], listed.GetMetadata().GetName()),
		ID:        listed.GetId(),
		Attempt:   attempt(listed),
		CreatedAt: fromNanos(listed.GetCreatedAt()),
	}
	if status == nil {
		return run
	}
	run.StartedAt = fromNanos(status.GetStartedAt())
	if status.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
		run.FinishedAt = fromNanos(status.GetFinishedAt())
		run.ExitCode = int(status.GetExitCode())
		run.Reason = shortReason(status.GetReason())
	}
	return run
}

// maxReason is longer than any runtime's reason, in bytes.
const maxReason = 64

// shortReason returns the reason, or an empty string if it is too long.
func shortReason(reason string) string {
	if len(reason) > maxReason {
		return ""
	}
	return strings.Clone(reason)
}

// attempt is the kubelet's restart count, which the kubelet also sends as the attempt in the
// metadata.
func attempt(container *runtimeapi.Container) int {
	n, err := strconv.Atoi(container.GetAnnotations()[restartAnnotation])
	if err != nil || n < 0 {
		return int(container.GetMetadata().GetAttempt())
	}
	return n
}

// convertImage converts CRI's response, which is nil if the image is not on the node.
func convertImage(ref string, image *runtimeapi.Image) timeline.Image {
	if image == nil {
		return timeline.Image{Ref: ref}
	}
	converted := timeline.Image{Ref: ref, Present: true, Digest: digestFor(ref, image.GetRepoDigests())}
	if size := image.GetSize(); size <= 1<<62 {
		converted.SizeBytes = int64(size)
	}
	return converted
}

// digestFor selects, from an image's digests in all repositories it came from, the one in the
// repository that ref names; empty if there is none.
func digestFor(ref string, repoDigests []string) string {
	if len(repoDigests) == 0 {
		return ""
	}
	name, err := imagepull.Normalize(ref)
	if err != nil {
		return ""
	}
	for _, repoDigest := range repoDigests {
		repository, digest, ok := strings.Cut(repoDigest, "@")
		if rest, found := strings.CutPrefix(name, repository); ok && found && strings.IndexAny(rest, ":@") == 0 {
			return digest
		}
	}
	return ""
}

// sortAnswer sorts by age, so that equal answers look equal.
func sortAnswer(seen *timeline.RuntimeSeen) {
	slices.SortFunc(seen.Sandboxes, func(a, b timeline.Sandbox) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(seen.Containers, func(a, b timeline.ContainerRun) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// earliestCreated returns when the first of these containers was created in a sandbox; zero if none
// was.
func earliestCreated(containers []*runtimeapi.Container, sandboxID string) time.Time {
	var earliest time.Time
	for _, c := range containers {
		if c.GetPodSandboxId() == sandboxID {
			earliest = earlier(earliest, fromNanos(c.GetCreatedAt()))
		}
	}
	return earliest
}

// describe names the runtime for people, e.g. `containerd 2.4.2`.
func describe(version *runtimeapi.VersionResponse) string {
	return strings.TrimSpace(version.GetRuntimeName() + " " + strings.TrimPrefix(version.GetRuntimeVersion(), "v"))
}

// majorVersion returns the first number of a version such as v2.4.2 or 1.7.27-k3s1.
func majorVersion(version string) (int, bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}
