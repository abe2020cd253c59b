package whatif

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// readyMount is the longest time that the kubelet needs to mount volumes that are ready immediately.
const readyMount = 500 * time.Millisecond

// candidateChanges returns the changes that Predict examines. If a change saves too little time, or if the saved time
// is too uncertain, Predict makes no prediction for it.
func (s *startUp) candidateChanges() []change {
	return slices.Concat(s.imageChanges(), s.parallelPulls(), s.volumes(), s.configurationChanges(), s.failedRuns(),
		s.sidecars(), s.probePeriods())
}

// newChange returns a change that saves nothing yet.
func (s *startUp) newChange(id api.WhatIf, container string) change {
	return change{id: id, container: container, saved: make([]interval, len(s.phases)),
		doubt: make([]bool, len(s.phases)), wait: map[string]interval{}}
}

// saveTime records that the change saves the whole time of the given phases. The function "concerns" selects the
// containers. If the record contains only the total time of a given phase and other phases, the change saves an unknown
// part of this total time.
func (s *startUp) saveTime(c *change, names []timeline.Phase, concerns func(container string) bool) {
	for i := range s.phases {
		phase := &s.phases[i]
		if phase.Container != "" && !concerns(phase.Container) {
			continue
		}
		other := func(o container) bool { return !concerns(o.name) }
		may, anyOne := phasesOf(phase), phase.Container == "" && slices.ContainsFunc(s.containers, other)
		saves := func(p timeline.Phase) bool { return slices.Contains(names, p) }
		keeps := func(p timeline.Phase) bool { return !saves(p) }
		switch {
		case len(may) > 0 && !slices.ContainsFunc(may, saves):
		case len(may) > 0 && !slices.ContainsFunc(may, keeps) && !(anyOne && phase.Phase.IsGroup()):
			c.saved[i] = lengthInterval(phase.Length.Duration(), phase.Error.Duration())
		default:
			c.saved[i], c.doubt[i] = interval{0, longestTime(phase)}, true
			c.unsure += longestTime(phase)
		}
	}
}

func all(string) bool { return true }

// imageChanges returns three changes. If a pull is lazy, or if a container's image changed, imageChanges returns no
// change. The first change concerns the images that the node did not have. The second change concerns the images that
// the kubelet checked with the registry although the node had them. The third change concerns the sandbox image.
func (s *startUp) imageChanges() []change {
	absent, checked := map[string]bool{}, map[string]bool{}
	imageOf, pulled := map[string]string{}, map[string]string{}
	for i := range s.record.Pulls {
		pull := &s.record.Pulls[i]
		if pull.Kind == timeline.KindEphemeral {
			continue
		}
		if other, known := pulled[pull.Container]; known && other != pull.Image {
			return nil // the attempts used different images, so one image on the node cannot save all pulls
		}
		pulled[pull.Container] = pull.Image
		switch {
		case pull.Lazy:
			return nil // a lazy pull continues while the container runs
		case pull.Outcome == imagepull.OutcomeVerified:
			checked[pull.Container] = true
		case pull.Outcome != imagepull.OutcomePresent:
			absent[pull.Container], imageOf[pull.Container] = true, pull.Image
		}
	}
	present := s.newChange(api.WhatIfImages, "")
	s.saveTime(&present, []timeline.Phase{timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack,
		timeline.PhaseImagePull, timeline.PhaseImageBackoff},
		func(container string) bool { return absent[container] })
	images := map[string]bool{}
	for i := range s.phases {
		if image := imageOf[s.phases[i].Container]; image != "" && present.saved[i].high > 0 {
			images[image] = true
		}
	}
	present.text = "with the image on the node"
	if len(images) > 1 {
		present.text = fmt.Sprintf("with the %d images on the node", len(images))
	}
	present.assumption = "if the pull policy is not Always"
	unchecked := s.newChange(api.WhatIfNoCheck, "")
	s.saveTime(&unchecked, []timeline.Phase{timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack,
		timeline.PhaseImagePull}, func(container string) bool { return checked[container] && !absent[container] })
	unchecked.text = "with imagePullPolicy: IfNotPresent"
	unchecked.assumption = "if the image on the node is the right one"
	pause := s.newChange(api.WhatIfSandboxImage, "")
	s.saveTime(&pause, []timeline.Phase{timeline.PhaseSandboxImage}, all)
	pause.text = "with the sandbox (pause) image on the node"
	pause.assumption = "if the kubelet does not remove the image"
	return []change{present, unchecked, pause}
}

