package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// stopComponent stops a component of the node for the given time. For containerd, stopComponent also records the stop
// for the blame exam.
func (e *exam) stopComponent(ctx context.Context, component string, length time.Duration) error {
	stopped, err := bench.Dated(func() error {
		return errors.Join(e.bench.Node.Freeze(component), sleep(ctx, length), e.bench.Node.Thaw())
	})
	if component == node.Containerd {
		e.recordStop(stopped, false)
	}
	return err
}

// recordStop records a period in which containerd was stopped. The argument "ended" is true if containerd's process
// exited. The argument "ended" is false if the process was only frozen with SIGSTOP.
func (e *exam) recordStop(meanwhile bench.Span, ended bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = append(e.stopped,
		blame.Stop{Span: blame.Span{From: meanwhile.StartAt, To: meanwhile.EndAt}, Ended: ended})
}

// With a meeting, several examRows (start-ups) wait for each other. The examRow that arrives last runs a function.
// After this function has returned, all these examRows continue.
type meeting struct {
	wait    int
	mu      sync.Mutex
	arrived int
	over    chan struct{}
	err     error
}

func newMeeting(rows int) *meeting { return &meeting{wait: rows, over: make(chan struct{})} }

// Each examRow of the meeting calls waitForAllThen once. The last call runs the function "do". All earlier calls wait
// until "do" has returned.
func (m *meeting) waitForAllThen(ctx context.Context, do func() error) error {
	m.mu.Lock()
	m.arrived++
	last := m.arrived == m.wait
	m.mu.Unlock()
	if last {
		m.err = do()
		close(m.over)
	}
	select {
	case <-m.over:
		return m.err
	case <-time.After(rowLimit):
		return fmt.Errorf("wait until all pods of the scenario \"blame\" reach the required step: some pods did not "+
			"reach this step within %v", rowLimit)
	case <-ctx.Done():
		return fmt.Errorf("wait until all pods of the scenario \"blame\" reach the required step: %w", ctx.Err())
	}
}

// stopRows returns three examRows with one pod each. A component of the node stops once, while all three start-ups are
// in progress. When the component stops, the first pod's image is being pulled, the second pod's sandbox is starting,
// and the third pod's init container is running. The stop usually lasts longer than the remaining time of each of these
// steps.
func stopRows(component, words string, long func() time.Duration) []examRow {
	const within = 3 * time.Second // without the stop, each step takes at least this time
	all := newMeeting(3)
	stop := func(ctx context.Context, x *examPod) error {
		return all.waitForAllThen(ctx, func() error { return x.exam.stopComponent(ctx, component, within+long()/2) })
	}
	return []examRow{
		{component + "-amid-pull", words + "a pull", func(ctx context.Context, x *examPod) error {
			image, err := x.slowImage(ctx, mainName, within+2*time.Second)
			return errors.Join(err, x.create(ctx, onePod(image, readySoon)), x.awaitPulling(ctx, mainName, 1),
				stop(ctx, x),
				x.awaitReady(ctx))
		}},
		{component + "-amid-sandbox", words + "the start of a sandbox", func(ctx context.Context, x *examPod) error {
			return errors.Join(
				x.exam.network.Set(x.name, cni.Faults{Delay: cni.Duration{Duration: within + time.Second}}),
				x.create(ctx, onePod(x.bench().BaseImage, readySoon)),
				x.awaitCalls(ctx, bench.CallSandbox, "", 1),
				stop(ctx, x),
				x.awaitReady(ctx),
			)
		}},
		{component + "-amid-init", words + "an init container", func(ctx context.Context, x *examPod) error {
			spec := onePod(x.bench().BaseImage, readySoon)
			spec.InitContainers = []corev1.Container{bench.InitContainer(initName, x.bench().BaseImage, within)}
			return errors.Join(x.create(ctx, spec), x.awaitLog(ctx, initName, workload.WordStarted), stop(ctx, x),
				x.awaitReady(ctx))
		}},
	}
}

// awaitLog waits until the first run of a container has logged the given word.
func (x *examPod) awaitLog(ctx context.Context, container, word string) error {
	return x.await(ctx, "word "+word, func() (bool, error) {
		stated, err := x.bench().WorkloadLogOfRun(x.name, x.uid(), container, 0)
		return !stated[word].IsZero(), err
	})
}
