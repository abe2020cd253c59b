package scenario

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// The behavior of the probed targets.
const (
	probeSlow    = 300 * time.Millisecond // delay of the slow targets
	probeTimeout = 800 * time.Millisecond
	// An attempt has several stages, and the timeout covers all of them. probeConnect is the maximum time of the
	// stages before the stage that times out. So the stage that times out takes at least probeTimeout-probeConnect.
	probeConnect = 50 * time.Millisecond
	probeWithin  = 250 * time.Millisecond // largest accepted time that a busy machine adds to the injected delay
	probeFlavor  = "of-the-scenario"      // value of the header that one target requires
)

// probeCase is a probe in the probes file, with the expected result and the expected duration of its attempts.
type probeCase struct {
	name, kind string
	fields     string // additional fields of the probe in the file
	result     string
	stage      string // stage whose duration the scenario checks; if empty, the scenario checks only the total duration
	least      time.Duration
}

// The scenario "probes" runs probes against targets that are healthy, slow, silent or down.
func probes(ctx context.Context, b *bench.Bench, v *Verdict) error {
	names, err := serveNames(probeSlow)
	if err != nil {
		return err
	}
	defer names.stop()
	targets, err := serveTargets(layout.Address(layout.RegistryPort), probeSlow)
	if err != nil {
		return err
	}
	defer targets.stop()
	well := layout.Address(layout.RegistryPort)
	all := probesOf(names.address, well, targets)
	file, err := probesFile(b, all, well)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	if err := b.Node.RestartAgentWith(ctx,
		node.AgentChange{Flags: []string{"--probes-file=" + file, "--node-address=" + layout.Loopback}}); err != nil {
		return err
	}
	// While the agent runs the probes, a pod pulls an image from a registry that the probes file does not list. The
	// agent must also probe the registry from which the pod pulls.
	cold, err := b.Image(ctx, "cold", smallLayer)
	if err != nil {
		return err
	}
	var work errgroup.Group
	work.Go(func() error { _, err := startPlain(ctx, b, "cold", cold); return err })
	all = append(all, probeCase{"registry:" + well, "registry", "", "ok", "first_byte", 0})
	defer func() { _ = work.Wait() }()
	if err := awaitProbes(ctx, b, all); err != nil {
		v.Problem("%v", err)
	}
	if err := work.Wait(); err != nil {
		return err
	}
	text, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		p.checkAttempts(text, v)
	}
	if err := judgeProbeLog(b, v); err != nil {
		return err
	}
	return rewriteProbes(ctx, b, v, file)
}

// probesOf returns the probes of the file with their expected results.
func probesOf(nameServer, well string, targets *probeTargets) []probeCase {
	dns := func(name, result string, least time.Duration) probeCase {
		return probeCase{"dns-" + name, "dns", fmt.Sprintf("target: %s.lab., server: %q", name, nameServer), result,
			"dns", least}
	}
	registry := func(name, address, result, stage string, least time.Duration) probeCase {
		return probeCase{"registry-" + name, "registry", fmt.Sprintf("target: %q, plain_http: true", address), result,
			stage, least}
	}
	return []probeCase{
		dns("well", "ok", 0), dns("slow", "ok", probeSlow), dns("absent", "dns_error", 0),
		dns("silent", "timeout", probeTimeout),
		{"dns-dead", "dns", fmt.Sprintf("target: well.lab., server: %q", targets.dead), "dns_error", "dns", 0},
		registry("well", well, "ok", "first_byte", 0),
		registry("slow", targets.slow, "ok", "first_byte", probeSlow),
		registry("silent", targets.silent, "timeout", "first_byte", probeTimeout),
		registry("dead", targets.dead, "connect_error", "connect", 0),
		registry("refuses", targets.refuses, "bad_status", "", 0),
		{"port", "tcp", fmt.Sprintf("target: %q", well), "ok", "connect", 0},
		{"page", "http", fmt.Sprintf("target: %q", "http://"+layout.Address(layout.KubeletHealth)+"/healthz"), "ok",
			"first_byte", 0},
		{"header", "http", fmt.Sprintf("target: %q, headers: {Metadata-Flavor: %s}", ofNode(targets.flavored),
			probeFlavor), "ok", "first_byte", 0},
		{"no-header", "http", fmt.Sprintf("target: %q", ofNode(targets.flavored)), "bad_status", "", 0},
		{name: "runtime", kind: "cri", result: "ok"},
		{"api-server", "apiserver", "", "ok", "first_byte", 0},
	}
}