// parallelPulls returns the change that increases maxParallelImagePulls, a setting of the kubelet. Parallel pulls share
// the download rate. In the worst case, the pod's pull and all pulls that were ahead of it in the queue get equal
// shares of the download rate. If the pod waits for a pull of the same image, the change does not shorten this wait,
// because the runtime downloads the image only once.
func (s *startUp) parallelPulls() []change {
	c := s.newChange(api.WhatIfParallelPulls, "")
	s.saveTime(&c, []timeline.Phase{timeline.PhasePullQueue}, all)
	c.unsure = 0
	atATime := 0
	for i := range s.phases {
		c.unsure += c.saved[i].high
		c.saved[i].low, c.doubt[i] = 0, true
		phase := &s.phases[i]
		k := slices.IndexFunc(s.record.Pulls, func(p api.PullRecord) bool {
			return p.Container == phase.Container && p.Attempt == phase.Attempt
		})
		if phase.Phase != timeline.PhasePullQueue || len(phase.MergedWith) > 0 || k < 0 {
			continue
		}
		pull := &s.record.Pulls[k]
		if pull.BlockedBy == nil || pull.BlockedBy.Image == pull.Image || pull.PullsAhead < 1 ||
			pull.PullsAhead > maxContainers || pull.Pull == nil || pull.Error == nil || *pull.Pull < 0 ||
			*pull.Error < 0 {
			continue
		}
		wait := lengthInterval(phase.Length.Duration(), phase.Error.Duration())
		own := bounded(pull.Pull.Duration()) + bounded(pull.Error.Duration())
		shared := time.Duration(pull.PullsAhead) * min(own, wait.high)
		c.saved[i], c.doubt[i] = interval{max(wait.low-shared, 0), wait.high}, false
		c.unsure -= wait.high
		atATime = max(atATime, pull.PullsAhead+1)
	}
	if atATime == 0 {
		return nil
	}
	c.text = fmt.Sprintf("with %d pulls at a time", atATime)
	c.assumption = "if this pod's pulls run in parallel only with the pulls ahead of them in the queue"
	return []change{c}
}

func (s *startUp) volumes() []change {
	c := s.newChange(api.WhatIfVolumes, "")
	s.saveTime(&c, []timeline.Phase{timeline.PhaseVolumes}, all)
	for i, phase := range s.phases {
		if phase.Phase == timeline.PhaseVolumes {
			c.saved[i].low = max(c.saved[i].low-readyMount, 0)
		}
	}
	c.text, c.assumption = "with volumes that are ready at once", "if the kubelet mounts the volumes within 0.5 s"
	return []change{c}
}

// configurationChanges returns one change for the pod's configuration and one change for each container's
// configuration.
func (s *startUp) configurationChanges() []change {
	pod := s.newChange(api.WhatIfConfig, "")
	s.saveTime(&pod, []timeline.Phase{timeline.PhasePodConfig}, all)
	pod.text = configurationText("")
	changes := []change{pod}
	for _, container := range s.containers {
		c := s.newChange(api.WhatIfConfig, container.name)
		s.saveTime(&c, []timeline.Phase{timeline.PhaseContainerConfig},
			func(name string) bool { return name == container.name })
		c.text = configurationText(container.name)
		changes = append(changes, c)
	}
	for i := range changes {
		changes[i].assumption = configurationAssumption
		if object := s.missingObject(changes[i].container); object != "" {
			changes[i].text = "without the missing " + object
			changes[i].assumption = "if the object exists before the pod"
		}
	}
	return changes
}

