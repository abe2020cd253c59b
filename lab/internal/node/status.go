package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// statusLine is one line in the output of the command "lab status".
type statusLine struct {
	component
	record process.Record
	health string
	well   bool
}

func (s statusLine) pid() string {
	if s.record.PID == 0 {
		return "-"
	}
	return strconv.Itoa(s.record.PID)
}

// expectedComponents returns the components that should be running. The result contains the agent only if the agent
// runs as a process.
func (n Node) expectedComponents() []component {
	all := []component{n.registryComponent(), n.etcd(), n.containerd(), n.apiServer(), n.controllerManager(),
		n.scheduler(), n.kubelet()}
	if program := n.Agent(); program != "" && n.Form() == AsProcess {
		all = append(all, n.agent(program, AgentChange{}))
	}
	return all
}

// Status prints the process and the health of every component, and the addresses of the node. If all components are
// healthy, Status returns true.
func (n Node) Status(ctx context.Context, out io.Writer) bool {
	if !n.complete() {
		if n.traces() {
			fmt.Fprintln(out, "The lab is not up. An interrupted start has left files or processes. \"make up\" or "+
				"\"make down\" removes them.")
		} else {
			fmt.Fprintln(out, "The lab is down. \"make up\" starts it.")
		}
		return false
	}
	states := n.look(ctx)
	if n.Form() == Deployed {
		states = append(states, n.daemonSetState(ctx))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tHEALTH\tLISTENS ON")
	well := true
	for _, s := range states {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Name, s.pid(), s.health, s.listensOn())
		well = well && s.well
	}
	_ = table.Flush()
	for _, s := range states {
		if !s.well && s.record.Log != "" {
			fmt.Fprintf(out, "\n%s: the last lines of %s:\n%s\n", s.Name, s.record.Log,
				indent(process.Tail(s.record.Log, 15)))
		}
	}
	fmt.Fprintln(out)
	n.Addresses(out)
	return well
}

func (n Node) look(ctx context.Context) []statusLine {
	all := n.expectedComponents()
	states := make([]statusLine, len(all))
	var looks sync.WaitGroup
	for i, c := range all {
		looks.Go(func() {
			s := statusLine{component: c}
			record, ok := n.table().Get(c.Name)
			s.record = record
			s.health, s.well = n.healthWords(ctx, c, record, ok)
			states[i] = s
		})
	}
	looks.Wait()
	return states
}

// daemonSetState returns the line for an agent that runs as a DaemonSet.
func (n Node) daemonSetState(ctx context.Context) statusLine {
	s := statusLine{component: component{Spec: process.Spec{Name: "daemonset/" + agentDaemonSet},
		ports: []int{layout.AgentPort}},
		record: process.Record{Log: n.AgentLog()}, health: "ready", well: true}
	if err := checkURL(ctx, "http://"+layout.Address(layout.AgentPort)+"/readyz"); err != nil {
		s.health, s.well = "not ready: "+err.Error(), false
	}
	return s
}

func (n Node) healthWords(ctx context.Context, c component, record process.Record,
	known bool) (words string, well bool) {
	switch {
	case !known:
		return "never started", false
	case !record.Alive():
		return "dead", false
	}
	if err := c.ready(ctx); err != nil {
		return "not ready: " + err.Error(), false
	}
	return "ready", true
}

// Addresses prints the addresses of the node and the agent.
func (n Node) Addresses(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer table.Flush()
	agent := "http://" + layout.Address(layout.AgentPort)
	if n.Agent() != "" {
		fmt.Fprintf(table, "page\t%s/\n", agent)
		fmt.Fprintf(table, "commands\t%s explain -A --server=%s\n", n.Agent(), agent)
	}
	fmt.Fprintf(table, "Kubernetes\texport KUBECONFIG=%s\n", n.AdminKubeconfig())
	if n.Programs.Kubernetes != "" {
		fmt.Fprintf(table, "kubectl\t%s\n", n.Programs.Tool("kubectl"))
	}
	if hosts, err := os.ReadFile("/etc/hosts"); err != nil || !hasName(string(hosts), layout.NodeName) {
		fmt.Fprintf(table, "hosts file\techo '%s %s' >>/etc/hosts   # required for kubectl logs, exec and "+
			"port-forward, and for kubectl podlapse without --server\n", layout.Loopback, layout.NodeName)
	}
	fmt.Fprintf(table, "CRI\tunix://%s\n", n.ContainerdSocket())
	fmt.Fprintf(table, "images\t%s\n", layout.Address(layout.RegistryPort))
	if n.Agent() != "" {
		fmt.Fprintf(table, "metrics\t%s/metrics\n", agent)
		fmt.Fprintf(table, "API\t%s/api/v1/pods\n", agent)
		fmt.Fprintf(table, "readiness\t%s/readyz?verbose\n", agent)
		fmt.Fprintf(table, "records\t%s\n", n.whereRecordsAre())
	}
	if record, ok := n.table().Get(prometheusName); ok && record.Alive() {
		fmt.Fprintf(table, "Prometheus\thttp://%s\n", layout.Address(layout.PrometheusPort))
	}
	fmt.Fprintf(table, "stack\t%s\n", n.Stack.Name)
	fmt.Fprintf(table, "logs\t%s\n", n.Logs())
}

// hasName reports whether the content of a hosts file assigns an address to a name. The kubelet listens only on
// loopback, but does not accept a loopback address as the node's address. Therefore, the API server connects to the
// kubelet by the node's name. The hosts file must map this name to the loopback address. The lab does not change the
// hosts file, because the file belongs to the machine.
func hasName(hosts, name string) bool {
	for line := range strings.Lines(hosts) {
		entry, _, _ := strings.Cut(line, "#")
		if fields := strings.Fields(entry); len(fields) > 1 && slices.Contains(fields[1:], name) {
			return true
		}
	}
	return false
}

// whereRecordsAre returns the path of the file with the agent's records. If the agent runs in a container, its records
// and its log are in the same file.
func (n Node) whereRecordsAre() string {
	if n.Form() == Deployed {
		return n.ContainerLogs(AgentNamespace, "*", "*", agentContainer) + "/*.log"
	}
	return n.AgentRecords()
}
