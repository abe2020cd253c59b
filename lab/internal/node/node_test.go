package node

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/progress"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

func testNode(t *testing.T) Node {
	t.Helper()
	dir := t.TempDir()
	place := layout.Layout{State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run"),
		Cache: filepath.Join(dir, "cache")}
	if err := place.Create(); err != nil {
		t.Fatal(err)
	}
	return Node{Layout: place, Programs: build.Programs{Kubernetes: "/tools", Payload: "/payload"},
		Report: progress.New(os.Stderr)}
}

func TestConfigurationIsComplete(t *testing.T) {
	n := testNode(t)
	for _, name := range stack.Names() {
		var err error
		if n.Stack, err = stack.Load(name); err != nil {
			t.Fatal(err)
		}
		config := n.containerdConfig("127.0.0.1:25000/image:tag")
		if strings.Contains(config, "@") {
			t.Errorf("%s: the configuration contains a placeholder:\n%s", name, config)
		}
		if old := strings.Contains(config, "bin_dir ="); old != n.Stack.Containerd.IsBefore(2, 1) {
			t.Errorf("%s: the setting bin_dir is present: %t", name, old)
		}
	}
	if err := n.writeContainerdConfig("image"); err != nil {
		t.Error(err)
	}
	if err := n.writeKubeletConfig(nil); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(n.In("kubelet.json"))
	if !json.Valid(data) {
		t.Errorf("the kubelet's configuration is not JSON:\n%s", data)
	}
}

