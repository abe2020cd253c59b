package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
)

// PickedUpAt returns the time when the kubelet received a new pod, according to the kubelet's log. Immediately after
// this time, the kubelet sets the start time in the pod's first status.
func (b *Bench) PickedUpAt(pod string) (time.Time, error) {
	return b.kubeletLogged(syncLoopAdd, pod, time.Time{})
}

// ReadySeenAt returns the time when the kubelet learned that a readiness probe passed, according to the kubelet's log.
// The kubelet sets the pod's readiness condition when it learns the result of the probe. ReadySeenAt reads only log
// lines that are later than the given time.
func (b *Bench) ReadySeenAt(pod string, after time.Time) (time.Time, error) {
	return b.kubeletLogged(syncLoopReady, pod, after)
}

// StopRequestedAt returns the time when the kubelet learned of the request to delete a pod, according to the kubelet's
// log.
func (b *Bench) StopRequestedAt(pod string) (time.Time, error) {
	return b.kubeletLogged(syncLoopDelete, pod, time.Time{})
}

// kubeletStarting matches the line in which the kubelet logs an Event about the node with the reason "Starting".
var kubeletStarting = regexp.MustCompile(
	`^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"Event occurred" object=("[^"]*") .*kind="Node".* reason="Starting"`)

// The patterns match klog's lines, whose format is: severity, month, day, time of day, thread, source, message.
var (
	syncLoopAdd    = regexp.MustCompile(`^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"SyncLoop ADD" source="api" pods=\[(.*)\]`)
	syncLoopDelete = regexp.MustCompile(
		`^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"SyncLoop DELETE" source="api" pods=\[(.*)\]`,
	)
	syncLoopReady = regexp.MustCompile(
		`^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"SyncLoop \(probe\)" probe="readiness" status="ready" pod=(.*)`,
	)
)

// KubeletStartedAt returns the time when the kubelet created the Event about its own start, according to the kubelet's
// log. KubeletStartedAt reads only log lines that are later than the given time.
func (b *Bench) KubeletStartedAt(after time.Time) (time.Time, error) {
	file, err := os.Open(b.Node.KubeletLog())
	if err != nil {
		return time.Time{}, fmt.Errorf("read the kubelet's log: %w", err)
	}
	defer file.Close()
	at, err := firstLineAbout(file, kubeletStarting, layout.NodeName, after, time.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("find the kubelet's start in the kubelet's log: %w", err)
	}
	return at, nil
}

func (b *Bench) kubeletLogged(line *regexp.Regexp, pod string, after time.Time) (time.Time, error) {
	file, err := os.Open(b.Node.KubeletLog())
	if err != nil {
		return time.Time{}, fmt.Errorf("read the kubelet's log: %w", err)
	}
	defer file.Close()
	at, err := firstLineAbout(file, line, b.Namespace+"/"+pod, after, time.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("read the kubelet's log about pod %s: %w", pod, err)
	}
	return at, nil
}

// firstLineAbout returns the time of the first line that matches the pattern, concerns the pod, and is later than the
// argument "after".
func firstLineAbout(log io.Reader, line *regexp.Regexp, pod string, after, now time.Time) (time.Time, error) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := line.FindStringSubmatch(lines.Text())
		if fields == nil || !strings.Contains(fields[2], `"`+pod+`"`) {
			continue
		}
		if at, err := klogTime(fields[1], now); err != nil || at.After(after) {
			return at, err
		}
	}
	if err := lines.Err(); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, fmt.Errorf("the kubelet's log has no line that matches %s", line)
}

// klogTime parses klog's timestamp, which contains no year.
func klogTime(stamp string, now time.Time) (time.Time, error) {
	at, err := time.ParseInLocation("0102 15:04:05.000000", stamp, time.Local)
	if err != nil {
		return time.Time{}, err
	}
	at = at.AddDate(now.Year(), 0, 0)
	if at.After(now) {
		at = at.AddDate(-1, 0, 0)
	}
	return at, nil
}
