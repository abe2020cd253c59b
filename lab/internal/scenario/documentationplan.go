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

// documentedRun describes the execution of a documented command.
type documentedRun struct {
	text  string         // text of the command, with the lab's names instead of placeholders
	helm  markdown.Call  // arguments of helm, if the command calls helm; the scenario renders the chart itself
	until *regexp.Regexp // after this output, the scenario interrupts the command; nil if the command ends on its own
	stays bool           // the command keeps running until the end of its block
	shows bool           // the command must print some output
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

// documentedExamples maps the names of the example cluster in docs/cli.md to names in the lab. Other tests compare the
// output in docs/cli.md with the output of the commands.
func documentedExamples() map[string]string {
	return map[string]string{"worker-1": layout.NodeName, "worker-2": layout.NodeName, "cart-b": documentedSet + "-0",
		"deploy/auth": "deploy/" + documentedDeployment, "deploy/web": "deploy/" + documentedDeployment}
}

var (
	// example matches an argument that can be a name of the example cluster.
	example = regexp.MustCompile(`(^|[\s=])([a-z]+(?:[/-][a-z0-9]+)+)`)
	// placeholder matches a word in capital letters that is neither a flag nor a shell variable.
	placeholder = regexp.MustCompile(`(^|[^$A-Za-z0-9_{-])([A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*)\b(=?)`)
	agentPort   = regexp.MustCompile(`( port-forward \S+(?: -n \S+)?) (?:9717:)?9717\b`)
	inAgents    = regexp.MustCompile(`(-n|--namespace)[ =]` + node.AgentNamespace + `\b`)
)

// planDocumented returns a description of the execution of a command. If the scenario cannot run the command, the error
// contains a remedy.
func planDocumented(command markdown.Command, names map[string]string) (documentedRun, error) {
	fail := func(format string, arguments ...any) (documentedRun, error) {
		return documentedRun{}, fmt.Errorf("%s:%d: %s: %s", command.File, command.Line, firstLine(command.Text),
			fmt.Sprintf(format, arguments...))
	}
	const mark = `run it in the scenario documentation, or write "<!-- not run: REASON -->" above its block`
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
			if change && !single {
				return fail("a command that changes objects must call only kubectl: %s", mark)
			}
			if change {
				run.text += " --dry-run=server"
			}
			run.shows = len(call) > 1 && call[1] == "podlapse"
		}
		if until := documentedEnd(call); until != "" {
			run.until = regexp.MustCompile(until)
		}
	}
	if run.stays && run.until == nil {
		return fail("a command in the background needs an entry in documentedEnd")
	}
	// The lab's agent already listens on port 9717 of the machine, so the port-forward uses a free port.
	run.text = agentPort.ReplaceAllString(run.text, "$1 :9717")
	return run, nil
}

// replacePlaceholders replaces the placeholders and the names of the example cluster in a command. If a placeholder has
// no name in the lab, replacePlaceholders also returns this placeholder.
func replacePlaceholders(text string, names map[string]string) (replaced, unknown string) {
	replaced = placeholder.ReplaceAllStringFunc(text, func(match string) string {
		parts := placeholder.FindStringSubmatch(match)
		word := parts[2]
		if parts[3] != "" || len(word) < 2 || word == "EOF" { // no placeholder, but an assignment or part of a script
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

// kubectlChange reports whether a call of kubectl changes objects that the lab needs. For such a call, the API server
// must only check the change, in a dry run. Changes in the documents' namespace are real. If kubectl has no dry run for
// a change, kubectlChange returns an error.
func kubectlChange(call markdown.Call) (bool, error) {
	verb := kubectlVerb(call)
	inShop := slices.Contains(call, documentedNamespace) || slices.Contains(call, "--namespace="+documentedNamespace)
	switch verb {
	case "apply", "create", "delete", "label", "patch", "cordon", "uncordon":
		if verb == "create" && slices.Contains(call, "token") {
			return false, nil
		}
		return !inShop, nil
	case "annotate", "scale", "set", "rollout restart":
		if !inShop {
			return false, fmt.Errorf("kubectl %s would change the lab", verb)
		}
	case "drain", "edit", "replace", "taint", "debug", "cp":
		return false, fmt.Errorf("kubectl %s is not supported", verb)
	}
	return false, nil
}

// kubectlVerb returns the command of a call of kubectl. It skips flags before the command.
func kubectlVerb(call markdown.Call) string {
	withValue := []string{"-n", "--namespace", "--context", "--kubeconfig", "--as", "--as-group"}
	for i := 1; i < len(call); i++ {
		switch word := call[i]; {
		case slices.Contains(withValue, word):
			i++
		case strings.HasPrefix(word, "-"):
		case word == "rollout" && i+1 < len(call):
			return word + " " + call[i+1]
		default:
			return word
		}
	}
	return ""
}

// documentedEnd returns a pattern for the output of a command that does not end on its own. When the output matches,
// the scenario can interrupt the command. For all other commands, documentedEnd returns an empty string.
func documentedEnd(call markdown.Call) string {
	const anyLine = `\n`
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(call, word) })
	}
	switch {
	case call[0] == "curl" && has("-N", "--no-buffer"):
		return `(?m)^data:` // curl also prints lines about its progress
	case call[0] != "kubectl" && call[0] != "podlapse-agent":
		return ""
	case kubectlVerb(call) == "port-forward":
		return `Forwarding from`
	case kubectlVerb(call) == "proxy":
		return `Starting to serve on`
	case has("podlapse") && has("page"):
		return `http://\S+`
	case has("-w", "--watch"), has("logs") && has("-f", "--follow"):
		return anyLine
	}
	return ""
}
