package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
)

// deps holds the values that all parts of the agent use.
type deps struct {
	config   config
	build    buildInfo
	api      apiServer
	registry *prometheus.Registry
	board    *health.Board // status of each part, in the order of registration
	logger   *zap.Logger
}

// newDeps creates the shared values, and registers the metrics of the process.
func newDeps(c config, api apiServer, registry *prometheus.Registry, logger *zap.Logger) deps {
	d := deps{
		config: c, build: thisBuild(), api: api, registry: registry,
		board: health.NewBoard(time.Now, logger.Named("health")), logger: logger,
	}
	registerProcessMetrics(registry, d.build)
	return d
}

// registerSource registers a source of observations on the board. registerSource also registers the source's metrics.
func (d deps) registerSource(name, detail string) health.Report {
	return d.board.RegisterSource(d.registry, name, detail)
}
