package scenario

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// pressureSampler records a kernel counter: the total time for which tasks have waited for a resource. pressureSampler
// reads the kernel counter much more often than the agent does.
type pressureSampler struct {
	resource string // "cpu" or "io"
	stop     func()

	mu       sync.Mutex
	at       []time.Time
	stalled  []time.Duration
	measured bool // false if the kernel cannot measure pressure
}

func samplePressure(resource string) (*pressureSampler, error) {
	w := &pressureSampler{resource: resource, stop: func() {}}
	if _, err := os.Stat("/proc/pressure/" + resource); err != nil {
		return w, nil
	}
	w.measured = true
	if err := w.look(); err != nil {
		return nil, err
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(25 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = w.look() // after a successful first read, an error is unlikely, and costs only one sample
			case <-done:
				return
			}
		}
	}()
	w.stop = sync.OnceFunc(func() { close(done); <-ended })
	return w, nil
}

func (w *pressureSampler) look() error {
	text, err := os.ReadFile("/proc/pressure/" + w.resource)
	if err != nil {
		return fmt.Errorf("read the pressure from the kernel: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	total, err := strconv.ParseInt(line[strings.LastIndexByte(line, '=')+1:], 10, 64)
	if err != nil {
		return fmt.Errorf("read the pressure from the kernel: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.stalled = append(w.at, time.Now()), append(w.stalled, time.Duration(total)*time.Microsecond)
	return nil
}

// nearestSample returns the index of the sample nearest to an instant.
func (w *pressureSampler) nearestSample(at time.Time) (best int) {
	for i := range w.at {
		if w.at[i].Sub(at).Abs() < w.at[best].Sub(at).Abs() {
			best = i
		}
	}
	return best
}

// waitedBetween returns how long tasks waited during an interval and shortly before and after it. The measurement
// starts at the last sample before the interval, and ends at the first sample after the interval.
func (w *pressureSampler) waitedBetween(from, to time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.at) == 0 {
		return 0
	}
	after := func(t time.Time) int {
		return slices.IndexFunc(w.at, func(at time.Time) bool { return at.After(t) })
	}
	first, last := after(from), after(to)
	if last < 0 {
		last = len(w.at) - 1
	}
	if first < 0 {
		first = last
	}
	return w.stalled[last] - w.stalled[max(0, first-1)]
}

// waitSamplers contains one sampler for each resource.
type waitSamplers []*pressureSampler

func sampleWaits() (waitSamplers, error) {
	var all waitSamplers
	for _, resource := range []string{"cpu", "io"} {
		w, err := samplePressure(resource)
		if err != nil {
			all.stop()
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (all waitSamplers) stop() {
	for _, w := range all {
		w.stop()
	}
}

// If tasks waited near the start or the end of a phase, a comparison accepts a larger difference. longestWait is the
// largest increase of the accepted difference. On a busy machine, tasks wait all the time. Without this limit, the
// comparison would accept any difference on such a machine.
const longestWait = 150 * time.Millisecond

// waitedNear returns how long tasks waited near the start and near the end of an interval. The result is at most
// longestWait.
func (all waitSamplers) waitedNear(s bench.Span) (waited time.Duration) {
	const around = 100 * time.Millisecond
	for _, w := range all {
		if s.EndAt.Sub(s.StartAt) <= 2*around {
			waited += w.waitedBetween(s.StartAt.Add(-around), s.EndAt.Add(around))
			continue
		}
		waited += w.waitedBetween(s.StartAt.Add(-around), s.StartAt.Add(around)) +
			w.waitedBetween(s.EndAt.Add(-around), s.EndAt.Add(around))
	}
	return min(waited, longestWait)
}

// leastPressed is the minimum duration of the phases whose pressure the scenario compares. For shorter phases, neither
// the agent nor the scenario measures the pressure exactly.
const leastPressed = time.Second

// reportedShare returns the agent's value for the sampler's resource.
func (w *pressureSampler) reportedShare(p agent.Pressure) float64 {
	if w.resource == "io" {
		return p.IO
	}
	return p.CPU
}

// mostPressed returns the resource with the higher pressure, according to the agent. A verdict mentions only this
// resource.
func mostPressed(p agent.Pressure) string {
	if p.IO > p.CPU {
		return "io"
	}
	return "cpu"
}

// judge compares the reported pressure of each long phase with the measured pressure. At least one phase must have high
// pressure. If the argument "phases" is not empty, this phase must be one of the named phases. The timeline's verdict
// must mention, for at least one such phase, the resource with the higher pressure: CPU or I/O. This resource is not
// always the resource of the sampler.
func (w *pressureSampler) judge(timeline agent.Timeline, v *Verdict, phases ...string) {
	if !w.measured {
		v.Note("this kernel does not measure pressure")
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	const (
		within         = 0.1
		documentedHigh = 0.5 // minimum pressure that a verdict mentions, according to docs/node.md
	)
	high, mentioned := false, false
	for _, phase := range timeline.Phases {
		length := phase.EndAt.Sub(phase.StartAt)
		if length < leastPressed || phase.StartAt.Before(w.at[0]) {
			continue
		}
		from, to := w.nearestSample(phase.StartAt), w.nearestSample(phase.EndAt)
		truth := float64(w.stalled[to]-w.stalled[from]) / float64(w.at[to].Sub(w.at[from]))
		v.Compared++
		if phase.Pressure == nil || math.Abs(w.reportedShare(*phase.Pressure)-truth) > within {
			v.Problem("during phase %s of %s s, tasks waited for %s in %.0f %% of the time, but the agent "+
				"reports %+v", phase.Phase,
				seconds(length), w.resource, 100*truth, phase.Pressure)
			continue
		}
		wanted := len(phases) == 0 || slices.Contains(phases, phase.Phase)
		if wanted && w.reportedShare(*phase.Pressure) >= documentedHigh {
			high = true
			mentioned = mentioned || strings.Contains(timeline.Verdict, mostPressed(*phase.Pressure)+" pressure was")
		}
		v.Note("during phase %s of %s s, tasks waited for %s in %.0f %% of the time; the agent reports %.0f %%",
			phase.Phase,
			seconds(length), w.resource, 100*truth, 100*w.reportedShare(*phase.Pressure))
	}
	v.Compared++
	if !high || !mentioned {
		v.Problem("tasks waited for %s: a phase of at least one second must report high pressure (one of %q, or any "+
			"phase if this list is empty), and the verdict must mention this pressure, but the verdict is %q",
			w.resource, phases, timeline.Verdict)
	}
}

// keepBusy keeps the given number of tasks running until the caller calls the returned function "rest". Each task has
// its own operating system thread, because the kernel counts only waiting threads.
func keepBusy(tasks int) (rest func()) {
	var done atomic.Bool
	usual := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(usual + tasks)
	var working sync.WaitGroup
	for range tasks {
		working.Go(func() {
			for !done.Load() {
			}
		})
	}
	return sync.OnceFunc(func() {
		done.Store(true)
		working.Wait()
		runtime.GOMAXPROCS(usual)
	})
}

// busyDisk starts tasks that continuously read a file in a directory. The reads bypass the page cache, so they keep the
// directory's disk busy. The returned function "rest" stops the tasks and removes the file.
func busyDisk(dir string, tasks int) (rest func() error, err error) {
	const piece, pieces = 1 << 20, 16
	path := filepath.Join(dir, "busy")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC|syscall.O_DIRECT, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep the disk busy: %w", err)
	}
	remove := func() error { return errors.Join(file.Close(), os.Remove(path)) }
	for i := range int64(pieces) {
		if _, err := file.WriteAt(alignedMemory(piece), i*piece); err != nil {
			return nil, errors.Join(fmt.Errorf("keep the disk busy: %w", err), remove())
		}
	}
	done := make(chan struct{})
	var reading errgroup.Group
	for range tasks {
		reading.Go(func() error {
			into := alignedMemory(piece)
			for i := int64(0); ; i++ {
				select {
				case <-done:
					return nil
				default:
				}
				if _, err := file.ReadAt(into, i%pieces*piece); err != nil {
					return fmt.Errorf("keep the disk busy: %w", err)
				}
			}
		})
	}
	return sync.OnceValue(func() error {
		close(done)
		return errors.Join(reading.Wait(), remove())
	}), nil
}

// alignedMemory returns page-aligned memory for reads that bypass the page cache.
func alignedMemory(size int) []byte {
	const page = 4096
	memory := make([]byte, size+page)
	off := page - int(uintptr(unsafe.Pointer(&memory[0]))%page) // the garbage collector does not move this memory
	return memory[off : off+size]
}
