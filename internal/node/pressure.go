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

// PressureFiles is the directory in which the kernel reports the pressure of the whole machine. Inside a container, the
// files have the same content, because they always describe the whole machine: see psi_system in kernel/sched/psi.c.
// Container runtimes do not hide the files.
const PressureFiles = "/proc/pressure"

// pressureEvery is the interval between reads of the pressure while pods start. Each read is expensive, because the
// kernel adds up the stalls of all CPUs. Phases shorter than the interval have no measured pressure.
const pressureEvery = 250 * time.Millisecond

// PressureConfig configures a Pressure. Every field is required.
type PressureConfig struct {
	Dir     string // directory of the pressure files; always PressureFiles, except in tests
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
}

// Pressure sends observations of type timeline.PressureSeen while sampling is on: see the method Sample.
type Pressure struct {
	config PressureConfig
	on     chan bool // latest argument of Sample; capacity 1
}

// NewPressure creates a Pressure. The Pressure does nothing before Run.
func NewPressure(config PressureConfig) *Pressure {
	return &Pressure{config, make(chan bool, 1)}
}

// Sample turns sampling on or off. Sample does not block. Only one goroutine at a time may call Sample.
func (p *Pressure) Sample(on bool) {
	select {
	case <-p.on: // drop the older value
	default:
	}
	p.on <- on
}

// Run observes the pressure until ctx is done, and then returns nil. If the kernel does not measure pressure, Run
// reports this problem once and stops reading.
func (p *Pressure) Run(ctx context.Context) error {
	if _, err := ReadPressure(p.config.Dir); isUnmeasured(err) {
		p.config.Report(false, err.Error())
		<-ctx.Done()
		return nil
	}
	p.config.Report(true, "reads the pressure files while pods start")
	ticker := time.NewTicker(pressureEvery)
	ticker.Stop()
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case on := <-p.on:
			ticker.Stop()
			if on {
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
	p.config.Report(true, "reads the pressure files while pods start")
	p.config.Observe(ctx, timeline.PressureSeen{ArrivedAt: p.config.Now(), Stalled: stalled})
}

// errUnmeasured reports that the kernel was built or started without pressure measurement.
var errUnmeasured = errors.New("this kernel does not measure pressure: boot a kernel with CONFIG_PSI, add psi=1 to " +
	"the kernel command line if PSI is off by default, or use --pressure=off")

func isUnmeasured(err error) bool { return errors.Is(err, errUnmeasured) }

// ReadPressure returns three totals since the boot: how long tasks waited for CPU, for I/O and for memory. The kernel
// counts in microseconds.
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

// someTotal returns the total of a line such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=0".
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
			return 0, fmt.Errorf("invalid value %.40q of \"total\": must be a number of microseconds", value)
		}
	}
	return 0, fmt.Errorf("the line \"some\" has no field \"total\": %.80q", content)
}
