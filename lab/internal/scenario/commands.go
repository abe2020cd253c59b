package scenario

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// responseAtMost is the longest accepted response time of the commands "report" and "explain".
const responseAtMost = 2 * time.Second

// runAgent runs the agent's program with the given arguments, and returns the program's standard output.
func runAgent(ctx context.Context, b *bench.Bench, arguments ...string) (string, error) {
	output, err := exec.CommandContext(ctx, b.Node.Agent(), arguments...).Output()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		err = errors.New(string(exited.Stderr))
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", strings.Join(arguments, " "), err)
	}
	return string(output), nil
}

// inTime requires that a command responds within responseAtMost.
func (v *Verdict) inTime(command string, took time.Duration) {
	v.Compared++
	v.Note("%s responded after %s s", command, seconds(took))
	if took > responseAtMost {
		v.Problem("%s responded after %s s, want at most %s s", command, seconds(took), seconds(responseAtMost))
	}
}
