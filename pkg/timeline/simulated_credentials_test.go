package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// candidatesTrue says that the candidates of unattributed time contain each party that used more of this time than the
// error bound allows. Only some tests check this property.
const candidatesTrue property = "candidates true"

// checkCandidates checks the property candidatesTrue.
func (p *propertyCheck) checkCandidates() {
	for _, s := range p.got.Phases {
		if !s.Phase.IsGroup() || len(s.MergedWith) == 0 {
			continue
		}
		var missing time.Duration
		for _, t := range p.truth {
			if !slices.ContainsFunc(s.MergedWith, func(m Phase) bool { return partyOf(m) == partyOf(t.phase) }) {
				missing += max(0, earlier(s.EndAt, t.end).Sub(later(s.StartAt, t.start)))
			}
		}
		if missing > s.Error+time.Duration(responseDelay) {
			p.breaks(candidatesTrue, "%s %s from %s: the candidates %v lack %s", s.Phase, s.Container,
				sinceBase(s.StartAt), s.MergedWith, missing)
		}
	}
}

// TestSimulatedOldKubelets simulates pods on kubelets before version 1.33, with pulls that fail. After the kubelet has
// requested a pull, it can run a credential plugin. The candidates of unattributed time must include the kubelet. The
// test leaves out sources that lose Events: see openCells.
func TestSimulatedOldKubelets(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		if !slices.Contains([]string{"all", "some Events", "late agent", "CRI only", "runtime off"}, s.name) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 19)), withOldKubelet)
				breaches := checkObserved(t, s, seed, l)
				for _, property := range []property{noCauseOvercharge, candidatesTrue, errorPossible} {
					if breach := breaches[property]; breach != "" && (property != candidatesTrue || s.name == "all") {
						t.Fatalf("%s: %s", property, breach)
					}
				}
			}
		})
	}
}

// withOldKubelet reduces a simulated pod to one main container whose image is absent, on a kubelet before version 1.33.
func withOldKubelet(l *simulatedPod) {
	l.oldKubelet, l.pod.KubeletGeneration = true, 0
	c := l.containers[len(l.containers)-1]
	c.pullFailures, c.crashes = l.random.IntN(3), 0
	*l.images[c.Image] = storedImage{}
	l.containers, l.pod.Containers = []*simulatedContainer{c}, []Container{c.Container}
}

// lookUpInPull runs a credential plugin after the request for a pull.
func (l *simulatedPod) lookUpInPull(c *simulatedContainer) {
	if l.oldKubelet && l.chance(0.5) {
		l.now = l.now.Add(l.randomLength(time.Millisecond, 60*time.Second))
		l.record(PhaseKubeletSync, c.Name, l.now, trueMilestone{})
	}
}

// TestFailedPullOfOldKubelet checks that the error bound of a failed pull includes the time in which a kubelet before
// version 1.33 might have run a credential plugin.
func TestFailedPullOfOldKubelet(t *testing.T) {
	for path, old := range map[string]bool{
		"testdata/credential-plugin-old-kubelet-failed-pull.script": true,
		"testdata/image-backoff.script":                             false,
	} {
		input, _ := readScript(t, path)
		s := parseScript(t, input)
		got, _ := s.evidence().Timeline(s.asOf, s.skew)
		p := got.Pulls[0]
		length := p.FinishedAt.Sub(p.RequestedAt)
		if p.Error < length && old || p.Credentials > 0 != old {
			t.Errorf("%s: %s ±%s, credentials %s", path, length, p.Error, p.Credentials)
		}
	}
}
