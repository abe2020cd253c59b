package state_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// life is the simulated life of one pod. A world is a list of lives. The times of a life are in seconds after the
// creation of the pod.
type life struct {
	uid       string
	createdAt time.Time
	pulls     bool    // true if the pod's image is absent
	readyAt   float64 // 0 means never
	deletedAt float64 // 0 means never; the pod is gone one second later
}

// The times of the steps of all pods.
const (
	acknowledgedAt = 0.30
	sandboxAt      = 0.50
	networkAt      = 0.90
	sandboxRunsAt  = 1.00
	pullAt         = 1.10
	pulledAt       = 4.00
	runsAt         = 4.20 // if the pod pulls its image; otherwise the containers run right after the sandbox
	runsAtOnce     = 1.30
	reportDelay    = 0.40 // delay between a start and the kubelet's report to the API server
)

func newWorld(began time.Time) []life {
	var world []life
	for i := range 12 {
		l := life{uid: fmt.Sprintf("uid-%02d", i),
			createdAt: began.Add(time.Duration(i) * 700 * time.Millisecond).Truncate(time.Second),
			pulls:     i%3 != 0, readyAt: 6.25}
		switch i % 6 {
		case 4:
			l.readyAt, l.deletedAt = 0, 3.5 // during the start-up
		case 5:
			l.deletedAt = 9.5
		}
		world = append(world, l)
	}
	return world
}

func (l life) at(s float64) time.Time {
	return l.createdAt.Add(time.Duration(s * float64(time.Second)))
}

func (l life) is(tl timeline.Timeline) bool { return tl.UID == l.uid }

func (l life) runsAt() float64 {
	if l.pulls {
		return runsAt
	}
	return runsAtOnce
}

// changes returns the times at which the pod object changes. The last change is the deletion of the object.
func (l life) changes() []float64 {
	changes := []float64{0.1, acknowledgedAt}
	for _, s := range []float64{l.runsAt() + reportDelay, l.readyAt, l.deletedAt} {
		if s > 0 && (l.deletedAt == 0 || s <= l.deletedAt) {
			changes = append(changes, s)
		}
	}
	slices.Sort(changes)
	return changes
}

func (l life) exists(now time.Time) bool {
	return !now.Before(l.at(0.1)) && (l.deletedAt == 0 || now.Before(l.at(l.deletedAt+1)))
}

// object returns the pod object of the API server.
func (l life) object(now time.Time) timeline.Pod {
	past := func(s float64) bool { return s > 0 && !now.Before(l.at(s)) }
	second := func(s float64) time.Time { return l.at(s).Truncate(time.Second) }
	pod := timeline.Pod{UID: l.uid, RuntimeUID: l.uid, Namespace: "ns", Name: l.uid, Node: "node-1",
		CreatedAt: l.createdAt, Phase: "Pending",
		Conditions: []timeline.Condition{{Type: "PodScheduled", True: true, TransitionAt: second(0.1)}},
		Containers: []timeline.Container{{Name: "app", Kind: timeline.KindMain, Image: "registry.example/app:1",
			PullPolicy: timeline.PullIfNotPresent, State: timeline.StateWaiting}}}
	if past(acknowledgedAt) {
		pod.AcknowledgedAt = second(acknowledgedAt)
	}
	c := &pod.Containers[0]
	if past(l.runsAt() + reportDelay) {
		pod.Phase, c.State, c.StartedAt, c.Started = "Running", timeline.StateRunning, second(l.runsAt()), true
	}
	ready := past(l.readyAt)
	c.Ready = ready
	if ready {
		for _, kind := range []string{"ContainersReady", "Ready"} {
			pod.Conditions = append(pod.Conditions,
				timeline.Condition{Type: kind, True: true, TransitionAt: second(l.readyAt)})
		}
	}
	if past(l.deletedAt) {
		pod.DeletedAt = second(l.deletedAt)
	}
	return pod
}

// runtime returns the container runtime's response about the pod.
func (l life) runtime(q timeline.RuntimeRequest, now time.Time) timeline.RuntimeSeen {
	past := func(s float64) bool { return !now.Before(l.at(s)) && (l.deletedAt == 0 || s < l.deletedAt) }
	seen := timeline.RuntimeSeen{UID: l.uid, QueriedAt: now, ArrivedAt: now}
	if past(sandboxRunsAt) {
		seen.Sandboxes = []timeline.Sandbox{{ID: "s", Ready: true, BegunAt: l.at(sandboxAt),
			NetworkReadyAt: l.at(networkAt), RunningAt: l.at(sandboxRunsAt), ImageKnown: true}}
	}
	if past(l.runsAt()) {
		seen.Containers = []timeline.ContainerRun{{Name: "app", ID: "c", CreatedAt: l.at(l.runsAt() - 0.1),
			StartedAt: l.at(l.runsAt())}}
	}
	for _, ref := range q.Images {
		image := timeline.Image{Ref: ref, Present: !l.pulls || past(pulledAt)}
		if image.Present {
			image.Digest, image.SizeBytes = "sha256:1", 1000
			image.FirstPulledAt = l.at(-1000)
			if l.pulls {
				image.FirstPulledAt = l.at(pulledAt - 0.01)
			}
			image.PulledAt = image.FirstPulledAt
		}
		seen.Images = append(seen.Images, image)
	}
	return seen
}

