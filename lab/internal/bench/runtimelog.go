package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// RuntimeLog contains the times of one pod from containerd's log. The agent does not read this log. The times include
// the injected delays and containerd's own work. containerd creates a network namespace, starts plugins and processes,
// and unpacks the image. The duration of this work depends on the load of the machine.
type RuntimeLog struct {
	SandboxRequestedAt time.Time            // time when the kubelet requested the first sandbox
	SandboxReadyAt     time.Time            // time when a sandbox of the pod first ran
	StartRequestedAt   map[string]time.Time // times when the kubelet first requested the start of each container
	RunningAt          map[string]time.Time // times when containerd first completed the start of each container
	ExitedAt           map[string]time.Time // times when containerd learned of the first exit of each container
	SandboxStoppedAt   time.Time            // time when containerd learned of the first exit of a sandbox of the pod
	Pull               Span                 // pull of the bench's image that has the same name as the pod
}

// RuntimeLog reads from containerd's log when containerd pulled the image of one pod, and when it started and stopped
// the pod's sandbox and containers. The image must have the same name as the pod.
func (b *Bench) RuntimeLog(pod, uid string) (RuntimeLog, error) {
	file, err := os.Open(b.Node.ContainerdLog())
	if err != nil {
		return RuntimeLog{}, fmt.Errorf("read containerd's log: %w", err)
	}
	defer file.Close()
	log, err := readRuntimeLog(file, uid, b.imagePrefix()+pod+":")
	if err != nil {
		return RuntimeLog{}, fmt.Errorf("read containerd's log about pod %s: %w", pod, err)
	}
	return log, nil
}

var (
	sandboxRequested = regexp.MustCompile(
		`^RunPodSandbox for .*uid:"([^"]+)"[^"]*"[^"]*"( returns sandbox id "([^"]+)")?$`,
	)
	containerCreated = regexp.MustCompile(
		`^CreateContainer within sandbox "([^"]+)" for name:"([^"]+)".* returns container id "([^"]+)"$`,
	)
	containerStarted = regexp.MustCompile(`^StartContainer for "([^"]+)" returns successfully$`)
	startRequested   = regexp.MustCompile(`^StartContainer for "([^"]+)"$`)
	// containerd 1 logs the exit of a sandbox with the same message as the exit of a container
	sandboxStopped = regexp.MustCompile(
		`^received (?:sandbox )?container exit event (?:sandbox|container)_id:"([^"]+)"`,
	)
	containerExited = regexp.MustCompile(`^received container exit event container_id:"([^"]+)"`)
	imagePulled     = regexp.MustCompile(`^PullImage "([^"]+)"( returns image reference .*)?$`)
)

func readRuntimeLog(text io.Reader, uid, image string) (RuntimeLog, error) {
	log := RuntimeLog{StartRequestedAt: make(map[string]time.Time), RunningAt: make(map[string]time.Time),
		ExitedAt: make(map[string]time.Time)}
	sandboxes, containers := make(map[string]bool), make(map[string]string)
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		at, message, ok := readRuntimeLine(lines.Text())
		if !ok {
			continue
		}
		if m := sandboxRequested.FindStringSubmatch(message); m != nil && m[1] == uid {
			first(&log.SandboxRequestedAt, at)
			if m[3] != "" {
				first(&log.SandboxReadyAt, at)
				sandboxes[m[3]] = true
			}
		} else if m := containerCreated.FindStringSubmatch(message); m != nil && sandboxes[m[1]] {
			containers[m[3]] = m[2]
		} else if m := containerStarted.FindStringSubmatch(message); m != nil && containers[m[1]] != "" {
			firstOf(log.RunningAt, containers[m[1]], at)
		} else if m := startRequested.FindStringSubmatch(message); m != nil && containers[m[1]] != "" {
			firstOf(log.StartRequestedAt, containers[m[1]], at)
		} else if m := containerExited.FindStringSubmatch(message); m != nil && containers[m[1]] != "" {
			firstOf(log.ExitedAt, containers[m[1]], at)
		} else if m := sandboxStopped.FindStringSubmatch(message); m != nil && sandboxes[m[1]] {
			first(&log.SandboxStoppedAt, at)
		} else if m := imagePulled.FindStringSubmatch(message); m != nil && strings.HasPrefix(m[1], image) {
			if m[2] == "" {
				first(&log.Pull.StartAt, at)
			} else {
				first(&log.Pull.EndAt, at)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return RuntimeLog{}, err
	}
	if log.SandboxRequestedAt.IsZero() {
		return RuntimeLog{}, errors.New("containerd's log contains no request for a sandbox of this pod")
	}
	return log, nil
}

func first(known *time.Time, at time.Time) {
	if known.IsZero() {
		*known = at
	}
}

func firstOf(known map[string]time.Time, container string, at time.Time) {
	if known[container].IsZero() {
		known[container] = at
	}
}

var runtimeLine = regexp.MustCompile(`^time="([^"]+)" .*?msg=(".*)$`)

func readRuntimeLine(line string) (at time.Time, message string, ok bool) {
	fields := runtimeLine.FindStringSubmatch(line)
	if fields == nil {
		return time.Time{}, "", false
	}
	quoted, err := strconv.QuotedPrefix(fields[2])
	if err != nil {
		return time.Time{}, "", false
	}
	if message, err = strconv.Unquote(quoted); err != nil {
		return time.Time{}, "", false
	}
	at, err = time.Parse(time.RFC3339Nano, fields[1])
	return at, asContainerd2(message), err == nil
}
