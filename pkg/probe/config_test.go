package probe

import (
	"fmt"
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
- {name: shop, kind: http, target: "https://shop.example:8443/healthz?deep=1", redirects: 2, status: [200, 204], interval: 3s}
- {name: ghcr, kind: registry, target: ghcr.io}
- {name: local, kind: registry, target: "127.0.0.1:5000", plain_http: true}
- {name: cri, kind: cri}
- {name: api, kind: apiserver}
registries: {top: 3, interval: 1m, plain_http: ["127.0.0.1:5000"]}
`

func TestParse(t *testing.T) {
	c, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range append(c.Probes, Probe{Name: "registries", Pace: c.Registries.Pace}) {
		got = append(got, fmt.Sprint(p.Name, " ", p.Interval, " ", p.Timeout, " ", p.Jitter))
	}
	want := []string{"cluster-dns 10s 2s 0s", "db 30s 5s 3s", "shop 3s 3s 300ms", "ghcr 30s 5s 3s", "local 30s 5s 3s", "cri 30s 5s 3s",
		"api 30s 5s 3s", "registries 1m0s 5s 6s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if p := c.Probes[2]; p.Redirects != 2 || !slices.Equal(p.Status, []int{200, 204}) || c.Registries.Top != 3 {
		t.Errorf("got %+v", p)
	}
}

// TestEveryProblemNamesItsField has of each rule one that breaks it.
func TestEveryProblemNamesItsField(t *testing.T) {
	one := func(fields string) string { return "probes: [{" + fields + "}]" }
	for given, want := range map[string]string{
		"":                   "probes: there are none",
		"probes: []":         "probes: there are none",
		"probe: []":          "field probe not found",
		"probes: [{name: a}": "yaml:",
		one("name: a, kind: tcp, target: 'a:1', port: 1"):                        "field port not found",
		one("name: a, name: b"):                                                  "already set",
		one("kind: tcp, target: 'a:1'"):                                          `probes[0]: name: ""`,
		one("name: A_b, kind: tcp, target: 'a:1'"):                               "probes[0] (A_b): name:",
		"probes: [{name: a, kind: cri}, {name: a, kind: apiserver}]":             "probes[1] (a): name: another probe has it",
		one("name: a, kind: icmp"):                                               `(a): kind: "icmp"`,
		one("name: a, kind: cri, target: x"):                                     "target: cri has none",
		one("name: a, kind: dns"):                                                "target:",
		one("name: a, kind: dns, target: a_b"):                                   "target:",
		one("name: a, kind: dns, target: a, server: dns"):                        "server:",
		one("name: a, kind: tcp, target: a, server: '1.2.3.4:53'"):               "server: is only for kind dns",
		one("name: a, kind: tcp, target: a"):                                     "target:",
		one("name: a, kind: tcp, target: 'a:0'"):                                 "target:",
		one("name: a, kind: tcp, target: 'a:70000'"):                             "target:",
		one("name: a, kind: tcp, target: 'a/b:1'"):                               "target:",
		one("name: a, kind: http, target: 'ftp://a'"):                            "target: is no URL",
		one("name: a, kind: http, target: 'http://a:x/'"):                        "target: is no URL",
		one("name: a, kind: http, target: 'http://u:secret@a/'"):                 "target: has a user",
		one("name: a, kind: http, target: 'http://a/#x'"):                        "target: has a fragment",
		one("name: a, kind: http, target: 'http://a/', redirects: 9"):            "redirects:",
		one("name: a, kind: http, target: 'http://a/', status: [100]"):           "status:",
		one("name: a, kind: http, target: 'http://a/', ca_file: x"):              "ca_file: there is no TLS",
		one("name: a, kind: tcp, target: 'a:1', ca_file: x"):                     "ca_file: is only for kind http and registry",
		one("name: a, kind: tcp, target: 'a:1', redirects: 1"):                   "redirects: is only for kind http",
		one("name: a, kind: tcp, target: 'a:1', status: [200]"):                  "status: is only for kind http",
		one("name: a, kind: http, target: 'http://a/', plain_http: true"):        "plain_http: is only for kind registry",
		one("name: a, kind: registry, target: 'https://a'"):                      "target:",
		one("name: a, kind: registry, target: 'a/b'"):                            "target:",
		one("name: a, kind: cri, interval: 0s"):                                  "interval:",
		one("name: a, kind: cri, interval: 25h"):                                 "interval:",
		one("name: a, kind: cri, interval: 5"):                                   `"5" is no length of time`,
		one("name: a, kind: cri, interval: 2s, timeout: 3s"):                     "timeout:",
		one("name: a, kind: cri, interval: 1h, timeout: 2m"):                     "timeout:",
		one("name: a, kind: cri, timeout: -1s"):                                  "timeout:",
		one("name: a, kind: cri, jitter: 1h"):                                    "jitter:",
		"registries: {top: 9}":                                                   "registries: top:",
		"registries: {top: 1, plain_http: ['http://a']}":                         "registries: plain_http:",
		"registries: {top: 1, timeout: 1h}":                                      "registries: timeout:",
		"probes: [" + strings.Repeat("{name: a, kind: cri},", maxProbes+1) + "]": "probes: 33 are too many",
		one("name: a, kind: tcp, target: 'a:1'") + "\n---\nprobes: []\nx: y\n":   "", // what follows the first document is not read
	} {
		_, err := Parse([]byte(given))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", given, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", given, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: repeats the password: %v", given, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "probes.yaml")
	for _, c := range []struct{ text, want string }{
		{"probes: [{name: a, kind: registry, target: a, ca_file: " + filepath.Join(dir, "none.pem") + "}]", "(a): ca_file: open "},
		{"probes: [{name: a, kind: registry, target: a, ca_file: " + path + "}]", "has no certificate in PEM"},
		{strings.Repeat("#", maxFile+1), "no list of probes"},
		{"probes: [{name: a}]", "(a): kind:"},
		{whole, ""},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(dir, "none")); err == nil {
		t.Error("loaded nothing")
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
		t.Errorf("without jitter it pauses for %s", d)
	}
}

// FuzzParse wants of whatever is taken that it is within the bounds.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("probes: [{name: a, kind: http, target: 'http://[::1]:80/', status: [200]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		if len(c.Probes) > maxProbes || c.Registries.Top > maxRegistries || len(c.problems()) > 0 {
			t.Errorf("%q: %+v", text, c)
		}
		for _, p := range c.Probes {
			if p.Interval.Duration < leastInterval || p.Timeout.Duration <= 0 || p.Timeout.Duration > mostTimeout || strings.Contains(p.Target, "@") && p.Kind != KindHTTP {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}
