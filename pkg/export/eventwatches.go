package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// EventWatches is the cost and the benefit of the watches on the kubelet's Events.
type EventWatches struct {
	Opened      uint64        // watches that the API server accepted so far
	Open        int           // watches that are open now
	OpenFor     time.Duration // total time that watches were open
	WaitingPods int           // pods without a slot for a watch
	Received    uint64        // Events that watches delivered
	Used        uint64        // Events that were new to a start-up
	Refused     RefusedEvents
}

// RefusedEvents counts ignored Events by reason.
type RefusedEvents struct{ Oversized, Pod, Host uint64 }

// eventWatches reads the numbers at each scrape.
type eventWatches struct {
	read                                                    func() EventWatches
	opened, open, openFor, waiting, received, used, refused *prometheus.Desc
}

// NewEventWatches creates the collector of the metrics of Event watches.
func NewEventWatches(read func() EventWatches) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("podlapse_"+name, help, labels, nil)
	}
	return &eventWatches{
		read:   read,
		opened: desc("event_watches_opened_total", "Watches on the kubelet's Events that the API server accepted."),
		open:   desc("event_watches_open", "Open watches on the kubelet's Events."),
		openFor: desc("event_watch_open_seconds_total",
			"Total time for which watches on the kubelet's Events were open. A watch that pods share counts once."),
		waiting: desc("event_watch_waiting_pods",
			"Pods whose Event watch waits because the maximum number of watches is open."),
		received: desc("events_received_total",
			"Events of the kubelet that the API server sent, including those repeated by a new watch and those "+
				"about pods that need none."),
		used: desc("events_used_total", "Events of the kubelet that added evidence to a start-up."),
		refused: desc("events_refused_total",
			"Events ignored because the kubelet cannot have created them, by reason: oversized (name, UID or size "+
				"too long), pod (the pod's UID with another namespace, name or kind), host (another host than in "+
				"the pod's earlier Events).", "reason"),
	}
}

// Describe implements prometheus.Collector.
func (c *eventWatches) Describe(descs chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, descs)
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *eventWatches) Collect(metrics chan<- prometheus.Metric) {
	now := c.read()
	counter := func(desc *prometheus.Desc, value float64) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value)
	}
	gauge := func(desc *prometheus.Desc, value int) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
	}
	counter(c.opened, float64(now.Opened))
	gauge(c.open, now.Open)
	counter(c.openFor, now.OpenFor.Seconds())
	gauge(c.waiting, now.WaitingPods)
	counter(c.received, float64(now.Received))
	counter(c.used, float64(now.Used))
	refused := func(reason string, count uint64) {
		metrics <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(count), reason)
	}
	refused("oversized", now.Refused.Oversized)
	refused("pod", now.Refused.Pod)
	refused("host", now.Refused.Host)
}
