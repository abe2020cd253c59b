package probe

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// position returns the position of a probe in the file.
func (p Probe) position(i int) string {
	if p.Name == "" {
		return fmt.Sprintf("probes[%d]", i)
	}
	return fmt.Sprintf("probes[%d] (%.63s)", i, p.Name)
}

// problems returns all problems of the configuration.
func (c Config) problems() (problems []error) {
	if len(c.Probes) > maxProbes {
		problems = append(problems, fmt.Errorf("probes: %d probes exceed the limit of %d", len(c.Probes), maxProbes))
	}
	if len(c.Probes) == 0 && c.Registries.Top == 0 {
		problems = append(problems, errors.New("probes: must not be empty: add at least one probe, set "+
			"registries.top, or unset --probes-file"))
	}
	names := map[string]bool{}
	for i, p := range c.Probes {
		own := p.problems()
		if names[p.Name] && p.Name != "" {
			own = append(own, errors.New("name: must be unique, but another probe has the same name"))
		}
		names[p.Name] = true
		for _, problem := range own {
			problems = append(problems, fmt.Errorf("%s: %w", p.position(i), problem))
		}
	}
	for _, problem := range c.Registries.problems() {
		problems = append(problems, fmt.Errorf("registries: %w", problem))
	}
	return problems
}

func (p Probe) problems() (problems []error) {
	wrong := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf(field+": "+format, args...))
	}
	if len(validation.IsDNS1123Label(p.Name)) > 0 {
		wrong("name", "invalid name %.80q: must be 1 to 63 lowercase letters, digits and '-'", p.Name)
	}
	var err error
	switch p.Kind {
	case KindDNS:
		err = checkName(p.Target)
	case KindTCP:
		err = checkHostPort(p.Target)
	case KindHTTP:
		err = checkURL(p.Target)
	case KindRegistry:
		err = checkRegistry(p.Target)
	case KindCRI, KindAPIServer:
		if p.Target != "" {
			err = fmt.Errorf("must not be set for kind %q: remove the target", p.Kind)
		}
	default:
		wrong("kind", "invalid kind %.40q: must be dns, tcp, http, registry, cri or apiserver", p.Kind)
	}
	if err != nil {
		wrong("target", "%w", err)
	}
	only := func(field string, given bool, kinds ...Kind) {
		if given && !slices.Contains(kinds, p.Kind) {
			wrong(field, "can only be set for kind %s", joined(kinds))
		}
	}
	only("server", p.Server != "", KindDNS)
	only("plain_http", p.PlainHTTP, KindRegistry)
	only("ca_file", p.CAFile != "", KindHTTP, KindRegistry)
	only("redirects", p.Redirects != 0, KindHTTP)
	only("status", len(p.Status) > 0, KindHTTP)
	only("headers", len(p.Headers) > 0, KindHTTP)
	for _, problem := range p.Headers.problems() {
		wrong("headers", "%w", problem)
	}
	if _, err := netip.ParseAddrPort(p.Server); p.Server != "" && err != nil {
		wrong("server", "invalid address %.80q: must be IP:PORT, for example 10.96.0.10:53", p.Server)
	}
	if p.CAFile != "" && (p.PlainHTTP || strings.HasPrefix(p.Target, "http:")) {
		wrong("ca_file", "requires https: remove ca_file or use https")
	}
	if p.Redirects < 0 || p.Redirects > maxRedirects {
		wrong("redirects", "invalid number %d: must be 0 to %d", p.Redirects, maxRedirects)
	}
	for _, status := range p.Status {
		if status < 200 || status > 599 {
			wrong("status", "invalid status %d: must be 200 to 599", status)
		}
	}
	return append(problems, p.Pace.problems()...)
}

func joined(kinds []Kind) string {
	texts := make([]string, len(kinds))
	for i, kind := range kinds {
		texts[i] = string(kind)
	}
	return strings.Join(texts, " and ")
}

func (p Pace) problems() (problems []error) {
	if p.Interval.Duration < leastInterval || p.Interval.Duration > mostInterval {
		problems = append(problems,
			fmt.Errorf("interval: invalid duration %s: must be %s to %s", p.Interval, leastInterval, mostInterval))
	}
	if p.Timeout.Duration <= 0 || p.Timeout.Duration > min(mostTimeout, p.Interval.Duration) {
		problems = append(problems,
			fmt.Errorf("timeout: invalid duration %s: must be more than 0s, at most the interval, and at most "+
				"%s", p.Timeout, mostTimeout))
	}
	if p.Jitter.Duration < 0 || p.Jitter.Duration > p.Interval.Duration {
		problems = append(problems, fmt.Errorf("jitter: invalid duration %s: must be 0s to %s, the probe's interval",
			p.Jitter, p.Interval))
	}
	return problems
}

func (r Registries) problems() (problems []error) {
	if r.Top < 0 || r.Top > maxRegistries {
		problems = append(problems, fmt.Errorf("top: invalid number %d: must be 0 to %d", r.Top, maxRegistries))
	}
	for _, host := range r.PlainHTTP {
		if err := checkRegistry(host); err != nil {
			problems = append(problems, fmt.Errorf("plain_http: %w", err))
		}
	}
	return append(problems, r.Pace.problems()...)
}

func checkName(name string) error {
	if len(validation.IsDNS1123Subdomain(strings.TrimSuffix(name, "."))) > 0 {
		return fmt.Errorf("invalid DNS name %.80q: must be a name such as kubernetes.default.svc.cluster.local", name)
	}
	return nil
}

func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err != nil && checkName(host) != nil {
		return fmt.Errorf("invalid host %.80q: must be an IP address or a DNS name", host)
	}
	return nil
}

func checkHostPort(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("invalid address %.80q: must be HOST:PORT, for example db.shop.svc:5432", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("invalid port in %.80q: must be 1 to 65535", address)
	}
	return checkHost(host)
}

// checkURL checks a URL. A URL can contain secrets. Therefore, the errors of checkURL contain at most the host and the
// port.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("invalid URL: must be a URL such as https://shop.example/healthz")
	case u.User != nil:
		return errors.New("the URL must not contain a user: probes send no credentials")
	case u.Fragment != "":
		return errors.New("the URL must not contain a fragment (#): probes never send fragments")
	case u.Port() != "":
		return checkHostPort(u.Host)
	}
	return checkHost(u.Hostname())
}

func checkRegistry(host string) error {
	if strings.Contains(host, "/") {
		return fmt.Errorf("invalid registry %.80q: must be HOST[:PORT] without scheme and path, for example "+
			"ghcr.io", host)
	}
	if strings.Contains(host, ":") {
		return checkHostPort(host)
	}
	return checkHost(host)
}

func readAuthorities(path string) ([]byte, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s does not contain a PEM certificate", path)
	}
	return text, nil
}
