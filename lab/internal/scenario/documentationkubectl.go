package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/markdown"
)

// kubectlCall contains the parts of a call of kubectl.
type kubectlCall struct {
	verb      string   // kubectl's command, such as "get"; with its subcommand, such as "rollout status"
	namespace string   // value of the flag --namespace, or an empty string
	words     []string // arguments after the command, without flags
	program   []string // the program after --, with its arguments
}

// readKubectl reads a call of kubectl. For a call without a command, the verb is empty.
func readKubectl(call markdown.Call) kubectlCall {
	withValue := []string{"--namespace", "--context", "--kubeconfig", "--as", "--as-group", "-f", "--filename", "-k",
		"--kustomize", "-l", "--selector", "-o", "--output", "--field-selector", "--tail", "-c", "--container",
		"--timeout", "--for", "--from", "--type", "-p", "--patch", "--raw", "--subresource"}
	groups := []string{"rollout", "auth", "config", "create", "set", "top"}
	var read kubectlCall
	for i := 1; i < len(call); i++ {
		word := call[i]
		name, value, joined := strings.Cut(word, "=")
		if short, ok := strings.CutPrefix(word, "-n"); ok && !strings.HasPrefix(word, "--") {
			name, value, joined = "--namespace", strings.TrimPrefix(short, "="), short != ""
		}
		switch {
		case word == "--":
			read.program = call[i+1:]
			return read
		case slices.Contains(withValue, name):
			if !joined && i+1 < len(call) {
				i++
				value = call[i]
			}
			if name == "--namespace" {
				read.namespace = value
			}
		case strings.HasPrefix(word, "-") && word != "-":
		case read.verb == "":
			read.verb = word
		case slices.Contains(groups, read.verb):
			read.verb += " " + word
		default:
			read.words = append(read.words, word)
		}
	}
	return read
}

// kubectlChange reports whether a call of kubectl changes objects that the lab needs. The scenario runs such a call as
// a dry run. All other calls run normally: they change no objects, or they change only namespaced objects in the
// namespace of the documents' examples. If the scenario does not know or does not allow the command, kubectlChange
// returns an error.
func kubectlChange(call markdown.Call) (bool, error) {
	read := readKubectl(call)
	inShop := read.namespace == documentedNamespace && read.isNamespaced()
	verb, _, _ := strings.Cut(read.verb, " ")
	switch {
	case read.verb == "podlapse" || read.verb == "exec":
		own := markdown.Call(append([]string{"podlapse-agent"}, read.words...))
		if read.verb == "exec" {
			own = slices.Clone(read.program)
			if len(own) == 0 || own[0] != "/podlapse-agent" {
				return false, fmt.Errorf("the scenario allows \"kubectl exec\" only for the program /podlapse-agent")
			}
		}
		return false, readsOnly(own)
	case slices.Contains([]string{"get", "describe", "logs", "wait", "port-forward", "proxy", "version",
		"api-resources", "explain", "auth can-i", "rollout status", "rollout history", "create token"}, read.verb):
		return false, nil
	case slices.Contains([]string{"apply", "create", "delete", "label", "patch", "cordon", "uncordon"}, verb):
		return !inShop, nil
	case slices.Contains([]string{"annotate", "scale", "set", "rollout restart"}, read.verb), verb == "set":
		if !inShop {
			return false, fmt.Errorf("the scenario does not run \"kubectl %s\", because this command would change the "+
				"lab", read.verb)
		}
		return false, nil
	}
	return false, fmt.Errorf("the scenario does not know the command \"kubectl %s\"", read.verb)
}

// isNamespaced reports whether a call of kubectl concerns only namespaced objects, such as pods. For kubectl apply,
// isNamespaced assumes that files contain only namespaced objects.
func (c kubectlCall) isNamespaced() bool {
	kinds := []string{"pod", "pods", "deploy", "deployment", "deployments", "sts", "statefulset", "ds", "daemonset",
		"job", "cronjob", "configmap", "secret"}
	kind := strings.TrimPrefix(c.verb, "create ")
	switch {
	case c.verb == "apply":
		return len(c.words) == 0
	case kind == c.verb && len(c.words) > 0:
		kind, _, _ = strings.Cut(c.words[0], "/")
	}
	return slices.Contains(kinds, kind)
}

// readsOnly checks a call of podlapse-agent or curl. If an option of curl can change data, readsOnly returns an error.
// If the scenario does not know the subcommand of podlapse-agent, readsOnly also returns an error.
func readsOnly(call markdown.Call) error {
	if call[0] == "curl" {
		for _, word := range call[1:] {
			if name, _, _ := strings.Cut(word, "="); slices.Contains([]string{"-X", "--request", "-d", "--data",
				"--json", "-F", "--form", "-T", "--upload-file"}, name) {
				return fmt.Errorf("the scenario does not run curl with %s, because this option can change data", name)
			}
		}
		return nil
	}
	commands := []string{"check", "explain", "top", "pulls", "nodes", "registries", "report", "page", "replay",
		"version", "help", "completion"}
	if len(call) > 1 && !strings.HasPrefix(call[1], "-") && !slices.Contains(commands, call[1]) {
		return fmt.Errorf("the scenario does not know the command \"podlapse-agent %s\"", call[1])
	}
	return nil
}
