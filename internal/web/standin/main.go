// Command standin runs the agent's web server without a node. The command serves the page and the API with invented
// start-ups, for tests in a browser. The stream benchmark uses the same start-ups and changes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/internal/live/livetest"
	"github.com/podlapse/podlapse/internal/page"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// options contains the values of the flags.
type options struct {
	listen                               string
	pods, changes                        int
	hostile, pulls, leaving, predictable bool
	revisions                            bool
	nodeStartUp                          time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 500, "number of start-ups")
	flag.IntVar(&o.changes, "changes", 0, "changes per second; 0 for none")
	flag.BoolVar(&o.hostile, "hostile", false, "add start-ups whose names and messages are attacks")
	flag.BoolVar(&o.pulls, "pulls", false, "add a pull in progress for each state")
	flag.BoolVar(&o.leaving, "leaving", false, "delete one pod per second")
	flag.BoolVar(&o.predictable, "predictable", false, "add the pod shop/web-0, whose start-up has a prediction")
	flag.BoolVar(&o.revisions, "revisions", false, "add three revisions of the workload shop/StatefulSet/web")
	flag.DurationVar(&o.nodeStartUp, "node-startup", 0, "time until the node has started; 0 to omit its start-up")
	flag.StringVar(&o.listen, "listen-address", "127.0.0.1:0", "address to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. When the server is ready, run writes the server's address as one line.
func run(ctx context.Context, o options, out io.Writer) error {
	pods := livetest.New()
	for _, t := range startUps(o) {
		pods.Set(t)
	}
	switch {
	case o.hostile:
		pods.SetPulls(hostilePulls())
	case o.pulls:
		pods.SetPulls(pullsSince(time.Now()))
	}
	config, err := serving(o, pods)
	if err != nil {
		return err
	}
	server, err := web.Listen(ctx, config)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, server.Addr()); err != nil {
		return errors.Join(err, server.Close())
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return server.Run(ctx) })
	parts.Go(func() error { return pods.Hub.Run(ctx) })
	if o.changes > 0 {
		parts.Go(func() error {
			return repeatEvery(ctx, time.Second/time.Duration(o.changes), func(n int) {
				pods.Set(startuptest.Changed(startuptest.New(n%o.pods), n))
			})
		})
	}
	if o.leaving {
		parts.Go(func() error {
			return repeatEvery(ctx, time.Second, func(n int) { pods.Remove(startuptest.New(n % o.pods).UID) })
		})
	}
	return parts.Wait()
}

// repeatEvery calls the function "does" once per interval until ctx is done.
func repeatEvery(ctx context.Context, interval time.Duration, does func(n int)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			does(n)
		}
	}
}

func startUps(o options) []timeline.Timeline {
	var all []timeline.Timeline
	for n := range o.pods {
		all = append(all, startuptest.New(n))
	}
	if o.hostile {
		all = append(all, hostileStartUps()...)
	}
	if o.predictable {
		all = append(all, startuptest.Predictable("web-0"))
	}
	if o.revisions {
		all = append(all, startuptest.RolledOut("first", "second", "third")...)
	}
	return all
}

func serving(o options, pods *livetest.Pods) (web.Config, error) {
	shown, err := page.New()
	if err != nil {
		return web.Config{}, err
	}
	statuses := []health.Status{{Part: "pod_watch", Up: true, Since: time.Now()}}
	var node func() (api.NodeStartUpRecord, bool)
	switch {
	case o.hostile:
		statuses = append(statuses, health.Status{Part: "cri", Since: time.Now(), Detail: strings.Join(attacks(), " ")})
		node = hostileNode
	case o.nodeStartUp > 0:
		node = nodeStartUp(time.Now(), o.nodeStartUp)
	}
	if node != nil {
		statuses = append(statuses, health.Status{Part: "node_startup", Up: true, Since: time.Now()})
	}
	return web.Config{
		ListenAddress: o.listen, Timelines: pods.All, Pulls: pods.Pulls, Page: shown, Gatherer: pods.Registry,
		Logger: zap.NewNop(), Statuses: func() []health.Status { return statuses }, Required: []string{"pod_watch"},
		API: web.API{
			Node: "standin", Now: time.Now,
			Agent: api.AgentRecord{Version: "standin", StartedAt: api.InstantOf(time.Now())},
			Live:  pods.Hub, NodeStartUp: node,
			Skew: func(context.Context) (timeline.Skew, error) { return timeline.Skew{}, nil },
			History: history.New(history.Config{
				Pods: 1000, Bytes: 4 << 20, Now: time.Now, Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
			}),
		},
	}, nil
}