// events returns the kubelet's Events.
func (l life) events() []timeline.EventSeen {
	if !l.pulls {
		return nil
	}
	event := func(s float64, reason, message string) timeline.EventSeen {
		second := l.at(s).Truncate(time.Second)
		return timeline.EventSeen{UID: l.uid, Container: "app", Reason: reason, Message: message, NamedAt: l.at(s),
			FirstAt: second, LastAt: second, Count: 1}
	}
	events := []timeline.EventSeen{event(pullAt, "Pulling", `Pulling image "registry.example/app:1"`)}
	if l.deletedAt == 0 || pulledAt < l.deletedAt {
		events = append(events, event(
			pulledAt+0.002,
			"Pulled",
			`Successfully pulled image "registry.example/app:1" in 2.5s (2.9s including waiting). `+
				`Image size: 1000 bytes.`,
		))
	}
	return events
}

// node replaces the sources of an agent, and reports the lives of a world to the agent.
type node struct {
	ctx      context.Context // context of the agent
	world    []life
	observe  func(timeline.Observation)
	requests chan timeline.RuntimeRequest // capacity above the number of requests
	known    map[string]bool              // pods of the previous agent

	mu        sync.Mutex
	watches   map[string]context.CancelFunc
	following sync.WaitGroup
}

// delay is the delay of the watches and of the runtime's responses.
const delay = 5 * time.Millisecond

func (n *node) life(uid string) life {
	i := slices.IndexFunc(n.world, func(l life) bool { return l.uid == uid })
	return n.world[i]
}

// SampleNode implements reconcile.Sources.
func (n *node) SampleNode(bool) {}

// RequestRuntime implements reconcile.Sources.
func (n *node) RequestRuntime(q timeline.RuntimeRequest) { n.requests <- q }

// PodStarting implements reconcile.Sources.
func (n *node) PodStarting() {}

// response responds to requests to the runtime.
func (n *node) response() {
	for {
		select {
		case q := <-n.requests:
			time.Sleep(delay)
			n.observe(n.life(q.UID).runtime(q, time.Now()))
		case <-n.ctx.Done():
			return
		}
	}
}

// watchPods lists and watches pods.
func (n *node) watchPods() {
	listedAt := time.Now()
	for uid := range n.known {
		if !n.life(uid).exists(listedAt) {
			n.observe(timeline.PodGone{UID: uid, ArrivedAt: listedAt})
		}
	}
	type change struct {
		life life
		at   time.Time
		gone bool
	}
	var changes []change
	for _, l := range n.world {
		if l.exists(listedAt) {
			n.observe(timeline.PodSeen{ArrivedAt: listedAt, Pod: l.object(listedAt)})
		}
		for _, s := range l.changes() {
			changes = append(changes, change{l, l.at(s), false})
		}
		if l.deletedAt > 0 {
			changes = append(changes, change{l, l.at(l.deletedAt + 1), true})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	for _, c := range changes {
		if !c.at.After(listedAt) {
			continue
		}
		if !backoff.Sleep(n.ctx, time.Until(c.at)+delay) {
			return
		}
		now := time.Now()
		if c.gone {
			n.observe(timeline.PodGone{UID: c.life.uid, ArrivedAt: now, Live: true})
		} else {
			n.observe(timeline.PodSeen{ArrivedAt: now, Live: true, Pod: c.life.object(c.at)})
		}
	}
}

// WatchEvents implements reconcile.Sources.
func (n *node) WatchEvents(w timeline.EventWatch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ctx, cancel := context.WithCancel(n.ctx)
	n.watches[w.UID] = cancel
	n.following.Go(func() { n.follow(ctx, n.life(w.UID)) })
}

// UnwatchEvents implements reconcile.Sources.
func (n *node) UnwatchEvents(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watches[uid]()
}

// follow reports the existing Events and the new Events.
func (n *node) follow(ctx context.Context, l life) {
	openedAt := time.Now()
	watchedAt := openedAt.Add(time.Second)
	events := l.events()
	for len(events) > 0 || !watchedAt.IsZero() {
		if len(events) > 0 && (watchedAt.IsZero() || events[0].NamedAt.Before(watchedAt)) {
			if !backoff.Sleep(ctx, max(0, time.Until(events[0].NamedAt))+delay) {
				return
			}
			e := events[0]
			e.ArrivedAt, e.Live = time.Now(), e.NamedAt.After(openedAt)
			n.observe(e)
			events = events[1:]
			continue
		}
		if !backoff.Sleep(ctx, time.Until(watchedAt)) {
			return
		}
		n.observe(timeline.EventsWatched{UID: l.uid, ArrivedAt: time.Now(), OpenedAt: openedAt})
		watchedAt = time.Time{}
	}
}
