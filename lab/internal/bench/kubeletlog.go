package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// TakenUpAt is when kubelet took a pod up, by its own log: right after, it writes the pod's start time
// into its first status.
func (b *Bench) TakenUpAt(pod string) (time.Time, error) {
	file, err := os.Open(b.Node.KubeletLog())
	if err != nil {
		return time.Time{}, fmt.Errorf("read kubelet's log: %w", err)
	}
	defer file.Close()
	at, err := takenUp(file, b.Namespace+"/"+pod, time.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("read kubelet's log about pod %s: %w", pod, err)
	}
	return at, nil
}

// syncLoopAdd is klog's line: severity, month, day, time of day, thread, source, message.
var syncLoopAdd = regexp.MustCompile(`^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"SyncLoop ADD" source="api" pods=\[(.*)\]`)

func takenUp(log io.Reader, pod string, now time.Time) (time.Time, error) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := syncLoopAdd.FindStringSubmatch(lines.Text())
		if fields == nil || !strings.Contains(fields[2], `"`+pod+`"`) {
			continue
		}
		return klogTime(fields[1], now)
	}
	if err := lines.Err(); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, errors.New("it never took it up")
}

// klogTime reads klog's stamp, which leaves the year out.
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
