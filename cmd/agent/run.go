package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/page"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/export/otlp"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// How long each stage may take to stop; together less than the 5 s in which the agent must end.
const (
	sourcesLimit   = time.Second
	reconcileLimit = 500 * time.Millisecond
	sinksLimit     = time.Second // sinks drain a little less long
	restLimit      = 2 * time.Second
)

func runAgent(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c config
	_, err := settle(c.settings(), args, getenv, 0)
	if errors.Is(err, errHelp) {
		printHelp(stdout, agentProgram, "run [flags]", c.settings())
		return exitOK
	}
	if err != nil {
		return failUsage(stderr, "run", err)
	}
	if c.otlp, err = otlp.FromEnvironment(getenv); err != nil {
		return failUsage(stderr, "run", err)
	}
	sampleAllocations(c)
	limitMemory(getenv, os.DirFS("/"))
	api, err := newAPIServer(c)
	if err != nil {
		return failUsage(stderr, "run", err)
	}
	logger := newLogger(c.logLevel, c.logFormat, stderr)
	if err := serve(ctx, c, api, prometheus.NewRegistry(), logger, stdout); err != nil {
		logger.Error("agent failed", zap.Error(err)) // the last message, in the format of the others
		return exitFailed
	}
	logger.Info("stopped")
	return exitOK
}

