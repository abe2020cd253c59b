package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/export"
)

// deps is what the parts of the agent are built from.
type deps struct {
	config   config
	build    export.Build
	api      apiServer
	registry *prometheus.Registry
	board    *health.Board // lists its parts in the order in which they are built
	logger   *zap.Logger
}

// newDeps registers the metrics of the process.
func newDeps(c config, api apiServer, registry *prometheus.Registry, logger *zap.Logger) deps {
	d := deps{
		config: c, build: thisBuild(), api: api, registry: registry,
		board: health.NewBoard(time.Now, logger.Named("health")), logger: logger,
	}
	registry.MustRegister(
		export.NewGoRuntime(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		export.NewBuildInfo(d.build),
	)
	return d
}
