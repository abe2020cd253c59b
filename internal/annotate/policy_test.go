package annotate

import (
	"strings"
	"testing"
	"time"
)

// TestNothingIsWrittenWithoutPolicy gives the agent permission to patch pods, but no policy exists, as before
// Kubernetes 1.30. The agent must write nothing and report the reason.
func TestNothingIsWrittenWithoutPolicy(t *testing.T) {
	h := newHarness(t)
	h.cluster.WithoutPolicies()
	h.cluster.Put(pod("web", map[string]string{RequestStartUp: "true", RequestTime: ""}))
	h.settle("uid-web", settledTimeline())
	h.startAgent()
	h.eventually("reported", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return strings.Contains(strings.Join(h.reported, " "),
			"install the ValidatingAdmissionPolicy and the ValidatingAdmissionPolicyBinding")
	})
	time.Sleep(2 * changesWithin)
	if applies := h.cluster.Applies(); len(applies) > 0 || h.annotation("web", Forbidden) != "" {
		t.Errorf("applied %+v; the pod has %v", applies, h.cluster.Pod("ns", "web").Annotations)
	}
}

// TestPolicyIsTestedByDryRun checks that the agent rarely sends the patch that the policy must refuse. The patch must
// be a dry run, so that the API server stores nothing.
func TestPolicyIsTestedByDryRun(t *testing.T) {
	h := newHarness(t)
	for _, name := range []string{"a", "b", "c"} {
		h.cluster.Put(pod(name, map[string]string{RequestTime: ""}))
	}
	h.startAgent()
	for _, name := range []string{"a", "b", "c"} {
		h.eventually("annotated", func() bool { return h.annotation(name, Time) != "" })
		if h.annotation(name, Forbidden) != "" {
			t.Errorf("%s has an annotation that the policy must refuse", name)
		}
	}
	patches := 0
	for _, request := range h.cluster.Requests() {
		if strings.HasPrefix(request, "patch ") {
			patches++
		}
	}
	if patches != 4 {
		t.Errorf("%d patches for three pods, want four, one a dry run", patches)
	}
}
