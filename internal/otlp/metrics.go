package otlp

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
)

// MetricsConfig configures a Metrics. Every field except Exponential is required.
type MetricsConfig struct {
	Signal   Signal // settings of the export of metrics; the field On must be true
	Interval time.Duration
	// Exponential is true if Metrics sends exponential histograms, which have no exemplars. If Exponential is false,
	// histograms have the buckets of /metrics.
	Exponential bool
	Node        string
	Version     string // version of the agent
	Gatherer    prometheus.Gatherer
	// Registerer registers podlapse_otlp_metrics_failures_total.
	Registerer prometheus.Registerer
	Report     health.Report
	Logger     *zap.Logger
}

// Metrics sends the metrics of /metrics to the collector at a fixed interval. Counters and histograms count from the
// start of the agent. If a request fails, the next request contains all counts of the failed request. So Metrics needs
// no queue.
//
// Metrics does not use the SDK's periodic reader, because that reader reports failures only to a global handler.
type Metrics struct {
	config    MetricsConfig
	gathered  *gatheredMetrics
	reader    *sdkmetric.ManualReader
	provider  *sdkmetric.MeterProvider
	exporter  sdkmetric.Exporter
	failures  prometheus.Counter
	responses healthReporter
}

// NewMetrics creates a Metrics. A new Metrics connects to the collector only at the end of the first interval.
// NewMetrics panics if the metric podlapse_otlp_metrics_failures_total is already registered.
func NewMetrics(ctx context.Context, config MetricsConfig) (*Metrics, error) {
	who, err := newResource(ctx, config.Node, config.Version)
	if err != nil {
		return nil, err
	}
	exporter, err := newMetricExporter(ctx, config.Signal)
	if err != nil {
		return nil, err
	}
	from := &gatheredMetrics{from: config.Gatherer, exponential: config.Exponential}
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(from))))
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_otlp_metrics_failures_total",
		Help: "Failed or incomplete exports of metrics over OTLP. No counts are lost, because each export contains " +
			"all counts since the start of the agent. Requires the export of metrics over OTLP.",
	})
	config.Registerer.MustRegister(failures)
	return &Metrics{
		failures: failures, responses: healthReporter{endpoint: config.Signal.Endpoint, logger: config.Logger},
		config: config, gathered: from, reader: reader, exporter: exporter,
		provider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(who)),
	}, nil
}

// Run sends the metrics at each interval until ctx is done. After ctx is done, Run sends the metrics one last time,
// which takes less than a second. If the collector is unreachable, Run returns no error, but reports the failure to the
// health board. The caller can call Run only once.
func (m *Metrics) Run(ctx context.Context) error {
	m.config.Report(true, "nothing sent yet to "+m.config.Signal.Endpoint)
	limit, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flush, cancel) })()
	ticker := time.NewTicker(m.config.Interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			m.send(limit)
		case <-ctx.Done():
		}
	}
	m.send(limit)
	ended, release := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer release()
	_ = m.provider.Shutdown(ended)
	_ = m.exporter.Shutdown(ended)
	return nil
}

func (m *Metrics) send(ctx context.Context) {
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(ctx, &all); err != nil {
		m.fail("gather metrics: " + err.Error())
		return
	}
	decodeTraces(all)
	err := sendWithRetries(ctx, m.config.Signal.Timeout, func(ctx context.Context) error {
		return m.exporter.Export(ctx, &all)
	})
	taken, detail := m.responses.read(err)
	if !taken {
		m.fail(detail)
		return
	}
	if m.gathered.err != nil {
		m.fail("sent incomplete metrics: some metrics could not be gathered: " + m.gathered.err.Error())
		return
	}
	m.config.Report(true, detail)
}

func (m *Metrics) fail(detail string) {
	m.failures.Inc()
	m.config.Report(false, detail)
}
