package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/markdown"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// documentedRun describes how the scenario runs a documented command.
type documentedRun struct {
	text  string         // text of the command, with the lab's names instead of placeholders
	helm  markdown.Call  // call of helm, or nil; the scenario does not run helm, but renders the chart itself
	until *regexp.Regexp // pattern that the output must match before an interrupt; nil if the command ends on its own
	exits bool           // true if the command must exit with status 0 after an interrupt
	stays bool           // true if the command keeps running until the end of its block
	shows bool           // true if the command must print text on standard output
}

// documentedPrograms returns the programs that documented commands can call.
func documentedPrograms() []string {
	return []string{"kubectl", "helm", "podlapse-agent", "curl", "jq", "sed", "head", "tail", "cut", "grep", "sort",
		"printf", "echo", "sha256sum"}
}

// documentedNames maps the placeholders in the documents to names in the lab.
func documentedNames(agentPod string) map[string]string {
	return map[string]string{
		"NODE": layout.NodeName, "NAMESPACE": documentedNamespace, "NS": documentedNamespace,
		"POD": documentedSet + "-0", "DEPLOYMENT": documentedDeployment, "NAME": documentedDeployment,
		"AGENT-POD": agentPod, "AGENT_POD": agentPod, "REGISTRY": layout.Address(layout.RegistryPort),
		"CONTEXT": "lab",
	}
}

// documentedExamples maps object names in docs/cli.md to names in the lab. These objects belong to the example cluster
// of docs/cli.md. Other tests compare the output in docs/cli.md with the output of the commands.
func documentedExamples() map[string]string {
	return map[string]string{"worker-1": layout.NodeName, "worker-2": layout.NodeName, "cart-b": documentedSet + "-0",
		"mail-b":          documentedSet + "-0",
		"deploy/checkout": "deploy/" + documentedDeployment, "deploy/web": "deploy/" + documentedDeployment}
}

var (
	// The pattern "example" matches an argument that can be the name of an object in the example cluster.
	example = regexp.MustCompile(`(^|[\s=])([a-z]+(?:[/-][a-z0-9]+)+)`)
	// The pattern "placeholder" matches a word in capital letters that is neither a flag nor a shell variable.
	placeholder = regexp.MustCompile(`(^|[^$A-Za-z0-9_{-])([A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*)\b(=?)`)
	agentPort   = regexp.MustCompile(`( port-forward \S+(?: -n \S+)?) (?:9717:)?9717\b`)
	inAgents    = regexp.MustCompile(`(-n|--namespace)[ =]` + node.AgentNamespace + `\b`)
)

// planDocumented describes how the scenario runs a command. If the scenario cannot run the command, planDocumented
// returns an error that tells the developer what to change.
func planDocumented(command markdown.Command, names map[string]string) (documentedRun, error) {
	fail := func(format string, arguments ...any) (documentedRun, error) {
		return documentedRun{}, fmt.Errorf("%s:%d: the scenario cannot run the command %s: %s", command.File,
			command.Line, firstLine(command.Text), fmt.Sprintf(format, arguments...))
	}
	const mark = `run the command in the scenario "documentation", or write "<!-- not run: REASON -->" above its block`
	for _, call := range command.Calls {
		if !slices.Contains(documentedPrograms(), call[0]) {
			return fail("the scenario has no program %s: %s", call[0], mark)
		}
	}
	text, unknown := replacePlaceholders(command.Text, names)
	if unknown != "" {
		return fail("the placeholder %s has no name in documentedNames", unknown)
	}
	run := documentedRun{text: text, stays: command.Background}
	single := len(command.Calls) == 1
	for _, call := range command.Calls {
		switch call[0] {
		case "helm":
			if !single {
				return fail("helm must be the only program of its command: %s", mark)
			}
			run.helm = call
		case "kubectl":
			change, err := kubectlChange(call)
			if err != nil {
				return fail("%v: %s", err, mark)
			}
			if change && (!single || strings.Contains(run.text, "<<")) {
				return fail("a command that changes objects must call only kubectl, without a here document: %s", mark)
			}
			if change {
				run.text += " --dry-run=server"
			}
			run.shows = readKubectl(call).verb == "podlapse"
		case "podlapse-agent", "curl":
			if err := readsOnly(call); err != nil {
				return fail("%v: %s", err, mark)
			}
		}
		if until, exits := documentedEnd(call); until != "" {
			run.until, run.exits = regexp.MustCompile(until), exits
		}
	}
	if run.stays && run.until == nil {
		return fail("a command in the background needs an entry in documentedEnd")
	}
	// The lab's agent already listens on port 9717 of the machine, so the port-forward uses a free port.
	run.text = agentPort.ReplaceAllString(run.text, "$1 :9717")
	return run, nil
}

// replacePlaceholders replaces placeholders in a command with names in the lab. replacePlaceholders also replaces the
// names of objects in the example cluster. The result "unknown" is the first placeholder that has no name in the lab,
// or an empty string.
func replacePlaceholders(text string, names map[string]string) (replaced, unknown string) {
	replaced = placeholder.ReplaceAllStringFunc(text, func(match string) string {
		parts := placeholder.FindStringSubmatch(match)
		word := parts[2]
		if parts[3] != "" || len(word) < 2 || word == "EOF" { // an assignment, a single letter, or EOF
			return match
		}
		if word == "POD" && inAgents.MatchString(text) {
			word = "AGENT-POD"
		}
		name, ok := names[word]
		if !ok && unknown == "" {
			unknown = word
		}
		return parts[1] + name
	})
	replaced = example.ReplaceAllStringFunc(replaced, func(match string) string {
		parts := example.FindStringSubmatch(match)
		if name, ok := documentedExamples()[parts[2]]; ok {
			return parts[1] + name
		}
		return match
	})
	return replaced, unknown
}

// documentedEnd returns a pattern for a command that does not end on its own. When the command's standard output
// matches the pattern, the scenario can interrupt the command. The result "exits" is true if the program handles the
// interrupt and must exit with status 0. For a command that ends on its own, documentedEnd returns an empty pattern.
func documentedEnd(call markdown.Call) (until string, exits bool) {
	const anyLine = `\n`
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(call, word) })
	}
	verb := readKubectl(call).verb
	own := call[0] == "podlapse-agent" || verb == "podlapse"
	switch {
	case call[0] == "curl" && has("-N", "--no-buffer"):
		return `(?m)^data:`, false
	case call[0] != "kubectl" && !own:
		return "", false
	case own && has("page"):
		return `http://\S+`, true
	case has("-w", "--watch"), has("logs") && has("-f", "--follow"):
		return anyLine, own
	case own:
		return "", false
	}
	switch verb {
	case "port-forward":
		return `Forwarding from`, true
	case "proxy":
		return `Starting to serve on`, false
	}
	return "", false
}
