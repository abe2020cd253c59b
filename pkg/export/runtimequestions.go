package export

import "github.com/prometheus/client_golang/prometheus"

// RuntimeQuestions counts the agent's questions to the container runtime about pods, by result.
type RuntimeQuestions struct {
	Open     int    // pods with an unanswered question
	Answered uint64 // this and the following: so far; see the help of podlapse_runtime_questions_total
	Dropped  uint64
	GivenUp  uint64
}

// runtimeQuestions reads the numbers at each scrape.
type runtimeQuestions struct {
	read        func() RuntimeQuestions
	open, ended *prometheus.Desc
}

// NewRuntimeQuestions creates the collector of the metrics of questions to the container runtime.
func NewRuntimeQuestions(read func() RuntimeQuestions) prometheus.Collector {
	return &runtimeQuestions{
		read: read,
		open: prometheus.NewDesc("podlapse_runtime_questions_open", "Pods with an unanswered query to the container "+
			"runtime.", nil, nil),
		ended: prometheus.NewDesc("podlapse_runtime_questions_total",
			"Queries to the container runtime about a pod, by result: answered, dropped because too many were open, "+
				"given_up because the runtime kept failing. Queries that still matter are repeated.",
			[]string{"result"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *runtimeQuestions) Describe(descs chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, descs)
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *runtimeQuestions) Collect(metrics chan<- prometheus.Metric) {
	now := c.read()
	metrics <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(now.Open))
	for _, ended := range []struct {
		result string
		count  uint64
	}{{"answered", now.Answered}, {"dropped", now.Dropped}, {"given_up", now.GivenUp}} {
		metrics <- prometheus.MustNewConstMetric(c.ended, prometheus.CounterValue, float64(ended.count), ended.result)
	}
}
