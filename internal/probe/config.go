package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.yaml.in/yaml/v2"
)

// Kind is the kind of request that a probe sends.
type Kind string

// Values of Kind.
const (
	KindDNS       Kind = "dns"       // looks up the target, which is a DNS name
	KindTCP       Kind = "tcp"       // opens a TCP connection to the target, HOST:PORT
	KindHTTP      Kind = "http"      // sends a GET request to the target, an HTTP or HTTPS URL
	KindRegistry  Kind = "registry"  // requests /v2/ from the registry HOST[:PORT]; status 401 is also a success
	KindCRI       Kind = "cri"       // requests the container runtime's version
	KindAPIServer Kind = "apiserver" // requests the API server's version, on the agent's own connection
)

// Limits on a configuration.
const (
	maxProbes     = 32
	maxRegistries = 8
	maxRedirects  = 5
	maxFile       = 1 << 20 // maximum size of a file, in bytes
	leastInterval = time.Second
	mostInterval  = 24 * time.Hour
	mostTimeout   = time.Minute
)

const (
	defaultInterval = 30 * time.Second
	defaultTimeout  = 5 * time.Second
)

// Config is a validated configuration.
type Config struct {
	Probes     []Probe
	Registries Registries
}

// String returns a summary for people.
func (c Config) String() string {
	text := fmt.Sprintf("%d configured", len(c.Probes))
	if top := c.Registries.Top; top > 0 {
		text += fmt.Sprintf(", and up to %d registries that pods pull from", top)
	}
	return text
}

// Probe describes a target and how the agent probes it periodically.
type Probe struct {
	Name   string `yaml:"name"` // value of the label "probe"
	Kind   Kind   `yaml:"kind"`
	Target string `yaml:"target"` // the format depends on Kind; empty for cri and apiserver
	Pace   `yaml:",inline"`

	Server    string `yaml:"server"`     // for dns: DNS server as IP:PORT; empty means the servers of the agent's pod
	PlainHTTP bool   `yaml:"plain_http"` // for registry: true to use HTTP without TLS
	CAFile    string `yaml:"ca_file"`    // for http and registry: PEM file of CAs; empty means the system's CAs
	Redirects int    `yaml:"redirects"`  // for http: maximum number of redirects to follow, only to the same host
	Status    []int  `yaml:"status"`     // for http: accepted status codes; empty means 200 to 399

	Headers Headers `yaml:"headers"` // for http: additional headers

	authorities []byte // content of CAFile
	followed    bool   // true if the target comes from a pod's image; guardedDialer then checks its addresses
}

// Pace configures the interval and the timeout of a probe.
type Pace struct {
	Interval Duration `yaml:"interval"`
	Timeout  Duration `yaml:"timeout"`
	Jitter   Duration `yaml:"jitter"` // maximum random time that the agent adds to each interval
}

// Registries configures probes of the registries that the node's pods pull from.
type Registries struct {
	Top       int `yaml:"top"` // maximum number of registries to probe, the most used first; 0 means none
	Pace      `yaml:",inline"`
	PlainHTTP []string `yaml:"plain_http"` // registries without TLS, as HOST[:PORT]
}

// Duration is a duration in Go's syntax, such as 30s.
type Duration struct {
	time.Duration
	given bool // true if the file sets the field
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("invalid duration %q: must be a duration such as 30s or 1m", text)
	}
	d.Duration, d.given = parsed, true
	return nil
}

// file is the format of the configuration file.
type file struct {
	Probes     []Probe    `yaml:"probes"`
	Registries Registries `yaml:"registries"`
}

// Load reads a configuration and the files that the configuration names. The error lists all problems and the field of
// each problem. If the configuration itself has problems, Load does not read the files that the configuration names.
func Load(path string, node Node) (Config, error) {
	text, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	config, err := Parse(text, node)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	var problems []error
	for i := range config.Probes {
		p := &config.Probes[i]
		if p.CAFile == "" {
			continue
		}
		if p.authorities, err = readAuthorities(p.CAFile); err != nil {
			problems = append(problems, fmt.Errorf("%s: ca_file: %w", p.position(i), err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return config, nil
}

// readFile reads a file of at most maxFile bytes. readFile never blocks, because it opens only regular files.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s exceeds the limit of %d bytes", path, maxFile)
	}
	return text, err
}

// Parse parses a configuration in YAML. Parse does not read the files that the configuration names. An unknown field is
// an error.
func Parse(text []byte, node Node) (Config, error) {
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return Config{}, fmt.Errorf("%w; see docs/probes.md for the fields", err)
	}
	config := Config(f)
	var problems []error
	for i := range config.Probes {
		p := &config.Probes[i]
		p.complete()
		for _, problem := range p.resolve(node) {
			problems = append(problems, fmt.Errorf("%s: %w", p.position(i), problem))
		}
	}
	config.Registries.complete()
	return config, errors.Join(append(problems, config.problems()...)...)
}

// complete sets the default values.
func (p *Pace) complete() {
	if !p.Interval.given {
		p.Interval.Duration = defaultInterval
	}
	if !p.Timeout.given {
		p.Timeout.Duration = min(defaultTimeout, p.Interval.Duration)
	}
	if !p.Jitter.given {
		p.Jitter.Duration = p.Interval.Duration / 10
	}
}
