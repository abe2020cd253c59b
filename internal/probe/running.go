package probe

import (
	"context"
	"reflect"
	"slices"
)

// runningProbes holds the running probes. Only the goroutine of Runner.Run uses this type.
type runningProbes struct {
	runner     *Runner
	config     Config
	probes     map[string]func() // functions that stop the probes, by probe name
	registries func()            // stops the probes of the registries that pods pull from; nil if these probes are off
}

// begin calls run on a new goroutine. The returned function cancels the context of run, and waits until run has
// returned.
func begin(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (r *Runner) start(ctx context.Context, config Config) *runningProbes {
	a := &runningProbes{runner: r, probes: map[string]func(){}}
	a.apply(ctx, config)
	return a
}

// apply starts and stops probes according to a new configuration. Unchanged probes continue. apply deletes the series
// of changed and removed probes.
func (a *runningProbes) apply(ctx context.Context, config Config) {
	for _, was := range a.config.Probes {
		if !slices.ContainsFunc(config.Probes, func(p Probe) bool { return reflect.DeepEqual(p, was) }) {
			a.probes[was.Name]()
			delete(a.probes, was.Name)
			a.runner.config.Recorder.Forget(was.Name)
		}
	}
	if a.registries != nil && !reflect.DeepEqual(a.config.Registries, config.Registries) {
		a.registries()
		a.registries = nil
	}
	for _, p := range config.Probes {
		if a.probes[p.Name] == nil {
			a.probes[p.Name] = begin(ctx, func(ctx context.Context) { a.runner.repeat(ctx, p) })
		}
	}
	if a.registries == nil && config.Registries.Top > 0 {
		a.registries = begin(ctx, func(running context.Context) {
			names := a.runner.followRegistries(running, config.Registries)
			if ctx.Err() == nil { // keep the series while the agent stops, because it sends the metrics once more
				for _, name := range names {
					a.runner.config.Recorder.Forget(name)
				}
			}
		})
	}
	a.config = config
}

// stop waits until all probes have stopped. The Runner calls stop only after the context of the probes is done.
// Therefore, all probes stop at the same time. The series of the registries' probes remain, because the context is
// done: see apply.
func (a *runningProbes) stop() {
	for _, stop := range a.probes {
		stop()
	}
	if a.registries != nil {
		a.registries()
	}
}
