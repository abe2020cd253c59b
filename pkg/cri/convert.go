package cri

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	nameLabel         = "io.kubernetes.container.name"
	restartAnnotation = "io.kubernetes.container.restartCount"
)

// fromNanos converts a timestamp from CRI, in nanoseconds since the Unix epoch. The value 0 means that the event has
// not happened yet.
func fromNanos(nanos int64) time.Time {
	if nanos <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// fromTimestamp converts a timestamp from containerd's stores. If the timestamp is invalid or not after the Unix epoch,
// fromTimestamp returns the zero time.
func fromTimestamp(stamp *timestamppb.Timestamp) time.Time {
	if !stamp.IsValid() || stamp.AsTime().Unix() <= 0 {
		return time.Time{}
	}
	return stamp.AsTime()
}

// convertSandbox converts CRI's description of a sandbox, except for the timestamps. The meaning of CRI's created_at
// depends on the runtime, and only the caller knows the runtime.
func convertSandbox(sandbox *runtimeapi.PodSandbox) timeline.Sandbox {
	return timeline.Sandbox{
		ID:      sandbox.GetId(),
		Attempt: int(sandbox.GetMetadata().GetAttempt()),
		Ready:   sandbox.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY,
	}
}

// runStatus is the status of a container, with only the fields that the agent reads.
type runStatus struct {
	startedAt, finishedAt int64 // Unix nanoseconds
	exitCode              int32
	exited                bool
	reason                string
}

func convertStatus(status *runtimeapi.ContainerStatus) *runStatus {
	run := &runStatus{startedAt: status.GetStartedAt()}
	if status.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
		run.exited, run.finishedAt, run.exitCode = true, status.GetFinishedAt(), status.GetExitCode()
		run.reason = shortReason(status.GetReason())
	}
	return run
}

// convertContainer converts a container from CRI's list of containers, and adds the facts from the container's status.
// The argument "status" can be nil.
func convertContainer(listed *runtimeapi.Container, status *runStatus) timeline.ContainerRun {
	run := timeline.ContainerRun{
		Name:      cmp.Or(listed.GetLabels()[nameLabel], listed.GetMetadata().GetName()),
		ID:        listed.GetId(),
		Attempt:   attemptOf(listed),
		CreatedAt: fromNanos(listed.GetCreatedAt()),
	}
	if status == nil {
		return run
	}
	run.StartedAt = fromNanos(status.startedAt)
	if status.exited {
		run.FinishedAt, run.ExitCode, run.Reason = fromNanos(status.finishedAt), int(status.exitCode), status.reason
	}
	return run
}

// maxReason is the maximum length, in bytes, of the reason why a container exited. No runtime uses a longer reason.
const maxReason = 64

// shortReason returns the reason, or an empty string if the reason is too long.
func shortReason(reason string) string {
	if len(reason) > maxReason {
		return ""
	}
	return strings.Clone(reason)
}

// attemptOf returns a container's restart count. The kubelet writes this count to an annotation, and also to the
// metadata as the attempt number. If the annotation is missing or invalid, attemptOf returns the attempt number.
func attemptOf(container *runtimeapi.Container) int {
	n, err := strconv.Atoi(container.GetAnnotations()[restartAnnotation])
	if err != nil || n < 0 {
		return int(container.GetMetadata().GetAttempt())
	}
	return n
}

// convertImage converts CRI's description of an image. The argument "image" is nil if the image is not on the node.
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

// digestFor returns the image's digest in the repository that an image reference names. An image can have a different
// digest in each repository. The argument repoDigests lists the image's digests in all repositories. If the list does
// not contain the repository of the reference, digestFor returns an empty string.
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

// sortResponse sorts the sandboxes by attempt number, and the containers by creation time. As a result, two responses
// with the same contents are equal.
func sortResponse(seen *timeline.RuntimeSeen) {
	slices.SortFunc(seen.Sandboxes, func(a, b timeline.Sandbox) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(seen.Containers, func(a, b timeline.ContainerRun) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// earliestCreated returns the earliest creation time of a container in a sandbox, or zero if the sandbox has no
// container.
func earliestCreated(containers []*runtimeapi.Container, sandboxID string) time.Time {
	var earliest time.Time
	for _, c := range containers {
		if c.GetPodSandboxId() == sandboxID {
			earliest = earlierOf(earliest, fromNanos(c.GetCreatedAt()))
		}
	}
	return earliest
}

// runtimeText returns the runtime's name and version as a text for people, for example `containerd 2.4.2`. The text
// contains no control characters, because commands print it on a terminal.
func runtimeText(version *runtimeapi.VersionResponse) string {
	text := version.GetRuntimeName() + " " + strings.TrimPrefix(version.GetRuntimeVersion(), "v")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text))
}

// majorVersion returns the first number of a version such as v2.4.2 or 1.7.27-k3s1.
func majorVersion(version string) (int, bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

// parseVersion returns the first three numbers of a version such as v2.4.2, 1.7.27-k3s1 or 1.6.20~ds1.
func parseVersion(version string) (major, minor, patch int, known bool) {
	n, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d.%d", &major, &minor, &patch)
	return major, minor, patch, err == nil && n == 3 && major >= 0 && minor >= 0 && patch >= 0
}
