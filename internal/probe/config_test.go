package probe

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const whole = `
probes:
- name: cluster-dns
  kind: dns
  target: kubernetes.default.svc.cluster.local.
  server: 10.96.0.10:53
  interval: 10s
  timeout: 2s
  jitter: 0s
- {name: db, kind: tcp, target: "db.shop.svc:5432"}
- {name: shop, kind: http, target: "https://shop.example:8443/healthz?deep=1", redirects: 2, status: [200, 204], ` +
	`interval: 3s}
- {name: ghcr, kind: registry, target: ghcr.io}
- {name: local, kind: registry, target: "127.0.0.1:5000", plain_http: true}
- {name: cri, kind: cri}
- {name: api, kind: apiserver}
registries: {top: 3, interval: 1m, plain_http: ["127.0.0.1:5000"]}
`

func TestParse(t *testing.T) {
	c, err := Parse([]byte(whole), Node{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range append(c.Probes, Probe{Name: "registries", Pace: c.Registries.Pace}) {
		got = append(got, fmt.Sprint(p.Name, " ", p.Interval, " ", p.Timeout, " ", p.Jitter))
	}
	want := []string{"cluster-dns 10s 2s 0s", "db 30s 5s 3s", "shop 3s 3s 300ms", "ghcr 30s 5s 3s", "local 30s 5s 3s",
		"cri 30s 5s 3s",
		"api 30s 5s 3s", "registries 1m0s 5s 6s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if p := c.Probes[2]; p.Redirects != 2 || !slices.Equal(p.Status, []int{200, 204}) || c.Registries.Top != 3 {
		t.Errorf("got %+v", p)
	}
}

func oneProbe(fields string) string { return "probes: [{" + fields + "}]" }

// invalidFields are the cases of TestParseNamesInvalidField.
var invalidFields = []struct{ given, want string }{
	{"", "probes: must not be empty"},
	{"probes: []", "probes: must not be empty"},
	{"probe: []", "field probe not found"},
	{"probes: [{name: a}", "yaml:"},
	{oneProbe("name: a, kind: tcp, target: 'a:1', port: 1"), "field port not found"},
	{oneProbe("name: a, name: b"), "already set"},
	{oneProbe("kind: tcp, target: 'a:1'"), `probes[0]: name: invalid name ""`},
	{oneProbe("name: A_b, kind: tcp, target: 'a:1'"), "probes[0] (A_b): name:"},
	{"probes: [{name: a, kind: cri}, {name: a, kind: apiserver}]", "probes[1] (a): name: must be unique"},
	{oneProbe("name: a, kind: icmp"), `(a): kind: invalid kind "icmp"`},
	{oneProbe("name: a, kind: cri, target: x"), `target: must not be set for kind "cri"`},
	{oneProbe("name: a, kind: dns"), "target:"},
	{oneProbe("name: a, kind: dns, target: a_b"), "target:"},
	{oneProbe("name: a, kind: dns, target: a, server: dns"), "server:"},
	{oneProbe("name: a, kind: tcp, target: a, server: '1.2.3.4:53'"), "server: can only be set for kind dns"},
	{oneProbe("name: a, kind: tcp, target: a"), "target:"},
	{oneProbe("name: a, kind: tcp, target: 'a:0'"), "target:"},
	{oneProbe("name: a, kind: tcp, target: 'a:70000'"), "target:"},
	{oneProbe("name: a, kind: tcp, target: 'a/b:1'"), "target:"},
	{oneProbe("name: a, kind: http, target: 'ftp://a'"), "target: invalid URL"},
	{oneProbe("name: a, kind: http, target: 'http://a:x/'"), "target: invalid URL"},
	{oneProbe("name: a, kind: http, target: 'http://u:secret@a/'"), "target: the URL must not contain a user"},
	{oneProbe("name: a, kind: http, target: 'http://a/#x'"), "target: the URL must not contain a fragment"},
	{oneProbe("name: a, kind: http, target: 'http://a/', redirects: 9"), "redirects:"},
	{oneProbe("name: a, kind: http, target: 'http://a/', status: [100]"), "status:"},
	{oneProbe("name: a, kind: http, target: 'http://a/', ca_file: x"), "ca_file: requires https"},
	{oneProbe("name: a, kind: tcp, target: 'a:1', ca_file: x"), "ca_file: can only be set for kind http and registry"},
	{oneProbe("name: a, kind: tcp, target: 'a:1', redirects: 1"), "redirects: can only be set for kind http"},
	{oneProbe("name: a, kind: tcp, target: 'a:1', status: [200]"), "status: can only be set for kind http"},
	{oneProbe("name: a, kind: http, target: 'http://a/', plain_http: true"),
		"plain_http: can only be set for kind registry"},
	{oneProbe("name: a, kind: registry, target: 'https://a'"), "target:"},
	{oneProbe("name: a, kind: registry, target: 'a/b'"), "target:"},
	{oneProbe("name: a, kind: cri, interval: 0s"), "interval:"},
	{oneProbe("name: a, kind: cri, interval: 25h"), "interval:"},
	{oneProbe("name: a, kind: cri, interval: 5"), `invalid duration "5"`},
	{oneProbe("name: a, kind: cri, interval: 2s, timeout: 3s"), "timeout:"},
	{oneProbe("name: a, kind: cri, interval: 1h, timeout: 2m"), "timeout:"},
	{oneProbe("name: a, kind: cri, timeout: -1s"), "timeout:"},
	{oneProbe("name: a, kind: cri, jitter: 1h"), "jitter:"},
	{oneProbe("name: a, kind: tcp, target: 'a:1', headers: {A: b}"), "headers: can only be set for kind http"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: [secret]"), "headers: must map each header"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: 'X: secret'"), "headers: must map each header"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {A: [secret]}"), "headers: must map each header"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {A b: secret}"),
		`headers: invalid header name "A b"`},
	{oneProbe(`name: a, kind: http, target: 'http://a/', headers: {A: "secret\n"}`),
		"headers: header A: invalid value: must be one line"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {A: '" + strings.Repeat("s", maxHeaderValue+1) +
		"'}"), "headers: header A: invalid value"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {a-b: x, A-B: secret}"),
		"headers: header A-B is set twice"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {authorization: Bearer secret}"),
		"headers: header Authorization must not be set: probes send no credentials"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {host: secret}"),
		"headers: header Host must not be set: the target sets the host"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {transfer-encoding: chunked}"),
		"headers: header Transfer-Encoding must not"},
	{oneProbe("name: a, kind: http, target: 'http://a/', headers: {" + manyHeaders() +
		"}"), "headers: 17 headers exceed the limit of 16"},
	{oneProbe("name: a, kind: tcp, target: '$(NODE_ADDRESS):1'"),
		"(a): target: the probes file uses $(NODE_ADDRESS), but the node's address is unknown: set --node-address"},
	{oneProbe("name: a, kind: dns, target: a, server: '$(HOST):53'"), `(a): server: unknown variable "$(HOST)"`},
	{"registries: {top: 9}", "registries: top:"},
	{"registries: {top: 1, plain_http: ['http://a']}", "registries: plain_http:"},
	{"registries: {top: 1, timeout: 1h}", "registries: timeout:"},
	{"probes: [" + strings.Repeat("{name: a, kind: cri},", maxProbes+1) +
		"]", "probes: 33 probes exceed the limit of 32"},
	// Parse reads only the first YAML document.
	{oneProbe("name: a, kind: tcp, target: 'a:1'") +
		"\n---\nprobes: []\nx: y\n", ""},
}

