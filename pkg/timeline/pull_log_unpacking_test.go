package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// otherPodsPull is a pull of another pod in the tests of separateWaits and widenEnd. Its times are in seconds since
// base. The pull is running if "until" is 0.
type otherPodsPull struct {
	image       string
	from, until float64
	failed      bool
	unpacked    []float64 // when the runtime unpacked the image's layers; nil if the runtime did not report layers
}

// observe adds the pull to the log, in the order in which the agent observes its steps.
func (o otherPodsPull) observe(log *PullLog, uid string) {
	second := func(s float64) time.Time {
		return base.Add(time.Duration(s * float64(time.Second)).Round(time.Millisecond))
	}
	event := func(reason, message string, s float64) {
		log.Observe(EventSeen{UID: uid, Container: "app", Reason: reason, Message: message, NamedAt: second(s),
			LastAt: second(s), Count: 1}, shopPod(uid, o.image))
	}
	event("Pulling", fmt.Sprintf("Pulling image %q", o.image), o.from)
	switch {
	case o.until == 0:
		return
	case o.failed:
		event("Failed", fmt.Sprintf("Failed to pull image %q: no", o.image), o.until)
		return
	}
	length := time.Duration((o.until - o.from) * float64(time.Second)).Round(time.Millisecond)
	event("Pulled", fmt.Sprintf("Successfully pulled image %q in %s (%s including waiting). Image size: 5 bytes.",
		o.image, length, length), o.until)
	if o.unpacked == nil {
		return
	}
	image := Image{Ref: o.image, Present: true, Layered: true, PulledAt: second(o.until)}
	for _, at := range o.unpacked {
		image.Layers = append(image.Layers, Layer{UnpackedAt: second(at)})
	}
	log.ObserveRuntime(RuntimeSeen{UID: uid, QueriedAt: second(o.until + 0.1), Images: []Image{image},
		Sandboxes: []Sandbox{{BegunAt: second(0)}}})
}

// foldScript returns the timeline of a script.
func foldScript(t *testing.T, name string) Timeline {
	t.Helper()
	input, _ := readScript(t, "testdata/"+name+".script")
	s := parseScript(t, input)
	tl, ok := s.evidence().Timeline(s.asOf, s.skew)
	if !ok {
		t.Fatal("no timeline of ", name)
	}
	return tl
}

// TestUnpackWaits completes the timeline of a script with pulls of other pods. The pull of the script began at 1.0, and
// its manifest arrived at 1.1. The runtime unpacked its lower layer until 26.0, and its last layer arrived at 27.0.
func TestUnpackWaits(t *testing.T) {
	const registry, either = "pull 1.005-27.000", "pull 1.005-6.000, image_pull 6.000-26.000, pull 26.000-27.000"
	since := func(log PullLog, s int) PullLog {
		log.MissesPullsBefore(base.Add(time.Duration(s) * time.Second))
		return log
	}
	y := func(from, until float64, unpacked ...float64) otherPodsPull {
		return otherPodsPull{image: "y", from: from, until: until, unpacked: unpacked}
	}
	failed := func(until float64) otherPodsPull {
		return otherPodsPull{image: "y", from: 0.8, until: until, failed: true}
	}
	same := func(until float64) otherPodsPull {
		return otherPodsPull{image: "cold", from: 0.8, until: until}
	}
	withoutSandbox := PullLog{sandboxes: map[string]sandboxSince{}}
	for name, test := range map[string]struct {
		log   PullLog
		other otherPodsPull
		want  string
	}{
		"no other pull":                             {want: registry},
		"unknown layers":                            {other: y(0.8, 28), want: either},
		"the same layer":                            {other: y(0.8, 28, 26), want: either},
		"other layers":                              {other: y(0.8, 28, 25), want: registry},
		"running":                                   {other: y(0.8, 0), want: either},
		"failed after the layer":                    {other: failed(26.1), want: either},
		"failed before the layer":                   {other: failed(25), want: registry},
		"ended before the layer":                    {other: y(0.8, 25), want: registry},
		"began soon":                                {other: y(1.2, 28), want: either},
		"began later":                               {other: y(5, 28), want: registry},
		"requested later":                           {other: y(5, 0), want: registry},
		"the same image":                            {other: same(28), want: registry},
		"the same image, running":                   {other: same(0), want: registry},
		"no sandbox was reported":                   {log: withoutSandbox, other: y(0.8, 28), want: either},
		"one pull at a time":                        {log: serialLog(), other: y(1.2, 0), want: registry},
		"the agent began later":                     {log: since(PullLog{}, 30), want: either},
		"the agent began earlier":                   {log: since(PullLog{}, 20), want: registry},
		"the agent began later, one pull at a time": {log: since(serialLog(), 30), want: registry},
	} {
		t.Run(name, func(t *testing.T) {
			log := test.log
			if test.other.image != "" {
				test.other.observe(&log, "other")
			}
			tl := foldScript(t, "layer-unpacked-long-before-last-byte")
			original, before := tl.Phases, fmt.Sprint(tl.Phases)
			log.Complete(&tl)
			checkPartition(t, tl)
			if got := pullSpans(tl); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			p, joined := tl.Pulls[0], test.other.image == "cold"
			if sized := test.want == registry; !joined && (p.Sized() != sized || p.Rate() > 0 != sized) {
				t.Errorf("sized %t, rate %g", p.Sized(), p.Rate())
			}
			if fmt.Sprint(original) != before {
				t.Error("Complete changed the original phases")
			}
			if log.Complete(&tl); pullSpans(tl) != test.want {
				t.Errorf("the second call of Complete changed the phases: %s", pullSpans(tl))
			}
		})
	}
}