// TestMirrorComesFirst checks that containerd asks the mirror first if the stack has one, and then the registry.
func TestMirrorComesFirst(t *testing.T) {
	server, mirror := `"http://127.0.0.1:25000"`, `"http://127.0.0.1:25004"`
	for name, host := range map[string]string{stack.Current: server, "mirror": mirror} {
		n := testNode(t)
		var err error
		if n.Stack, err = stack.Load(name); err != nil {
			t.Fatal(err)
		}
		if err := n.writeContainerdConfig("image"); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(n.In("registry-hosts", "127.0.0.1:25000", "hosts.toml"))
		if !strings.HasPrefix(string(text), "server = "+server+"\n[host."+host+"]\n") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestLazySnapshotter checks that only the stack stargz has the lazy snapshotter, and that the snapshotter gets the
// names of the images and uses the lab's registry.
func TestLazySnapshotter(t *testing.T) {
	for name, settings := range map[string][]string{
		stack.Current: {`snapshotter = "overlayfs"`, "disable_snapshot_annotations = true"},
		"stargz": {`snapshotter = "stargz"`, "disable_snapshot_annotations = false",
			`[plugins."io.containerd.snapshotter.v1.stargz".registry]`},
	} {
		n := testNode(t)
		var err error
		if n.Stack, err = stack.Load(name); err != nil {
			t.Fatal(err)
		}
		config := n.containerdConfig("image")
		if n.snapshotterName() == "native" {
			config = strings.Replace(config, "native", "overlayfs", 1)
		}
		for _, setting := range settings {
			if !strings.Contains(config, setting) {
				t.Errorf("%s: no %s in\n%s", name, setting, config)
			}
		}
		if strings.Contains(config, "v1.stargz") != n.Stack.Containerd.Stargz {
			t.Errorf("%s: the configuration of stargz is present: %t", name, !n.Stack.Containerd.Stargz)
		}
	}
}

// TestPrivateRegistry checks the files and the flags of a stack whose registry requires TLS and a login.
func TestPrivateRegistry(t *testing.T) {
	for name, private := range map[string]bool{stack.Current: false, "mirror": false, "certificates": true} {
		n := testNode(t)
		var err error
		if n.Stack, err = stack.Load(name); err != nil {
			t.Fatal(err)
		}
		guard := n.RegistryGuard()
		if err := errors.Join(guard.Create(), n.writeContainerdConfig("image"), n.writeKubeletConfig(nil),
			n.writeCredentialConfig()); err != nil {
			t.Fatal(err)
		}
		flags := strings.Join(slices.Concat(n.kubelet().Args, n.registryComponent().Args), " ")
		for _, flag := range []string{"--image-credential-provider-config=" + n.In("credential-providers.json"),
			"--image-credential-provider-bin-dir=/payload", "--guard " + n.In("registry-guard")} {
			if strings.Contains(flags, flag) != private {
				t.Errorf("%s: the flag %s is present: %t", name, flag, !private)
			}
		}
		for _, host := range []string{"127.0.0.1:25000", OtherRegistry} {
			text, _ := os.ReadFile(n.In("registry-hosts", host, "hosts.toml"))
			trusted := strings.HasPrefix(string(text), "server = \"https://127.0.0.1:25000\"\nca = ")
			if trusted != private {
				t.Errorf("%s: containerd trusts the registry's authority: %t\n%s", name, trusted, text)
			}
		}
		if !private {
			continue
		}
		judgeCredentialConfig(t, n)
		login, err := guard.Login()
		if err != nil {
			t.Fatal(err)
		}
		judgeOnlyPassword(t, n.State, filepath.Join(guard.Dir, "login.json"), login.Password)
	}
}

func judgeCredentialConfig(t *testing.T, n Node) {
	t.Helper()
	var config struct {
		APIVersion, Kind string
		Providers        []struct {
			Name, APIVersion, DefaultCacheDuration string
			Args, MatchImages                      []string
		}
	}
	data, err := os.ReadFile(n.In("credential-providers.json"))
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil || len(config.Providers) != 1 {
		t.Fatalf("the configuration of the plugin is not valid: %v\n%s", err, data)
	}
	plugin := config.Providers[0]
	if config.APIVersion != "kubelet.config.k8s.io/v1" || config.Kind != "CredentialProviderConfig" ||
		plugin.Name != "podlapse-lab-credentials" || plugin.APIVersion != "credentialprovider.kubelet.k8s.io/v1" ||
		plugin.DefaultCacheDuration != "0s" || !slices.Equal(plugin.Args, []string{n.In("registry-guard")}) ||
		!slices.Contains(plugin.MatchImages, "127.0.0.1:25000") {
		t.Errorf("got\n%s", data)
	}
}

// judgeOnlyPassword requires that exactly one file below a directory contains the password, and that only root can read
// this file.
func judgeOnlyPassword(t *testing.T, dir, file, password string) {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), password) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || !slices.Equal(found, []string{file}) {
		t.Errorf("the password is in %q, want only %s: %v", found, file, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: mode %v, %v", file, info, err)
	}
}

func TestPortsDiffer(t *testing.T) {
	n := testNode(t)
	taken := make(map[int]string)
	sometimes := []component{n.agent("/agent", AgentChange{}), n.receiver("/receiver"),
		n.prometheus(prometheusName, "/", "/config", layout.PrometheusPort, ""),
		n.prometheus(nativeName, "/", "/config", layout.NativePort, "")}
	for _, c := range append(n.expectedComponents(), sometimes...) {
		for _, port := range c.ports {
			if other := taken[port]; other != "" {
				t.Errorf("%s and %s share port %d", c.Name, other, port)
			}
			taken[port] = c.Name
		}
		if c.limit <= 0 || c.ready == nil {
			t.Errorf("%s: no time limit or no readiness check", c.Name)
		}
	}
}

func TestPortInUse(t *testing.T) {
	n := testNode(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := n.agent("/bin/true", AgentChange{})
	c.Inputs, c.ports = nil, []int{listener.Addr().(*net.TCPAddr).Port}
	if err := n.ensureRunning(c); err == nil || !strings.Contains(err.Error(), agentProcess) ||
		!strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("error %v does not name the component and the port", err)
	}
}

func TestAwaitReportsEndedProcess(t *testing.T) {
	n := testNode(t)
	c := n.agent("/bin/sh", AgentChange{})
	c.Args, c.Inputs, c.ports = []string{"-c", "echo what went wrong >&2; exit 1"}, nil, nil
	c.ready = func(context.Context) error { return errors.New("not yet") } // the component must never become ready
	if err := n.ensureRunning(c); err != nil {
		t.Fatal(err)
	}
	err := n.awaitReady(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "component \""+agentProcess+"\" exited before it was ready") ||
		!strings.Contains(err.Error(), "what went wrong") {
		t.Errorf("error %v", err)
	}
}

func TestCheckAgent(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{plain, filepath.Dir(plain), plain + "-missing"} {
		if _, err := CheckAgent(path); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
	if path, err := CheckAgent("/bin/sh"); err != nil || path != "/bin/sh" {
		t.Errorf("got %s, %v", path, err)
	}
}

// TestHostsFileHasName checks which hosts files need no further line for the node.
func TestHostsFileHasName(t *testing.T) {
	for hosts, want := range map[string]bool{
		"":                                 false,
		"127.0.0.1 localhost\n":            false,
		"127.0.0.1 localhost node-10\n":    false,
		"#127.0.0.1 node-1\n":              false,
		"127.0.0.1 localhost # node-1\n":   false,
		"node-1 other":                     false,
		"127.0.0.1 node-1":                 true,
		"::1 a\n127.0.0.1\tb node-1 # lab": true,
	} {
		if got := hasName(hosts, "node-1"); got != want {
			t.Errorf("%q: %t, want %t", hosts, got, want)
		}
	}
}
