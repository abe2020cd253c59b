package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// The load of the scenario "fleet-cost".
const (
	fleetNodes       = 100 // number of nodes with pods
	fleetPodsPerNode = 5
	fleetRate        = 10  // starts per second, on all nodes together
	fleetStarts      = 100 // number of starts in a block, one on each node
	fleetPairs       = 4   // number of measured pairs; a pair has two blocks of starts and two idle periods
	fleetIdle        = 20 * time.Second
	fleetAgents      = 4 // number of nodes with a real agent
)

// fleetCost measures how the cost of the agents grows with their number, on the lab's real API server and etcd. The
// scenario starts pods on 100 synthetic nodes. For each of these nodes, the scenario opens one watch in place of the
// kubelet's watch. A few of these nodes have a real agent. Bare watches replace the agents of all other nodes. A bare
// watch belongs to no agent, but sends the same request as an agent's pod watch. Most bare watches are for nodes
// without pods. The API server must keep these watches open, but has nothing to send.
//
// The scenario "event-cost" shows that a bare watch costs the API server as much as an agent whose node already has all
// images. The scenario "fleet-cost" requires that an agent and a bare watch receive almost the same number of bytes.
//
// The tool kwok could also simulate nodes, but kwok has no container runtime. Without a container runtime, an agent
// needs the Events of all pods on its node. With a container runtime, an agent usually needs no Events of a pod whose
// images the node already has.
func fleetCost(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	runtime := synthetic.NewRuntime()
	stop, err := runtime.Serve(b.Node.ExtraSocket())
	if err != nil {
		return err
	}
	defer stop()
	f := fleet{bench: b, verdict: v, runtime: runtime}
	defer func() { err = errors.Join(err, f.removeNodes(context.WithoutCancel(ctx))) }()
	if err := f.grow(ctx); err != nil {
		return err
	}
	var sizes []fleetSize
	for _, agents := range []int{250, 500, 1000} {
		size, err := f.measureAgents(ctx, agents)
		if err != nil {
			return err
		}
		sizes = append(sizes, size)
	}
	for _, row := range extrapolation(sizes) {
		v.Note("%s", row)
	}
	return nil
}

// fleet is a set of synthetic nodes with pods.
type fleet struct {
	bench   *bench.Bench
	verdict *Verdict
	runtime *synthetic.Runtime
	nodes   int // number of registered nodes
	agents  int // number of real agents plus number of bare watches
	blocks  int // number of blocks of starts so far
}

func fleetNode(i int) string { return fmt.Sprintf("fleet-%d", i+1) }

