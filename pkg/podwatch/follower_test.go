package podwatch

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// followed records the calls of a follower.
type followed []string

func (f *followed) Seen(p *corev1.Pod) { *f = append(*f, "seen "+p.Name) }
func (f *followed) Restarted(p *corev1.Pod, r Restart) {
	code := int32(-1)
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	*f = append(*f, "restarted "+r.Container+" "+string(r.Reason)+" "+string(rune('0'+r.Times))+" "+
		time.Duration(code).String())
}
func (f *followed) Gone(uid string) { *f = append(*f, "gone "+uid) }

func TestFollowerReceivesPods(t *testing.T) {
	s, pods := storeWith(t)
	var reported followed
	pods.config.Follower, pods.restarts = &reported, newRestarts(reported.Restarted)
	_ = s.Update(pod("a", "1"))
	_ = s.Update(crashedPod("1", 3, "Error", 7))
	_ = s.Update(crashedPod("1", 3, "Error", 7))
	_ = s.Delete(crashedPod("1", 3, "Error", 7))
	want := followed{"seen a", "restarted app error 1 7ns", "restarted app unknown 2 -1ns", "seen a", "seen a",
		"seen a", "gone 1"}
	if !slices.Equal(reported, want) {
		t.Errorf("reported %q\nwant %q", reported, want)
	}
}
