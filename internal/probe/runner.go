package probe

import (
	"context"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
)

// RunnerConfig configures a Runner. Runtime is required for probes of kind cri, APIServer for
// apiserver, Pulled for registries.
type RunnerConfig struct {
	Config Config
	// Load reads the configuration again, with the files that it names.
	Load      func() (Config, error)
	Recorder  Recorder
	Runtime   RoundTrip
	APIServer RoundTrip
	// Pulled lists the registries from which the runtime is known to have pulled for pods of the
	// node, as HOST[:PORT], the most used first. The Runner may change the list.
	Pulled func(context.Context) []string
	Report health.Report // whether the configuration is valid
	Logger *zap.Logger
}

// Runner runs the probes until its context ends.
type Runner struct{ config RunnerConfig }

// NewRunner does nothing before Run.
func NewRunner(config RunnerConfig) *Runner { return &Runner{config} }

// lookEvery is how often the configuration is read again. The kubelet takes a minute to update a
// changed ConfigMap in the pod.
const lookEvery = 10 * time.Second

// Run runs each probe on a goroutine of its own, never twice at once, until ctx ends; then it
// returns nil. While the configuration is invalid, the previous one stays in use.
func (r *Runner) Run(ctx context.Context) error {
	asked := r.ask(ctx, r.config.Config)
	defer asked.stop()
	r.config.Report(true, asked.config.String())
	for backoff.Sleep(ctx, lookEvery) {
		config, err := r.config.Load()
		if err != nil {
			r.config.Report(false, "cannot reload the probes file, using the previous one: "+err.Error())
			continue
		}
		asked.become(ctx, config)
		r.config.Report(true, asked.config.String())
	}
	return nil
}

// random returns a random part of a duration.
func random(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// repeat begins at a random time within the first interval, so that the agents of many nodes, and
// the probes of one agent, do not run at the same time.
func (r *Runner) repeat(ctx context.Context, p Probe) {
	f := r.follow(p)
	for wait := random(p.Interval.Duration); backoff.Sleep(ctx, wait); wait = p.pause(random) {
		f.once(ctx)
	}
}

// followed is a probe that runs again and again.
type followed struct {
	probe    Probe
	ask      asker
	recorder Recorder
	results  resultLogger
}

func (r *Runner) follow(p Probe) *followed {
	return &followed{p, r.askerOf(p), r.config.Recorder, resultLogger{logger: r.config.Logger}}
}

// once runs the probe, and records the result unless ctx ended meanwhile.
func (f *followed) once(ctx context.Context) {
	o := attempt(ctx, f.probe, f.ask)
	if ctx.Err() == nil {
		f.recorder.Record(o)
		f.results.log(o)
	}
}

// resultLogger logs when a probe begins to fail, fails for another reason, and recovers.
type resultLogger struct {
	logger *zap.Logger
	last   Result
}

func (t *resultLogger) log(o Outcome) {
	before := t.last
	t.last = o.Result
	fields := []zap.Field{zap.String("probe", o.Probe), zap.String("kind", string(o.Kind)),
		zap.String("result", string(o.Result))}
	switch {
	case o.Result == before:
	case o.Result != ResultOK:
		t.logger.Warn("probe fails", append(fields, zap.String("detail", cut(o.Detail)))...)
	case before != "":
		t.logger.Info("probe succeeds again", fields...)
	}
}

// maxDetail limits how much of an error is logged, in bytes.
const maxDetail = 256

func cut(text string) string { return text[:min(len(text), maxDetail)] }