// grow registers the nodes and starts their pods.
func (f *fleet) grow(ctx context.Context) error {
	all, together := errgroup.WithContext(ctx)
	all.SetLimit(16)
	for ; f.nodes < fleetNodes; f.nodes++ {
		node := f.nodes
		all.Go(func() error {
			if err := synthetic.Register(together, f.bench.Kube, fleetNode(node)); err != nil {
				return err
			}
			for i := range fleetPodsPerNode {
				if err := f.startPod(together, fmt.Sprintf("fleet-%d-%d", node+1, i+1), node); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// startPod starts one pod whose image the node already has.
func (f *fleet) startPod(ctx context.Context, name string, node int) error {
	kubelet := synthetic.Kubelet{Kube: f.bench.Kube, Runtime: f.runtime, Node: fleetNode(node), Pace: synthetic.Usual()}
	const image = "images.invalid/fleet:1"
	f.runtime.AddImage(image)
	_, err := kubelet.Start(ctx, f.bench.Namespace, name, []string{image}, false)
	return err
}

// removeNodes removes the nodes. After the scenario, the caller of fleetCost removes the pods.
func (f *fleet) removeNodes(ctx context.Context) error {
	var failures []error
	for i := range f.nodes {
		failures = append(failures, synthetic.Unregister(ctx, f.bench.Kube, fleetNode(i)))
	}
	return errors.Join(failures...)
}

// measureAgents measures the costs of the given number of agents.
func (f *fleet) measureAgents(ctx context.Context, agents int) (s fleetSize, err error) {
	s.agents, f.agents = agents, agents
	living, end := context.WithCancel(ctx)
	kubelets, living := errgroup.WithContext(living)
	defer func() { end(); err = errors.Join(err, kubelets.Wait()) }()
	kubelets.Go(func() error { return f.keepAlive(living) })
	if err := f.openWatches(living, kubelets, make([]*byteCount, f.nodes), 0); err != nil {
		return s, err
	}
	for i := range fleetPairs {
		order := []bool{true, false}
		if i%2 == 1 {
			order = []bool{false, true}
		}
		var with, without fleetBlock
		for _, agents := range order {
			block, err := f.play(living, agents, &s)
			if err != nil {
				return s, err
			}
			if agents {
				with = block
			} else {
				without = block
			}
		}
		s.start = append(s.start, (with.start-without.start)/fleetStarts)
		s.idle = append(s.idle, (with.idle-without.idle)*time.Second/fleetIdle)
	}
	start, idle := pair(s.start), pair(s.idle)
	f.verdict.Compared++
	f.verdict.Note("%d agents: together, they add %.3f ms of CPU to the API server and etcd per start (standard error "+
		"%.3f), and %.2f ms per second without starts (standard error %.2f)", agents, milliseconds(start.mean),
		milliseconds(start.standardError), milliseconds(idle.mean), milliseconds(idle.standardError))
	return s, nil
}

// keepAlive keeps all nodes ready until ctx ends.
func (f *fleet) keepAlive(ctx context.Context) error {
	all, together := errgroup.WithContext(ctx)
	for i := range f.nodes {
		all.Go(func() error {
			if err := sleep(together, time.Duration(i)*10*time.Millisecond); err != nil {
				return nil
			}
			return synthetic.KeepAlive(together, f.bench.Kube, fleetNode(i))
		})
	}
	return all.Wait()
}

// openWatches opens pod watches without an agent: one watch for each element of "into", from the index "first" on. The
// index of the element is the index of the watched node. openWatches opens several watches at the same time. Each watch
// adds the number of received bytes to its element of "into". If the element is nil, the watch does not count its
// bytes.
func (f *fleet) openWatches(ctx context.Context, group *errgroup.Group, into []*byteCount, first int) error {
	opening, _ := errgroup.WithContext(ctx)
	opening.SetLimit(64) // more connections at a time would only wait for the machine's two cores
	for i, count := range into[first:] {
		received := io.Discard
		if count != nil {
			received = count
		}
		opening.Go(func() error { return followNode(ctx, group, f.bench, fleetNode(first+i), received) })
	}
	return opening.Wait()
}

// fleetBlock contains the CPU time of the API server and etcd during a block of starts, and during an idle period.
type fleetBlock struct{ start, idle time.Duration }

// play measures one block of starts and one idle period, with or without agents.
func (f *fleet) play(ctx context.Context, agents bool, s *fleetSize) (block fleetBlock, err error) {
	watching, end := context.WithCancel(ctx)
	watches, watching := errgroup.WithContext(watching)
	defer func() { end(); err = errors.Join(err, watches.Wait()) }()
	var bare []*byteCount
	if agents {
		if bare, err = f.rollOut(watching, watches, s); err != nil {
			return block, err
		}
		defer func() { err = errors.Join(err, f.bench.Node.StopExtraAgents()) }()
	}
	// The API server might still be deleting the previous block's pods.
	if err := sleep(ctx, 6*time.Second); err != nil {
		return block, err
	}
	if block.idle, err = f.serverCPU(func() error { return sleep(ctx, fleetIdle) }); err != nil {
		return block, err
	}
	before, beforeBare, err := f.receivedBytes(ctx, bare)
	if err != nil {
		return block, err
	}
	f.blocks++
	if block.start, err = f.serverCPU(func() error { return f.startPods(ctx) }); err != nil {
		return block, err
	}
	if agents {
		after, afterBare, err := f.receivedBytes(ctx, bare)
		if err != nil {
			return block, err
		}
		f.judgeBytes((after-before)/fleetAgents, (afterBare-beforeBare)/(fleetNodes-fleetAgents), s)
	}
	return block, f.clear(ctx)
}

// rollOut opens all watches without an agent at once, and measures the cost of opening these watches. Then rollOut
// starts the real agents. rollOut also measures how much the watches and the real agents together increase the API
// server's memory.
func (f *fleet) rollOut(ctx context.Context, group *errgroup.Group, s *fleetSize) ([]*byteCount, error) {
	memory, err := f.bench.Node.APIServerMemory()
	if err != nil {
		return nil, err
	}
	bare := make([]*byteCount, f.agents)
	for i := range bare {
		bare[i] = new(byteCount)
	}
	begunAt := time.Now()
	cpu, err := f.serverCPU(func() error { return f.openWatches(ctx, group, bare, fleetAgents) })
	if err != nil {
		return nil, err
	}
	s.rollout, s.rolloutTook = append(s.rollout, cpu), append(s.rolloutTook, time.Since(begunAt))
	for i := range fleetAgents {
		if err := f.bench.Node.StartExtraAgent(ctx, fleetNode(i), i); err != nil {
			return nil, err
		}
	}
	after, err := f.bench.Node.APIServerMemory()
	s.memory = append(s.memory, after-memory)
	return bare, err
}

// serverCPU returns the CPU time that the API server and etcd use while an action runs.
func (f *fleet) serverCPU(action func() error) (time.Duration, error) {
	before, err := f.bench.Node.ControlPlaneCPU()
	if err != nil {
		return 0, err
	}
	if err := action(); err != nil {
		return 0, err
	}
	after, err := f.bench.Node.ControlPlaneCPU()
	return after - before, err
}

// startPods starts pods at a constant rate, on one node after another.
func (f *fleet) startPods(ctx context.Context) error {
	all, together := errgroup.WithContext(ctx)
	for i := range fleetStarts {
		all.Go(func() error {
			if err := sleep(together, time.Duration(i)*time.Second/fleetRate); err != nil {
				return err
			}
			return f.startPod(together, fmt.Sprintf("block-%d-%d", f.blocks, i+1), i%fleetNodes)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return sleep(ctx, 2*time.Second) // time until all watches have received the last change
}

// clear deletes the pods and the Events of a block.
func (f *fleet) clear(ctx context.Context) error {
	for i := range fleetStarts {
		if err := f.bench.DeletePod(ctx, fmt.Sprintf("block-%d-%d", f.blocks, i+1)); err != nil {
			return err
		}
	}
	return synthetic.ClearEvents(ctx, f.bench.Kube, f.bench.Namespace)
}

// receivedBytes returns two numbers of bytes. The number "agents" is the sum for the pod watches of all real agents.
// The number "watches" is the sum for the watches without an agent, but only for the nodes with pods.
func (f *fleet) receivedBytes(ctx context.Context, bare []*byteCount) (agents, watches float64, err error) {
	if bare == nil {
		return 0, 0, nil
	}
	for i := range fleetAgents {
		text, err := f.bench.Node.Extra(i).Metrics(ctx)
		if err != nil {
			return 0, 0, err
		}
		bytes, err := metrics.Sum(text, "podlapse_apiserver_received_bytes_total", `resource="pods"`, `verb="watch"`)
		if err != nil {
			return 0, 0, err
		}
		agents += bytes
	}
	for _, b := range bare[:fleetNodes] {
		watches += float64(b.Load())
	}
	return agents, watches, nil
}

// judgeBytes requires that a real agent and a watch without an agent receive almost the same number of bytes for a
// start.
func (f *fleet) judgeBytes(agent, bare float64, s *fleetSize) {
	s.startBytes = append(s.startBytes, agent*fleetNodes/fleetStarts)
	f.verdict.Compared++
	const bookmarks = 0.05 // allowed relative difference; one watch can receive more bookmarks than the other
	if agent == 0 || math.Abs(agent-bare) > bookmarks*agent {
		f.verdict.Problem("%d agents: the watch of an agent received %.0f bytes, and a bare watch %.0f, want the "+
			"same number", f.agents, agent, bare)
	}
}
