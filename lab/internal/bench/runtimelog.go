package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// RuntimePullTruth is from when containerd was asked for the named image of this bench until it had it, by
// containerd's own log. The registry's account ends at the last byte; what containerd does then belongs to
// the pull, too, and takes as long as the machine is busy.
func (b *Bench) RuntimePullTruth(name string) (Span, error) {
	file, err := os.Open(b.Node.ContainerdLog())
	if err != nil {
		return Span{}, fmt.Errorf("find the pull of %s: %w", name, err)
	}
	defer file.Close()
	return pullLogged(file, b.imagePrefix()+name+":")
}

var (
	logStamp = regexp.MustCompile(`^time="([^"]+)"`)
	pulling  = `msg="PullImage \"`
	pulled   = ` returns image reference `
)

// pullLogged finds the first pull of a reference with the prefix that ended well.
func pullLogged(log io.Reader, prefix string) (Span, error) {
	var span Span
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		_, message, found := strings.Cut(line, pulling)
		stamp := logStamp.FindStringSubmatch(line)
		if !found || stamp == nil || !strings.HasPrefix(message, prefix) {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, stamp[1])
		if err != nil {
			return Span{}, fmt.Errorf("date line %q: %w", line, err)
		}
		switch {
		case span.StartAt.IsZero():
			span.StartAt = at
		case strings.Contains(message, pulled):
			span.EndAt = at
			return span, nil
		}
	}
	if err := lines.Err(); err != nil {
		return Span{}, fmt.Errorf("read containerd's log: %w", err)
	}
	return Span{}, fmt.Errorf("find the pull of %s…: containerd never ended it", prefix)
}
