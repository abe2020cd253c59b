package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// PressureFiles is where the kernel reports the pressure of the whole machine, also in a container:
// the files are not namespaced (kernel/sched/psi.c, psi_io_show reads psi_system), and runtimes do
// not mask them.
const PressureFiles = "/proc/pressure"

// pressureEvery is how often pressure is read while pods start. The kernel sums up the stalls of
// each CPU at each read, so fewer reads are better. Shorter phases have no pressure of their own.
const pressureEvery = 250 * time.Millisecond

// PressureConfig is what Pressure needs. Every field is required.
type PressureConfig struct {
	Dir     string // PressureFiles
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
}

// Pressure observes timeline.PressureSeen while samples are wanted.
type Pressure struct {
	config PressureConfig
	wanted chan bool // capacity 1: the latest value
}

// NewPressure does nothing before Run.
func NewPressure(config PressureConfig) *Pressure {
	return &Pressure{config, make(chan bool, 1)}
}

// Want turns sampling on or off. It does not block. One goroutine at a time may call it.
func (p *Pressure) Want(wanted bool) {
	select {
	case <-p.wanted: // the older value is dropped
	default:
	}
	p.wanted <- wanted
}

// Run observes until ctx ends and then returns nil. If the kernel does not measure pressure, Run
// reports that once and reads no more.
func (p *Pressure) Run(ctx context.Context) error {
	if _, err := ReadPressure(p.config.Dir); unmeasured(err) {
		p.config.Report(false, err.Error())
		<-ctx.Done()
		return nil
	}
	p.config.Report(true, "reads while pods start")
	ticker := time.NewTicker(pressureEvery)
	ticker.Stop()
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case wanted := <-p.wanted:
			ticker.Stop()
			if wanted {
				ticker.Reset(pressureEvery)
				p.sample(ctx)
			}
		case <-ticker.C:
			p.sample(ctx)
		}
	}
}

func (p *Pressure) sample(ctx context.Context) {
	stalled, err := ReadPressure(p.config.Dir)
	if err != nil {
		p.config.Report(false, err.Error())
		return
	}
	p.config.Report(true, "reads while pods start")
	p.config.Observe(ctx, timeline.PressureSeen{ArrivedAt: p.config.Now(), Stalled: stalled})
}

// errUnmeasured says that the kernel was built or started without pressure measurement.
var errUnmeasured = errors.New("this kernel does not measure pressure: boot one with CONFIG_PSI, and with psi=1 on " +
	"its command line if PSI is off by default; or use --pressure=off")

func unmeasured(err error) bool { return errors.Is(err, errUnmeasured) }

// ReadPressure returns the stalls that the kernel has counted so far, in microseconds.
func ReadPressure(dir string) (timeline.Stalled, error) {
	var s timeline.Stalled
	for name, total := range map[string]*time.Duration{"cpu": &s.CPU, "io": &s.IO, "memory": &s.Memory} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EOPNOTSUPP):
			return timeline.Stalled{}, errUnmeasured
		case err != nil:
			return timeline.Stalled{}, fmt.Errorf("read pressure: %w", err)
		}
		if *total, err = someTotal(content); err != nil {
			return timeline.Stalled{}, fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
		}
	}
	return s, nil
}

// someTotal returns the total of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0".
func someTotal(content []byte) (time.Duration, error) {
	for line := range bytes.Lines(content) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "some" {
			continue
		}
		for _, field := range fields[1:] {
			value, ok := bytes.CutPrefix(field, []byte("total="))
			if !ok {
				continue
			}
			const most = uint64(1<<63-1) / uint64(time.Microsecond)
			if n, err := strconv.ParseUint(string(value), 10, 64); err == nil && n <= most {
				return time.Duration(n) * time.Microsecond, nil
			}
			return 0, fmt.Errorf("invalid total %.40q: must be a number of microseconds", value)
		}
	}
	return 0, fmt.Errorf("line \"some\" has no total: %.80q", content)
}