// configurationAssumption is the assumption of a configuration change whose text does not name the missing ConfigMap or
// Secret.
const configurationAssumption = "if the configuration is complete when the pod is created"

// configurationText describes the change that removes the wait for a container's configuration. If the argument is
// empty, the text describes the wait for the pod's configuration.
func configurationText(container string) string {
	if container == "" {
		return "without the wait for the pod's configuration"
	}
	return "without the wait for the configuration of " + container
}

// missingObject reads the kubelet's Events about a container, and returns the ConfigMap or Secret that is missing. If
// the Events name no missing object, or several missing objects, the result is empty. If the argument "container" is
// empty, missingObject reads the Events about the pod.
func (s *startUp) missingObject(container string) (object string) {
	for _, event := range s.record.Events {
		for word, kind := range map[string]string{"configmap": "ConfigMap", "secret": "Secret"} {
			_, after, _ := strings.Cut(event.Message, word+` "`)
			name, after, _ := strings.Cut(after, `"`)
			if event.Container != container || !strings.HasPrefix(after, " not found") {
				continue
			}
			if found := kind + " " + name; object == "" || object == found {
				object = found
			} else {
				return ""
			}
		}
	}
	return object
}

// failedRuns returns one change for each container that ran several times. With the change, the first run succeeds and
// takes as long as the latest run took.
func (s *startUp) failedRuns() (changes []change) {
	if slices.ContainsFunc(s.phases, func(p api.PhaseRecord) bool {
		return slices.Contains(phasesOf(&p), timeline.PhaseSandboxLost)
	}) {
		return nil // the runs might have ended because the sandbox stopped
	}
	for i := range s.containers {
		container := &s.containers[i]
		if container.finalAttempt == container.firstAttempt || container.firstAttempt > 0 {
			continue
		}
		c := s.newChange(api.WhatIfNoCrash, container.name)
		c.text = "without the failed runs of " + container.name
		c.assumption = "if the first run succeeds as the latest run did"
		first, final := container.firstStart, container.finalStart
		// At first, the variable "hidden" is the longest possible time from the start of the first run to the start of
		// the latest run. The loop subtracts the container's own phases. The rest of the time belongs to other phases
		// in the record, but the container might also have run and failed during these phases.
		hidden := container.final.difference(container.first).high
		last := -1
		for k := range s.phases {
			phase := &s.phases[k]
			if phase.Container == container.name && s.since(phase.StartAt) >= first.high &&
				s.since(phase.EndAt) <= final.low {
				c.saved[k] = lengthInterval(phase.Length.Duration(), phase.Error.Duration())
				hidden -= c.saved[k].high
				last = k
			}
		}
		switch more := (interval{0, max(hidden, 0)}); {
		case container.kind == timeline.KindMain:
			c.restarts = map[string]interval{container.name: more}
		case last < 0:
			continue
		default: // all later containers wait for this init container or sidecar
			c.saved[last] = c.saved[last].plus(more)
		}
		changes = append(changes, c)
	}
	return changes
}

// sidecars returns one change for each init container that ran once. The change turns the init container into a
// sidecar. The sidecar starts as early as the init container did, but the next container does not wait until the
// sidecar ends.
func (s *startUp) sidecars() (changes []change) {
	for i := range s.containers {
		container := &s.containers[i]
		if container.kind != timeline.KindInit || container.runs != 1 {
			continue
		}
		c := s.newChange(api.WhatIfSidecar, container.name)
		s.saveTime(&c, []timeline.Phase{timeline.PhaseInitRun},
			func(name string) bool { return name == container.name })
		c.text = "with " + container.name + " as a sidecar"
		c.assumption = "if " + container.name + " keeps running, and no container needs its result"
		changes = append(changes, c)
	}
	return changes
}
