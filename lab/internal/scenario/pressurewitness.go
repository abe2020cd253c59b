package scenario

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// pressureWitness reads what the kernel counts of tasks that wait for a processor, far more often than the agent.
type pressureWitness struct {
	stop func()

	mu       sync.Mutex
	at       []time.Time
	stalled  []time.Duration
	measured bool // else the kernel does not
}

func witnessPressure() (*pressureWitness, error) {
	w := &pressureWitness{stop: func() {}}
	if _, err := os.Stat("/proc/pressure/cpu"); err != nil {
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
				_ = w.look() // it could be read a moment ago
			case <-done:
				return
			}
		}
	}()
	w.stop = sync.OnceFunc(func() { close(done); <-ended })
	return w, nil
}

func (w *pressureWitness) look() error {
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return fmt.Errorf("read the kernel's pressure: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	total, err := strconv.ParseInt(line[strings.LastIndexByte(line, '=')+1:], 10, 64)
	if err != nil {
		return fmt.Errorf("read the kernel's pressure: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.stalled = append(w.at, time.Now()), append(w.stalled, time.Duration(total)*time.Microsecond)
	return nil
}

// nearest is the index of the sample that is nearest to an instant.
func (w *pressureWitness) nearest(at time.Time) (best int) {
	for i := range w.at {
		if w.at[i].Sub(at).Abs() < w.at[best].Sub(at).Abs() {
			best = i
		}
	}
	return best
}

// Phases that are shorter are not held against the witness: neither tells them exactly.
const leastPressed = time.Second

// judge wants of each longer phase what the witness saw, and of one at least that the pressure was high, in the verdict as well.
func (w *pressureWitness) judge(timeline agent.Timeline, v *Verdict) {
	if !w.measured {
		v.Note("this kernel does not measure pressure")
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	const within = 0.1
	high := false
	for _, phase := range timeline.Phases {
		length := phase.EndAt.Sub(phase.StartAt)
		if length < leastPressed || phase.StartAt.Before(w.at[0]) {
			continue
		}
		from, to := w.nearest(phase.StartAt), w.nearest(phase.EndAt)
		truth := float64(w.stalled[to]-w.stalled[from]) / float64(w.at[to].Sub(w.at[from]))
		v.Compared++
		if phase.Pressure == nil || math.Abs(phase.Pressure.CPU-truth) > within {
			v.Problem("during %s, %s long, tasks waited for cpu %.0f %% of the time; the agent tells %+v", phase.Phase, seconds(length), 100*truth, phase.Pressure)
			continue
		}
		high = high || phase.Pressure.CPU > 0.6
		v.Note("during %s, %s long, tasks waited for cpu %.0f %% of the time, the agent says %.0f %%", phase.Phase, seconds(length), 100*truth, 100*phase.Pressure.CPU)
	}
	v.Compared++
	if !high || !strings.Contains(timeline.Verdict, "cpu pressure was") {
		v.Problem("the machine was made busy, and no phase of a second or the verdict tells: %q", timeline.Verdict)
	}
}

// busy has so many tasks want a processor until rest is called: each a thread of its own, since only those wait in the kernel.
func busy(tasks int) (rest func()) {
	done := make(chan struct{})
	usual := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(usual + tasks)
	var working sync.WaitGroup
	for range tasks {
		working.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		working.Wait()
		runtime.GOMAXPROCS(usual)
	})
}
