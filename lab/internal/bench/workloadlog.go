package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

// WorkloadLog reads the log of the program in a container. For each step of the program, the result contains the time
// from the first log line about the step. The keys are the names of the steps in package workload. The kubelet deletes
// the log when it deletes the pod.
func (b *Bench) WorkloadLog(pod, uid, container string) (map[string]time.Time, error) {
	path := b.Node.PodLogs(b.Namespace, pod, uid, container)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the log of container %s of pod %s: %w", container, pod, err)
	}
	happened := firstLogged(string(data))
	if happened[workload.WordStarted].IsZero() {
		return nil, fmt.Errorf("read the log of container %s of pod %s: the program has not logged its start",
			container, pod)
	}
	return happened, nil
}

// firstLogged returns, for each step, the time from the first log line about the step. In the runtime's log format,
// each entry contains a timestamp, the stream, a tag, and the line.
func firstLogged(log string) map[string]time.Time {
	happened := make(map[string]time.Time)
	for line := range strings.Lines(log) {
		fields := strings.SplitN(line, " ", 4)
		word, at, ok := workload.ReadLine(fields[len(fields)-1])
		if _, before := happened[word]; ok && !before {
			happened[word] = at
		}
	}
	return happened
}

// WorkloadLogOfRun is like WorkloadLog, but for one run of a container. The first run has the number 0. The result
// contains only steps that the program has already logged.
func (b *Bench) WorkloadLogOfRun(pod, uid, container string, run int) (map[string]time.Time, error) {
	path := filepath.Join(b.Node.ContainerLogs(b.Namespace, pod, uid, container), fmt.Sprintf("%d.log", run))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of container %s of pod %s: %w", container, pod, err)
	}
	return firstLogged(string(data)), nil
}