// awaitProbes waits until the agent has tried each probe several times.
func awaitProbes(ctx context.Context, b *bench.Bench, all []probeCase) error {
	const attempts = 4
	return b.Node.Report.Wait(ctx, fmt.Sprintf("%d attempts of each probe", attempts), 25*time.Second,
		100*time.Millisecond, func(ctx context.Context) error {
			text, err := b.Agent.Metrics(ctx)
			if err != nil {
				return err
			}
			for _, p := range all {
				n, err := metrics.Sum(text, "podlapse_probe_attempts_total", `probe="`+p.name+`"`)
				if err != nil {
					return fmt.Errorf("count the attempts of probe %q: %w", p.name, err)
				}
				if n < attempts {
					return fmt.Errorf("probe %q has %v attempts, want %d", p.name, n, attempts)
				}
			}
			return nil
		})
}

// ofNode returns a URL with a variable instead of the node's address. With the variable, many nodes can share one
// probes file.
func ofNode(address string) string {
	return "http://" + strings.Replace(address, layout.Loopback, "$(NODE_ADDRESS)", 1) + "/"
}

// rewriteProbes replaces the probes file twice while the agent runs. The first new file is invalid, and the second new
// file has a different probe.
func rewriteProbes(ctx context.Context, b *bench.Bench, v *Verdict, file string) error {
	rewrite := func(text, what string, limit time.Duration, seen func(metrics, health string) error) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the probes file: %w", err)
		}
		v.Compared++
		return b.Node.Report.Wait(ctx, what, limit, 200*time.Millisecond, func(ctx context.Context) error {
			text, err := b.Agent.Metrics(ctx)
			if err != nil {
				return err
			}
			health, err := b.Agent.Health(ctx)
			if err != nil {
				return err
			}
			return seen(text, health)
		})
	}
	const readAgain = 15 * time.Second // the agent reads the file every 10 s
	err := rewrite("probes: [{name: broken, kind: icmp}]", "the agent to reject an invalid file", readAgain,
		func(text, health string) error {
			if !strings.Contains(health, "[-]probes down") || !strings.Contains(health, "icmp") {
				return fmt.Errorf("the agent does not report the invalid probes file: the agent's health is %s",
					health)
			}
			n, err := metrics.Sum(text, "podlapse_probe_up", `probe="port"`)
			if err == nil && n != 1 {
				err = fmt.Errorf("podlapse_probe_up is %v for the probe of the previous file, want 1", n)
			}
			return err
		})
	if err != nil {
		v.Problem("%v", err)
	}
	one := fmt.Sprintf("probes: [{name: new, kind: tcp, target: %q, interval: 1s}]",
		layout.Address(layout.RegistryPort))
	err = rewrite(one, "the agent to run only the probes in the new file", readAgain, func(text, health string) error {
		all, _ := metrics.Sum(text, "podlapse_probe_up") // 0 if unreadable
		n, err := metrics.Sum(text, "podlapse_probe_up", `probe="new"`)
		if err != nil {
			return err
		}
		if n != 1 || all != 1 {
			return fmt.Errorf("the sum of podlapse_probe_up for all probes is %v, want 1; the sum for the probe in "+
				"the new file is %v, want 1", all, n)
		}
		if strings.Contains(text, `kind="dns"`) || !strings.Contains(health, "[+]probes ok") {
			return fmt.Errorf("the agent is unhealthy or still has the previous probes: the agent's health is %s",
				health)
		}
		return nil
	})
	if err != nil {
		v.Problem("%v", err)
	}
	v.Note("the probes file was replaced twice while the agent ran: by an invalid file, and by a file with a " +
		"different probe")
	return nil
}