// serve is the agent: it builds the parts, connects them, and returns when all have ended. The registry is empty.
func serve(ctx context.Context, c config, api apiServer, registry *prometheus.Registry, logger *zap.Logger, records io.Writer) error {
	board := health.NewBoard(time.Now, logger.Named("health"))
	build := thisBuild()

	registry.MustRegister(
		export.NewGoRuntime(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		export.NewBuildInfo(build),
	)
	scope := timeline.Scope{Runtime: !c.criEndpoint.Off(), Events: c.events != eventsOff, Since: time.Now()}
	kept, err := newMemory(c, build, &scope, registry, board, logger)
	if err != nil {
		return err
	}
	defer kept.close()

	metrics := export.NewMetrics(registry, tracesOf(c))
	handed := newReports(kept.reported)
	settled := []func(timeline.Timeline){metrics.Observe, handed.settled}
	var progress func(timeline.Timeline)
	lines := newRecords(c, records, handed, registry, logger)
	if lines != nil {
		if discards(records) {
			logger.Warn("records are discarded: standard output is closed or /dev/null; use --records=none if intended")
		}
		settled = append(settled, lines.Offer)
		if c.partial == partialOn {
			progress = lines.Offer
		}
	}

	traces, err := newTraces(ctx, c, build, handed, registry, board, logger)
	if err != nil {
		return err
	}
	if traces != nil {
		settled = append(settled, traces.Offer)
	}
	push, err := newMetricsPush(ctx, c, build, registry, board, logger)
	if err != nil {
		return err
	}

	// Sources and reconcile know each other by functions; reconciler is set before anything runs.
	var reconciler *reconcile.Reconciler
	var seen sightings
	observe := func(ctx context.Context, o timeline.Observation) {
		seen.note(o, time.Now())
		reconciler.Observe(ctx, o)
	}
	registry.MustRegister(export.NewSources(func() []export.Source { return seen.of(sourcesOf(board.Statuses())) }))

	// A recording that begins here is whole: what the agent before observed comes first.
	recorder, err := newRecorder(c, record.Header{Agent: build.Version, Scope: scope, Ends: c.termination}, kept.left.InFlight, registry, board, logger)
	if err != nil {
		return err
	}
	var latest io.WriterTo
	if recorder != nil {
		if c.debugObservations == debugOn {
			latest = recorder
		}
		unrecorded := observe
		observe = func(ctx context.Context, o timeline.Observation) {
			recorder.Observe(o)
			unrecorded(ctx, o)
		}
	}

	served := newServed(c, func() *reconcile.Reconciler { return reconciler }, registry, logger)
	changed := served.live.Changed
	onNode := newNodeHealth(c, api, registry, board)
	following := podFollowersOf(onNode.follower())
	annotator := newAnnotator(c, api.own, func() *reconcile.Reconciler { return reconciler }, registry, board)
	if annotator != nil {
		following = append(following, annotating{annotator})
		changed = func(uid string) {
			served.live.Changed(uid)
			annotator.Changed(uid)
		}
	}
	delays := newWatchDelays(c, registry)
	pods := podwatch.NewPods(podwatch.Config{
		Client: api.pods, AsNode: c.asNode, NodeName: c.nodeName, Observe: observe, Now: time.Now,
		Report: board.Register(string(timeline.SourcePodWatch), "not connected to the API server yet"),
		Known:  kept.known(),
		Traits: c.records == recordsTransition || c.records == recordsBoth, Ends: c.termination, Objects: served.objects,
		Follower: following.one(), Delay: delays.pod, Verify: newVerify(c, board),
	})
	registerVerification(c, pods, registry)
	watchEvents, unwatchEvents := func(timeline.EventWatch) {}, func(string) {}
	events := newEvents(c, api.events, observe, delays.event, board)
	if events != nil {
		watchEvents, unwatchEvents = events.Watch, events.Unwatch
	}
	askRuntime := func(timeline.LookUp) {}
	var runtime *cri.Source
	if !c.criEndpoint.Off() {
		runtime = cri.New(cri.Config{
			Endpoint: c.criEndpoint, Observe: observe, Now: time.Now,
			Report: board.Register(string(timeline.SourceCRI), "not connected to the container runtime yet"),
			Logger: logger.Named("cri"),
		})
		askRuntime = runtime.Ask
		registry.MustRegister(export.NewRuntimeStores(runtime.Stores),
			export.NewRuntimeQuestions(func() export.RuntimeQuestions { return export.RuntimeQuestions(runtime.Stats()) }))
	}

	pressure := newPressure(c, observe, board)
	sampleNode := func(wanted bool) {
		if pressure != nil {
			pressure.Want(wanted)
		}
		if runtime != nil {
			runtime.Watch(wanted)
		}
	}

	reconciler = reconcile.New(reconcile.Config{
		Now:           time.Now,
		Scope:         scope,
		AskRuntime:    askRuntime,
		WatchEvents:   watchEvents,
		UnwatchEvents: unwatchEvents,
		SampleNode:    sampleNode,
		Settled: func(t timeline.Timeline) {
			for _, sink := range settled {
				sink(t)
			}
		},
		Debugged:   metrics.ObserveDebug,
		Terminated: newTerminated(c, lines, traces),
		Later:      newLater(c, traces), LaterEvents: c.events == eventsCluster, KeepEventsUntil: kept.eventsUntil,
		Progress:  progress,
		Changed:   changed,
		Forgotten: served.forgotten,
		Logger:    logger.Named("reconcile"),
		Restored:  reconcile.Restored{InFlight: kept.left.InFlight, Reported: kept.left.Reported, Ends: kept.left.Ends, EventsUntil: kept.left.EventsUntil},
		Keep:      kept.keep,
		KeepEnd:   kept.keepEnd,
		Kept:      kept.kept,
		Gone:      kept.gone,
	})
	kept.left = state.Contents{} // reconcile lets go of it as well

	registry.MustRegister(export.NewClockSkew(func() timeline.Skew {
		skew, _ := reconciler.Skew(ctx) // unknown while the agent stops
		return skew
	}))

	registry.MustRegister(
		export.NewStarting(func() []timeline.Timeline {
			starting, _ := reconciler.Starting(ctx) // none while the agent stops
			return starting
		}),
		export.NewTraffic(func() []export.Traffic { return countTraffic(api.traffic) }),
		export.NewRestarts(func() []export.Restarts { return countRestarts(pods.Restarts()) }),
		export.NewReconstructed(func() export.Reconstructed { return export.Reconstructed(reconciler.Reconstructed()) }),
	)
	if c.podSeries {
		registry.MustRegister(export.NewPodSeries(func() []timeline.Timeline {
			present, _ := reconciler.Present(ctx) // none while the agent stops
			return present
		}))
	}
	pulls := livePulls(reconciler, runtime)
	served.pulls = pulls
	registry.MustRegister(export.NewLivePulls(func() export.LivePulls {
		now, _ := pulls(ctx) // none while the agent stops
		return now
	}))
	if events != nil {
		registry.MustRegister(export.NewEventWatches(func() export.EventWatches {
			return countEvents(events.Stats(), reconciler.EventsUsed())
		}))
	}

	probes := newProbes(c, api, runtime, reconciler, registry, board, logger)

	access, err := newAccess(c, api.config, board)
	if err != nil {
		return err
	}
	shown, err := page.New()
	if err != nil {
		return err
	}
	server, err := web.Listen(ctx, web.Config{
		ListenAddress: c.listenAddress,
		WebConfigFile: c.webConfigFile,
		Access:        access,
		LocalOnly:     c.webAuth == webAuthLocal,
		Hosts:         c.webHosts,
		Timelines:     reconciler.Present,
		Pulls:         pulls,
		Statuses:      board.Statuses,
		Required:      []string{string(timeline.SourcePodWatch)},
		Gatherer:      registry,
		Registerer:    registry,
		Observations:  latest,
		Profiles:      c.profiles,
		API:           served.api(c, build, reconciler.Skew),
		Page:          shown,
		Logger:        logger.Named("web"),
	})
	if err != nil {
		return err
	}
	logger.Info("starting podlapse agent",
		zap.String("version", build.Version), zap.String("revision", build.Revision),
		zap.String("node", c.nodeName), zap.Stringer("address", server.Addr()),
		zap.Stringer("cri_endpoint", c.criEndpoint), memoryLimitField())

	// The stages stop in this order, so that what came in still goes out. They start the other way.
	parts := newStages(logger)
	sources := parts.add("sources", sourcesLimit)
	core := parts.add("reconcile", reconcileLimit)
	sinks := parts.add("sinks", sinksLimit)
	rest := parts.add("web and state", restLimit)

	rest.start("web", server.Run)
	if kept.keeper != nil {
		rest.start(partState, kept.keeper.Run) // after the sinks, to know what they are through with
	}
	if lines != nil {
		sinks.start("records", lines.Run)
		sinks.start("records", watchReader(records, readerLooks)) // also while there is nothing to write
	}
	if traces != nil {
		sinks.start(partTraces, traces.Run)
	}
	if push != nil {
		sinks.start(partMetrics, push.Run)
	}
	if recorder != nil {
		sinks.start("recording", recorder.Run)
	}
	if annotator != nil {
		sinks.start(partAnnotations, annotator.Run)
	}
	rest.start("stream", served.live.Run)
	core.start("reconcile", reconciler.Run)
	if runtime != nil {
		sources.start("cri", runtime.Run)
	}
	if events != nil {
		sources.start("event_watch", events.Run)
	}
	sources.start("pod_watch", pods.Run)
	if onNode != nil {
		sources.start(partNode, onNode.object.Run)
	}
	if pressure != nil {
		sources.start(partPressure, pressure.Run)
	}
	if probes != nil {
		sources.start(partProbes, probes.Run)
	}
	sources.start("clock", func(ctx context.Context) error { return api.clock.Run(ctx, observe) })
	return parts.wait(ctx)
}