// TestUnpackWaitsWithoutEvents completes the same timeline on an agent without Events. Only the runtime's responses
// show that another image might have been pulled.
func TestUnpackWaitsWithoutEvents(t *testing.T) {
	second := func(s int) time.Time { return base.Add(time.Duration(s) * time.Second) }
	with := func(unpacked int) Image {
		return Image{Present: true, PulledAt: second(28), Layered: true,
			Layers: []Layer{{UnpackedAt: second(unpacked)}}}
	}
	for name, test := range map[string]struct {
		uid, ref string
		queried  int
		image    Image
		waits    bool
	}{
		"absent":             {"other", "y", 0, Image{}, true},
		"absent, long ago":   {"other", "y", -1000, Image{}, false},
		"of the same pod":    {"uid-1", "y", 0, Image{}, false},
		"the same image":     {"other", "cold", 0, Image{}, false},
		"pulled":             {"other", "y", 28, Image{Present: true, PulledAt: second(28)}, true},
		"pulled before":      {"other", "y", 28, Image{Present: true, PulledAt: second(25)}, false},
		"with the layer":     {"other", "y", 29, with(26), true},
		"with another layer": {"other", "y", 29, with(25), false},
	} {
		var log PullLog
		test.image.Ref = test.ref
		log.ObserveRuntime(RuntimeSeen{UID: test.uid, QueriedAt: second(test.queried), Images: []Image{test.image}})
		tl := foldScript(t, "layer-unpacked-long-before-last-byte")
		log.Complete(&tl)
		if waits := tl.Pulls[0].waited; waits != test.waits {
			t.Errorf("%s: might have waited %t, want %t: %s", name, waits, test.waits, pullSpans(tl))
		}
	}
}

// pullSpans returns the download phases of a timeline as text, with times in seconds since base.
func pullSpans(tl Timeline) string {
	var spans []string
	for _, s := range tl.Phases {
		if s.Phase == PhasePull || s.Phase == PhaseImagePull {
			spans = append(spans, fmt.Sprintf("%s %s-%s", s.Phase, instantText(s.StartAt), instantText(s.EndAt)))
		}
	}
	return strings.Join(spans, ", ")
}

// TestShortUnpackWaitsWidenErrorBound checks waits that are too short for a phase of their own.
func TestShortUnpackWaitsWidenErrorBound(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	var layers []Layer
	for i := range 5 { // the runtime unpacks each layer in 60 ms, before the next layer arrives
		arrives := second(float64(2 + i))
		layers = append(layers, Layer{Digest: fmt.Sprint(i), SizeBytes: 9, DownloadedAt: arrives,
			UnpackedAt: arrives.Add(60 * time.Millisecond)})
	}
	for running, want := range map[bool]time.Duration{false: 100 * time.Millisecond, true: 340 * time.Millisecond} {
		var log PullLog
		if running {
			otherPodsPull{image: "y", from: 0.8}.observe(&log, "other")
		}
		tl := nodePull{1, 1, 7}.timelineOf("me", layers...)
		tl.Pulls[0].imageLayers = layers
		tl.Phases = []Span{{Phase: PhasePull, Container: "app", StartAt: second(1), EndAt: second(6),
			Error: 100 * time.Millisecond}}
		log.Complete(tl)
		if len(tl.Phases) != 1 || tl.Phases[0].Error != want || tl.Pulls[0].Sized() == running {
			t.Errorf("running %t: sized %t, phases %+v", running, tl.Pulls[0].Sized(), tl.Phases)
		}
	}
}