// probesFile writes the file with the agent's probes. The file also makes the agent probe the registries from which
// pods pull.
func probesFile(b *bench.Bench, all []probeCase, plain string) (string, error) {
	var text strings.Builder
	pace := fmt.Sprintf("interval: 1s, timeout: %s, jitter: 100ms", probeTimeout)
	text.WriteString("probes:\n")
	for _, p := range all {
		fields := p.fields
		if fields != "" {
			fields += ", "
		}
		fmt.Fprintf(&text, "- {name: %s, kind: %s, %s%s}\n", p.name, p.kind, fields, pace)
	}
	fmt.Fprintf(&text, "registries: {top: 2, plain_http: [%q], %s}\n", plain, pace)
	path := b.Node.In(b.Namespace + "-probes.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return "", fmt.Errorf("write the probes file: %w", err)
	}
	return filepath.Abs(path)
}

// checkAttempts requires that every attempt has the expected result. The average durations of the attempts and of the
// stage p.stage must be about as expected.
func (p probeCase) checkAttempts(text string, v *Verdict) {
	sum := func(name string, labels ...string) float64 {
		n, err := metrics.Sum(text, name, append([]string{`probe="` + p.name + `"`, `kind="` + p.kind + `"`},
			labels...)...)
		if err != nil {
			v.Problem("%v", err)
		}
		return n
	}
	v.Compared++
	result := `result="` + p.result + `"`
	all, right := sum("podlapse_probe_attempts_total"), sum("podlapse_probe_attempts_total", result)
	up := map[bool]float64{true: 1}[p.result == "ok"]
	if right == 0 || all != right || sum("podlapse_probe_up") != up {
		v.Problem("%v attempts of probe %s: %v have the expected result %s, want all; podlapse_probe_up is %v", all,
			p.name, right, p.result,
			sum("podlapse_probe_up"))
		return
	}
	for _, stage := range []string{p.stage, "total"} {
		if stage == "" {
			continue
		}
		labels := []string{`stage="` + stage + `"`, result}
		count := sum("podlapse_probe_duration_seconds_count", labels...)
		mean := time.Duration(sum("podlapse_probe_duration_seconds_sum", labels...) / count * float64(time.Second))
		v.Compared++
		least := p.least
		if p.result == "timeout" && stage == p.stage {
			least -= probeConnect
		}
		if count != all || mean < least || mean > p.least+probeWithin {
			v.Problem("stage %s of probe %s took %s on average over %v attempts, want %s to %s over %v attempts",
				stage, p.name, seconds(mean),
				count, seconds(p.least), seconds(p.least+probeWithin), all)
		}
		if stage == p.stage {
			v.Note("probe %s: %v attempts with result %s, %s on average in stage %s", p.name, all, p.result,
				seconds(mean), stage)
		}
	}
}

// judgeProbeLog requires that the agent logs each failing probe exactly once, and never logs a URL or a header.
func judgeProbeLog(b *bench.Bench, v *Verdict) error {
	text, err := os.ReadFile(b.Node.AgentLog())
	if err != nil {
		return fmt.Errorf("read the agent's log: %w", err)
	}
	log := string(text[max(0, strings.LastIndex(string(text), "starting podlapse agent")):])
	for _, name := range []string{"dns-silent", "dns-absent", "registry-dead", "registry-silent", "no-header"} {
		v.Compared++
		if n := strings.Count(log, `"probe":"`+name+`"`); n != 1 {
			v.Problem("the agent logged %d messages about probe %s, want 1", n, name)
		}
	}
	v.Compared++
	if strings.Contains(log, "/v2/") || strings.Contains(log, probeFlavor) {
		v.Problem("the agent must not log a URL or a header of a probe, but its log contains one")
	}
	return nil
}

// unusedAddress returns a loopback address without a listener.
func unusedAddress() (string, error) {
	listener, err := net.Listen("tcp", layout.Address(0))
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
