package probe

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
)

// RunnerConfig configures a Runner. Probes of kind cri require Runtime. Probes of kind apiserver require APIServer.
// Probes of registries require Pulled.
type RunnerConfig struct {
	Config Config
	// Load reads the configuration file again, and also the files that the configuration names.
	Load      func() (Config, error)
	Recorder  Recorder
	Runtime   RoundTrip
	APIServer RoundTrip
	// Pulled lists the registries from which the node's pods have pulled images, the most used registry first. The list
	// contains only registries with confirmed pulls (timeline.Pull.Confirmed). Each entry is HOST[:PORT]. The Runner
	// may modify the returned list.
	Pulled func(context.Context) []string
	Report health.Report // receives true if the configuration file is valid, or false if it is not
	Logger *zap.Logger
}

// Runner runs the probes until its context is done.
type Runner struct{ config RunnerConfig }

// NewRunner creates a Runner. The Runner does nothing before Run.
func NewRunner(config RunnerConfig) *Runner { return &Runner{config} }

// lookEvery is the interval at which the Runner reads the configuration again. A shorter interval is not useful,
// because the kubelet takes about a minute to update a changed ConfigMap in the pod.
const lookEvery = 10 * time.Second

// Run runs each probe on its own goroutine until ctx is done. Then Run returns nil. A probe never makes two attempts at
// the same time. If a new configuration is invalid, Run continues with the previous configuration.
func (r *Runner) Run(ctx context.Context) error {
	running := r.start(ctx, r.config.Config)
	defer running.stop()
	r.config.Report(true, running.config.String())
	for backoff.Sleep(ctx, lookEvery) {
		config, err := r.config.Load()
		if err != nil {
			r.config.Report(false, "cannot reload the probes file, the agent uses the previous content: "+err.Error())
			continue
		}
		running.apply(ctx, config)
		r.config.Report(true, running.config.String())
	}
	return nil
}

// random returns a random duration between zero and d.
func random(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// repeat makes the attempts of a probe until ctx is done. The first attempt is at a random time within the first
// interval. So the probes of one or many agents do not all run at the same time.
func (r *Runner) repeat(ctx context.Context, p Probe) {
	f := r.follow(p)
	for wait := random(p.Interval.Duration); backoff.Sleep(ctx, wait); wait = p.pause(random) {
		f.attemptOnce(ctx)
	}
}

// followed is a probe that runs repeatedly.
type followed struct {
	probe    Probe
	try      attemptFunc
	recorder Recorder
	results  resultLogger
}

func (r *Runner) follow(p Probe) *followed {
	return &followed{p, r.attemptFuncOf(p), r.config.Recorder, resultLogger{logger: r.config.Logger}}
}

// attemptOnce makes one attempt. If ctx is not done after the attempt, attemptOnce records the outcome.
func (f *followed) attemptOnce(ctx context.Context) {
	o := attempt(ctx, f.probe, f.try)
	if ctx.Err() == nil {
		f.recorder.Record(o)
		f.results.log(o)
	}
}

// resultLogger logs the result of a probe when the result changes.
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
		t.logger.Warn("probe failed", append(fields, zap.String("detail", shorten(o.Detail)))...)
	case before != "":
		t.logger.Info("probe recovered", fields...)
	}
}

// maxDetail is the maximum length in bytes of a logged error.
const maxDetail = 256

// shorten shortens a text to maxDetail bytes without splitting a character.
func shorten(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return strings.ToValidUTF8(text[:maxDetail], "")
}
