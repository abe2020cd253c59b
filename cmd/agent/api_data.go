package main

import (
	"context"
	"io"
	"time"

	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/page"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// historyPods is the maximum number of deleted pods in the history.
const historyPods = 1000

// servedData holds the data that the agent keeps for the read API.
type servedData struct {
	startedAt api.Instant
	history   *history.History
	tally     *tally.Tally // nil if --history-limit is 0 or too small for the sums
	live      *live.Hub
	pulls     livePullsFunc
	// writePods becomes web.API.Objects. If the agent keeps no pod objects, writePods is nil.
	writePods func(w io.Writer, want func(namespace, name, labels string) bool) error
	// nodeStartUp is nil if the agent does not follow the start-up of its node.
	nodeStartUp func() (api.NodeStartUpRecord, bool)
}

// newServedData creates the parts that keep data for the read API. The caller must set served.pulls and
// served.writePods before any component runs.
func newServedData(d deps, k *core) *servedData {
	s := &servedData{startedAt: api.InstantOf(time.Now())}
	kept := history.Config{Pods: historyPods, Bytes: d.config.historyBytes, Now: time.Now,
		Registerer: d.registry, Logger: d.logger.Named("history")}
	if bytes := tally.BytesOf(d.config.historyBytes); bytes > 0 {
		s.tally = tally.New(tally.Config{Node: d.config.nodeName, Bytes: bytes, Now: time.Now})
		kept.OtherBytes = s.tally.Bytes
	}
	s.history = history.New(kept)
	s.live = live.New(live.Config{
		Some: func(ctx context.Context, uids []string) ([]timeline.Timeline, error) {
			some, err := k.someTimelines(ctx, uids)
			return s.pulls.boundOpenPhases(ctx, some), err
		},
		Pulls: func(ctx context.Context) (livepull.Snapshot, error) { return s.pulls(ctx) },
		Now:   time.Now, Registerer: d.registry, Logger: d.logger.Named("stream"),
	})
	return s
}

// addSettled adds a start-up to the hourly sums for the command `kubectl podlapse report`. The sums and the history of
// deleted pods share one memory limit, so addSettled also trims the history.
func (s *servedData) addSettled(t timeline.Timeline) {
	s.tally.Add(t)
	s.history.Trim()
}

// addForgotten handles the deletion of a pod. When the stream reports the deletion, the history must already contain
// the pod.
func (s *servedData) addForgotten(t timeline.Timeline) {
	s.history.Add(t)
	s.live.Gone(t)
}

func (s *servedData) api(d deps, skew func(context.Context) (timeline.Skew, error)) web.API {
	return web.API{
		Node: d.config.nodeName, Now: time.Now, Skew: skew, History: s.history, Tally: s.tally, Live: s.live,
		Objects: s.writePods, NodeStartUp: s.nodeStartUp,
		Agent: api.AgentRecord{Version: d.build.version, Revision: d.build.revision, StartedAt: s.startedAt},
	}
}

// newServer returns a server that is already listening.
func newServer(ctx context.Context, d deps, k *core, s *servedData) (*web.Server, error) {
	access, err := newAccess(d)
	if err != nil {
		return nil, err
	}
	files, err := page.New()
	if err != nil {
		return nil, err
	}
	return web.Listen(ctx, web.Config{
		ListenAddress: d.config.listenAddress,
		WebConfigFile: d.config.webConfigFile,
		Access:        access,
		LocalOnly:     d.config.webAuth == webAuthLocal,
		Hosts:         d.config.webHosts,
		Timelines: func(ctx context.Context) ([]timeline.Timeline, error) {
			present, err := k.reconciler.Present(ctx)
			return s.pulls.boundOpenPhases(ctx, present), err
		},
		Pulls:        s.pulls,
		Statuses:     d.board.Statuses,
		Required:     []string{string(timeline.SourcePodWatch)},
		Gatherer:     d.registry,
		Registerer:   d.registry,
		Observations: k.latestObservations(d.config),
		Profiles:     d.config.profiles,
		API:          s.api(d, k.reconciler.Skew),
		Page:         files,
		Logger:       d.logger.Named("web"),
	})
}
