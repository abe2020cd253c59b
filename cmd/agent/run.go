package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/clockset"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func runAgent(ctx context.Context, call cli.Call) int {
	var c config
	_, code, ok := call.Parse(c.flagTable(), "run [flags]", 0)
	if !ok {
		return code
	}
	if err := c.readOTLP(call.Getenv); err != nil {
		return call.FailUsage(err)
	}
	sampleAllocations(c)
	avoidHugePages()
	limitMemory(call.Getenv, os.DirFS("/"))
	api, err := newAPIServer(c)
	if err != nil {
		return call.FailUsage(err)
	}
	logger := newLogger(c.logLevel, c.logFormat, call.Stderr)
	if err := serve(ctx, c, api, prometheus.NewRegistry(), logger, call.Stdout); err != nil {
		// Like all other log messages, this message has the format of --log-format.
		logger.Error("agent failed", zap.Error(err))
		return cli.ExitFailed
	}
	logger.Info("stopped")
	return cli.ExitOK
}

// serve builds the parts of the agent and connects them. serve returns after all parts have stopped. If a part does not
// stop within its time limit, serve does not wait longer for this part. The argument "registry" must not contain any
// metrics.
func serve(ctx context.Context, c config, api apiServer, registry *prometheus.Registry, logger *zap.Logger,
	records io.Writer) error {
	d := newDeps(c, api, registry, logger)
	scope := timeline.Scope{Runtime: !c.criEndpoint.Off(), Events: c.events != eventsOff, Since: time.Now()}
	kept, err := newSavedState(d, &scope)
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
	shown := newServedData(d, k)
	if shown.tally != nil {
		kept.restoreSums(d, shown.tally)
		out.settledSinks = append(out.settledSinks, shown.addSettled)
	}
	onNode := newOwnNode(d, k, out.nodeStarted)
	shown.nodeStartUp = onNode.record()
	added := startFeatures(d, k)
	shown.writePods = added.writePods()
	from := newSources(d, sourcesConfig{observe: k.observe, known: kept.knownUIDs(), onNode: onNode, added: added})
	k.runtime = from.runtime
	k.reconciler = newReconciler(d, scope, &kept, out, from, shown, func(uid string) {
		shown.live.Changed(uid)
		added.notifyChanged(uid)
	})
	shown.pulls = livePulls(k.reconciler, from.runtime)
	registerReadings(ctx, d, k.reconciler, from, shown.pulls)
	addedComponents := added.components()
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
		kept.components(), kept.sumsComponents(d, shown.tally), out.components(), k.components(), from.components(),
		onNode.components(),
		[]component{
			{"clock", stageSources, func(ctx context.Context) error { return api.clock.Run(ctx, k.observe) }},
			{"clock_set", stageSources, func(ctx context.Context) error {
				return clockset.Run(ctx, k.observe, logger.Named("clock_set"))
			}},
		},
		addedComponents,
	)
	return runAll(ctx, logger, agentStages(), components)
}
