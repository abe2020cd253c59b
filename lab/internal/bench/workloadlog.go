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

// WorkloadLog is when the program in a container says that each thing first happened, by workload's
// words. Kubelet removes it with the pod.
func (b *Bench) WorkloadLog(pod, uid, container string) (map[string]time.Time, error) {
	path := b.Node.PodLogs(b.Namespace, pod, uid, container)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what container %s of pod %s says: %w", container, pod, err)
	}
	happened := statedFirst(string(data))
	if happened[workload.WordStarted].IsZero() {
		return nil, errors.New("read what container " + container + " of pod " + pod + " says: it has not started")
	}
	return happened, nil
}

// saidFirst reads the runtime's log format: a stamp, the stream, a tag, and the line.
func statedFirst(log string) map[string]time.Time {
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

// StatedBy is what WorkloadLog reads, of any run of a container, counted from 0. What was not said yet is missing.
func (b *Bench) StatedBy(pod, uid, container string, run int) (map[string]time.Time, error) {
	path := filepath.Join(b.Node.ContainerLogs(b.Namespace, pod, uid, container), fmt.Sprintf("%d.log", run))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what container %s of pod %s says: %w", container, pod, err)
	}
	return statedFirst(string(data)), nil
}
