package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// settingsOf returns the settings of an agent that has not parsed any flags.
func settingsOf(node feature.Node) *settings {
	return &settings{agent: func() feature.Node { return node }}
}

func (s *settings) parse(args ...string) error {
	_, err := s.table().Parse(args, func(string) string { return "" }, 0)
	return err
}

func TestRuntimeProbesNeedRuntime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "probes.yaml")
	if err := os.WriteFile(path, []byte("probes: [{name: cri, kind: cri}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for runtime, want := range map[bool]string{
		false: `--probes-file: probes of kind "cri" require a container runtime`, true: "",
	} {
		err := settingsOf(feature.Node{Name: "a", Runtime: runtime}).parse("--probes-file=" + path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("runtime %t: %v", runtime, err)
		}
	}
}

// The agent validates a reloaded probes file in the same way as the first file.
func TestProbesFileIsValidatedOnReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "probes.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("probes: [{name: a, kind: tcp, target: '$(NODE_ADDRESS):1'}]")
	s := settingsOf(feature.Node{Name: "node-a"})
	if err := s.parse("--node-address=fd00::7", "--probes-file="+path); err != nil {
		t.Fatal(err)
	}
	if got := s.read.Probes[0].Target; got != "[fd00::7]:1" {
		t.Errorf("probes %s", got)
	}
	write("probes: [{name: a, kind: dns, target: $(NODE_NAME)}]")
	if got, err := s.load(); err != nil || got.Probes[0].Target != "node-a" {
		t.Errorf("probes %+v, %v", got, err)
	}
	write("probes: [{name: a, kind: cri}]")
	if _, err := s.load(); err == nil ||
		!strings.Contains(err.Error(), `probes of kind "cri" require a container runtime`) {
		t.Errorf("accepted: %v", err)
	}
}

func TestNodeAddress(t *testing.T) {
	for given, want := range map[string]bool{"": true, "10.0.0.7": true, "fd00::7": true, "node-a": false,
		"10.0.0.7:53": false, "fe80::1%eth0": false} {
		var s settings
		if err := s.setAddress(given); (err == nil) != want || s.address.IsValid() != (want && given != "") {
			t.Errorf("%q: %v, %v", given, s.address, err)
		}
	}
}

// Round trips bypass the client's rate limit of ten requests at once and then five per second.
func TestRoundTripsAreNotRateLimited(t *testing.T) {
	cluster := podwatchtest.Start(t)
	client, err := kubeclient.New(&rest.Config{Host: cluster.URL()})
	if err != nil {
		t.Fatal(err)
	}
	ask, begunAt := requestVersion(client), time.Now()
	for range 30 {
		if err := ask(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begunAt); took > 2*time.Second { // with the client's limit, 30 round trips take four seconds
		t.Errorf("30 round trips took %s", took)
	}
}

func TestPulledFrom(t *testing.T) {
	pull := func(registry string, outcome imagepull.Outcome) timeline.Timeline {
		return timeline.Timeline{Pulls: []timeline.Pull{{Registry: registry, Outcome: outcome,
			Confirmed: registry != "forged"}}}
	}
	got := pulledFrom([]timeline.Timeline{
		pull("b", imagepull.OutcomeDownloaded), pull("c", imagepull.OutcomeDownloaded),
		pull("c", imagepull.OutcomeVerified), pull("a", imagepull.OutcomeJoined),
		pull("invented", imagepull.OutcomeFailed), pull("forged", imagepull.OutcomeDownloaded),
		pull("present", imagepull.OutcomePresent), pull("unknown", imagepull.OutcomeDownloaded),
	})
	if want := []string{"c", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
