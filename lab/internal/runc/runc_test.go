package runc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutLimits(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"limits": {
			`{"ociVersion":"1.2.0","linux":{"resources":{"cpu":{"shares":2},"devices":[{"allow":false}],` +
				`"memory":{"limit":9007199254740993},"unified":{"memory.high":"1"}},"cgroupsPath":"/k8s.io/a"}}`,
			`{"linux":{"cgroupsPath":"/k8s.io/a","resources":{"devices":[{"allow":false}]}},"ociVersion":"1.2.0"}`,
		},
		"negative score": {`{"process":{"oomScoreAdj":-998,"cwd":"/"}}`, `{"process":{"cwd":"/"}}`},
		"other scores":   {`{"process":{"oomScoreAdj":1000}}`, `{"process":{"oomScoreAdj":1000}}`},
		"no limits":      {`{"linux":{},"rlimit":9007199254740993}`, `{"linux":{},"rlimit":9007199254740993}`},
		"null": {`{"linux":{"resources":null},"process":null}`,
			`{"linux":{"resources":null},"process":null}`},
	} {
		got, err := withoutLimits([]byte(c.config))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestInvalidConfigurationIsRefused(t *testing.T) {
	for _, config := range []string{"", "[]", `{"linux":1}`, `{"linux":{"resources":"none"}}`, `{"process":[]}`} {
		if got, err := withoutLimits([]byte(config)); err == nil {
			t.Errorf("%q: got %s", config, got)
		}
	}
}

// TestPrepare checks that only the commands that create containers change the bundle.
func TestPrepare(t *testing.T) {
	bundle := t.TempDir()
	path := filepath.Join(bundle, "config.json")
	const config = `{"linux":{"resources":{"cpu":{}}}}`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := prepare([]string{"runc", "--root", bundle, "start", "a"}); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(path); string(text) != config {
		t.Errorf("the command start changes the configuration: %s", text)
	}
	if err := prepare([]string{"runc", "--root", "/", "create", "--bundle", bundle, "a"}); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(path); string(text) != `{"linux":{"resources":{}}}` {
		t.Errorf("after create: %s", text)
	}
	for _, args := range [][]string{{"create", "--bundle"}, {"create", "--bundle", filepath.Join(bundle, "missing")}} {
		if prepare(args) == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestMissingRuncIsReported(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stderr strings.Builder
	code := Main([]string{ProgramName, "state"}, nil, &stderr)
	if code == 0 || !strings.Contains(stderr.String(), "find runc") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