// TestParseNamesInvalidField checks a violation of every rule.
func TestParseNamesInvalidField(t *testing.T) {
	for _, test := range invalidFields {
		_, err := Parse([]byte(test.given), Node{})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.given, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.given, err, test.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error contains the password: %v", test.given, err)
		}
	}
}

func manyHeaders() string {
	var all []string
	for i := range maxHeaders + 1 {
		all = append(all, fmt.Sprintf("A%d: b", i))
	}
	return strings.Join(all, ", ")
}

// One error reports all problems, including the node's address.
func TestParseReportsEveryProblem(t *testing.T) {
	_,
		err := Parse([]byte("probes: [{name: a, kind: tcp, target: '$(NODE_ADDRESS):0'}, {name: b, kind: icmp}]"),
		Node{})
	for _, want := range []string{"(a): target: the probes file uses", "(a): target: invalid port in \"0.0.0.0:0\"",
		"(b): kind:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

func TestNodeAddressInTargets(t *testing.T) {
	const text = `
probes:
- {name: kubelet, kind: http, target: "https://$(NODE_ADDRESS):10250/healthz"}
- {name: port, kind: tcp, target: "$(NODE_ADDRESS):22"}
- {name: names, kind: dns, target: "$(NODE_NAME)", server: "$(NODE_ADDRESS):53"}
- {name: registry, kind: registry, target: "$(NODE_ADDRESS):5000"}
`
	for address, want := range map[string][]string{
		"10.0.0.7": {"https://10.0.0.7:10250/healthz", "10.0.0.7:22", "node-a", "10.0.0.7:5000", "10.0.0.7:53"},
		"fd00::7":  {"https://[fd00::7]:10250/healthz", "[fd00::7]:22", "node-a", "[fd00::7]:5000", "[fd00::7]:53"},
	} {
		c, err := Parse([]byte(text), Node{Name: "node-a", Address: netip.MustParseAddr(address)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range c.Probes {
			got = append(got, p.Target)
		}
		if got = append(got, c.Probes[2].Server); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "probes.yaml")
	for _, c := range []struct{ text, want string }{
		{"probes: [{name: a, kind: registry, target: a, ca_file: " + filepath.Join(dir, "none.pem") + "}]",
			"(a): ca_file: stat "},
		{"probes: [{name: a, kind: registry, target: a, ca_file: " + path + "}]", "does not contain a PEM certificate"},
		{"probes: [{name: a, kind: registry, target: a, ca_file: /dev/zero}]",
			"(a): ca_file: /dev/zero is not a regular file"},
		{strings.Repeat("#", maxFile+1), "exceeds the limit of"},
		{"probes: [{name: a}]", "(a): kind:"},
		{whole, ""},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, Node{})
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, path := range []string{filepath.Join(dir, "none"), dir, "/dev/zero", "/proc/self/mem"} {
		if _, err := Load(path, Node{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("loaded %s: %v", path, err)
		}
	}
}

func TestPause(t *testing.T) {
	p := Pace{Interval: Duration{Duration: 10 * time.Second}, Jitter: Duration{Duration: 2 * time.Second}}
	for range 100 {
		if d := p.pause(random); d < 10*time.Second || d >= 12*time.Second {
			t.Fatalf("pauses for %s", d)
		}
	}
	p.Jitter.Duration = 0
	if d := p.pause(random); d != 10*time.Second {
		t.Errorf("without jitter the pause is %s", d)
	}
}

// FuzzParse checks that every accepted configuration is within the limits.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("probes: [{name: a, kind: http, target: 'http://[::1]:80/', status: [200]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text, Node{})
		if err != nil {
			return
		}
		if len(c.Probes) > maxProbes || c.Registries.Top > maxRegistries || len(c.problems()) > 0 {
			t.Errorf("%q: %+v", text, c)
		}
		for _, p := range c.Probes {
			if p.Interval.Duration < leastInterval || p.Timeout.Duration <= 0 || p.Timeout.Duration > mostTimeout ||
				strings.Contains(p.Target, "@") && p.Kind != KindHTTP {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}
