package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/annotate"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func runAgent(ctx context.Context, call cli.Call) int {
	var c config
	_, code, ok := call.Parse(c.table(), "run [flags]", 0)
	if !ok {
		return code
	}
	var err error
	if c.otlp, err = otlp.FromEnvironment(call.Getenv); err != nil {
		return call.FailUsage(err)
	}
	sampleAllocations(c)
	limitMemory(call.Getenv, os.DirFS("/"))
	api, err := newAPIServer(c)
	if err != nil {
		return call.FailUsage(err)
	}
	logger := newLogger(c.logLevel, c.logFormat, call.Stderr)
	if err := serve(ctx, c, api, prometheus.NewRegistry(), logger, call.Stdout); err != nil {
		// so that the last message has the log format of the other messages
		logger.Error("agent failed", zap.Error(err))
		return cli.ExitFailed
	}
	logger.Info("stopped")
	return cli.ExitOK
}

// serve builds the parts of the agent, connects them, and returns after all parts have stopped. The registry must be
// empty.
func serve(ctx context.Context, c config, api apiServer, registry *prometheus.Registry, logger *zap.Logger,
	records io.Writer) error {
	d := newDeps(c, api, registry, logger)
	scope := timeline.Scope{Runtime: !c.criEndpoint.Off(), Events: c.events != eventsOff, Since: time.Now()}
	kept, err := newMemory(d, &scope)
	if err != nil {
		return err
	}
	defer kept.close()
	out, err := newOutputs(ctx, d, records, kept.reported)
	if err != nil {
		return err
	}
	k, err := newCore(d, scope, kept.left.InFlight)
	if err != nil {
		return err
	}
	shown := newServed(d, k)
	onNode := newNodeHealth(d)
	annotator := newAnnotator(d, k)
	from := newSources(d, sourcesConfig{
		observe: k.observe, known: kept.known(), objects: shown.objects, follower: podFollowersOf(onNode, annotator),
	})
	k.reconciler = newReconciler(d, scope, &kept, out, from, shown, changedOf(shown, annotator))
	shown.pulls = livePulls(k.reconciler, from.runtime)
	registerReadings(ctx, d, k.reconciler, from, shown.pulls)
	probes := newProbes(d, from.runtime, k.reconciler)
	server, err := newServer(ctx, d, k, shown)
	if err != nil {
		return err
	}
	logger.Info("starting podlapse agent",
		zap.String("version", d.build.version), zap.String("revision", d.build.revision),
		zap.String("node", c.nodeName), zap.Stringer("address", server.Addr()),
		zap.Stringer("cri_endpoint", c.criEndpoint), memoryLimitField())

	components := slices.Concat(
		[]component{{"web", stageRest, server.Run}, {"stream", stageRest, shown.live.Run}},
		kept.components(), out.components(), k.components(), from.components(), onNode.components(),
		[]component{{"clock", stageSources, func(ctx context.Context) error { return api.clock.Run(ctx, k.observe) }}},
	)
	if annotator != nil {
		components = append(components, component{partAnnotations, stageSinks, annotator.Run})
	}
	if probes != nil {
		components = append(components, component{partProbes, stageSources, probes.Run})
	}
	return runAll(ctx, logger, agentStages(), components)
}

// changedOf returns a function that the reconciler calls with the UID of each changed pod.
func changedOf(s *served, annotator *annotate.Annotator) func(uid string) {
	if annotator == nil {
		return s.live.Changed
	}
	return func(uid string) {
		s.live.Changed(uid)
		annotator.Changed(uid)
	}
}
