package main

import (
	"context"
	"io"
	"time"

	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/internal/recorder"
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// core connects the reconciler with the sources and with the parts that query the reconciler. The function "serve" sets
// the fields "reconciler" and "runtime" before any component runs.
type core struct {
	reconciler *reconcile.Reconciler
	runtime    *cri.Source        // nil with --cri-endpoint=off
	recorder   *recorder.Recorder // nil without a recording
	seen       sourceTimes
}

// newCore opens the recording. The recording starts with the previous agent's observations of start-ups in progress.
// Without these observations, the recording of these start-ups would be incomplete.
func newCore(d deps, scope timeline.Scope, before []timeline.Observation) (*core, error) {
	k := &core{seen: newSourceTimes(d.registry)}
	header := recording.Header{Agent: d.build.version, Scope: scope, Terminations: d.config.termination}
	var err error
	k.recorder, err = newRecorder(d, header, before)
	return k, err
}

// observe receives the observations of all sources.
func (k *core) observe(ctx context.Context, o timeline.Observation) {
	if k.recorder != nil {
		k.recorder.Observe(o)
	}
	k.seen.record(o, time.Now())
	k.reconciler.Observe(ctx, o)
}

// someTimelines returns the timelines of the pods with the given UIDs. The reconciler must be running.
func (k *core) someTimelines(ctx context.Context, uids []string) ([]timeline.Timeline, error) {
	return k.reconciler.Some(ctx, uids)
}

// presentTimelines returns the timelines of all pods of the node. The reconciler must be running.
func (k *core) presentTimelines(ctx context.Context) ([]timeline.Timeline, error) {
	return k.reconciler.Present(ctx)
}

// pingRuntime sends a request to the container runtime. With --cri-endpoint=off, the caller must not call
// pingRuntime.
func (k *core) pingRuntime(ctx context.Context) error { return k.runtime.Ping(ctx) }

// latestObservations returns an io.WriterTo that writes the latest observations. Without --debug-observations, the
// result is nil.
func (k *core) latestObservations(c config) io.WriterTo {
	if k.recorder == nil || !c.debugObservations {
		return nil
	}
	return k.recorder
}

func (k *core) components() []component {
	list := []component{{"reconcile", stageReconcile, k.reconciler.Run}}
	if k.recorder != nil {
		list = append(list, component{partRecording, stageSinks, k.recorder.Run})
	}
	return list
}

// newReconciler creates the reconciler with its outputs, sources and state file. The new reconciler starts with the
// previous agent's state.
func newReconciler(d deps, scope timeline.Scope, kept *savedState, out outputs, from sources, shown *servedData,
	changed func(uid string)) *reconcile.Reconciler {
	left := kept.left
	kept.left = state.Contents{} // removes this reference, so that Go can free the contents after the restore
	c := reconcile.Config{
		Now: time.Now, Scope: scope, Sources: from, Logger: d.logger.Named("reconcile"), Registerer: d.registry,
		Optional: reconcile.Optional{
			Partial:      d.config.partial && out.lines != nil,
			Terminations: d.config.termination,
			PostStartup:  d.config.lifeTraces && out.traces != nil,
			Events:       d.config.events == eventsCluster,
		},
		Report: func(r reconcile.Report) {
			switch r.Kind {
			case reconcile.Changed:
				changed(r.Timeline.UID)
			case reconcile.Forgotten:
				shown.addForgotten(r.Timeline)
			default:
				out.send(r)
			}
		},
		Restored: reconcile.Restored{
			InFlight: left.InFlight, Reported: left.Reported, Terminations: left.Terminations,
			EventsUntil: left.EventsUntil,
		},
	}
	if kept.saver != nil {
		c.Saver = kept.saver
	}
	return reconcile.New(c)
}
