package probe

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestRegistryAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.7": true, "192.168.1.1": true, "203.0.113.9": true, "fd00::7": true, "2001:db8::1": true,
		"64:ff9b::cb00:7109": true,
		"169.254.169.254":    false, "169.254.170.2": false, "169.254.170.23": false, "::ffff:169.254.169.254": false,
		"64:ff9b::a9fe:a9fe": false,
		"fe80::1":            false, "fe80::1%eth0": false, "febf::1": false, "fd00:ec2::254": false,
		"fd00:ec2::23": false,
		"fd20:ce::254": false, "100.100.100.200": false, "168.63.129.16": false,
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false,
		"224.0.0.1": false, "255.255.255.255": false, "ff02::1": false,
	} {
		address := netip.MustParseAddr(text)
		if err := checkAddress(address, false); (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %t", text, err, want)
		}
		if loopback := address.Unmap().IsLoopback(); (checkAddress(address, true) == nil) != (want || loopback) {
			t.Errorf("%s with loopback configured: %v", text, checkAddress(address, true))
		}
	}
	for host, want := range map[string]bool{
		"ghcr.io": true, "ghcr.io:5000": true, "10.0.0.7:5000": true, "169.254.169.254": false,
		"169.254.169.254:80": false, "[fd00:ec2::254]:80": false,
		// checkFollowed accepts a name, because the dialer later checks the name's addresses.
		"127.0.0.1:5000": false, "a/b": false, "localhost:5000": true,
	} {
		if err := checkFollowed(host, false); (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %t", host, err, want)
		}
	}
}

// If a pod names a registry, the agent never probes an address that belongs to the agent or serves credentials.
// This rule holds whatever the registry's name resolves to.
func TestRegistriesOfPodsAreGuarded(t *testing.T) {
	var requested atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requested.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	name := "localhost:" + port
	r := NewRunner(RunnerConfig{Logger: zap.NewNop()})
	for _, c := range []struct {
		plain     []string
		result    Result
		requested int64
	}{{nil, ResultConnectError, 0}, {[]string{name}, ResultOK, 1}} {
		p := registryProbe(Registries{Pace: Pace{Timeout: Duration{Duration: time.Second}}, PlainHTTP: c.plain}, name)
		o := attempt(t.Context(), p, r.attemptFuncOf(p))
		if o.Result != c.result || requested.Load() != c.requested || c.plain == nil &&
			!strings.Contains(o.Detail, "is a loopback address") {
			t.Errorf("with plain_http %q: %+v, %d requests", c.plain, o, requested.Load())
		}
	}
}

// Refused registries do not take the places of other registries. The agent logs each refused registry once.
func TestRefusedRegistriesAreReplaced(t *testing.T) {
	alive := strings.TrimPrefix(registryServer(t), "http://")
	core, logged := observer.New(zap.DebugLevel)
	var book notebook
	config := Config{Registries: Registries{Top: 1, PlainHTTP: []string{alive}}}
	config.Registries.Interval.Duration, config.Registries.Timeout.Duration = 10*time.Millisecond, time.Second
	r := NewRunner(RunnerConfig{Config: config, Load: same(config), Report: ignore, Recorder: &book,
		Logger: zap.New(core), Pulled: func(context.Context) []string {
			return []string{"169.254.169.254", "127.0.0.1:1", "a/b", alive}
		}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	lines := []string{}
	for deadline := time.Now().Add(time.Minute); len(lines) == 0 &&
		time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		lines = book.take()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(lines) != 1 || lines[0] != "registry:"+alive+" ok" {
		t.Errorf("recorded %q", lines)
	}
	if n := logged.FilterMessage("cannot probe a registry").Len(); n != 3 {
		t.Errorf("%d registries are logged as refused", n)
	}
}
