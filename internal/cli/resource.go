package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/resourcetype"
	"github.com/podlapse/podlapse/internal/terminal"
)

// Kinds of resources that are not workloads. For workloads, the field "kind" has the same value as in owner references,
// for example Deployment.
const (
	kindPod  = "Pod"
	kindNode = "Node"
)

// namespaceType lists kubectl's names for the type Namespace.
var namespaceType = []string{"namespace", "namespaces", "ns"}

// otherTypes lists kubectl's names of common resources that have no start-ups. If an argument starts with one of these
// names, for example svc/web, the command fails. The command does not read svc/web as the pod "web" in the namespace
// "svc", because namespaces rarely have the name of a resource type.
var otherTypes = []string{
	"service", "services", "svc", "ingress", "ingresses", "ing", "configmap", "configmaps", "cm", "secret", "secrets",
	"persistentvolumeclaim", "persistentvolumeclaims", "pvc", "persistentvolume", "persistentvolumes", "pv",
	"event", "events", "endpoints", "ep", "serviceaccount", "serviceaccounts", "sa",
	"horizontalpodautoscaler", "horizontalpodautoscalers", "hpa", "poddisruptionbudget", "pdb", "networkpolicy",
	"netpol",
}

const knownTypes = "pod, deploy, sts, ds, rs, rc, job, cronjob and node"

// resource is a resource that the user names in the arguments.
type resource struct {
	kind            string
	namespace, name string // namespace is empty for a node
	// typo is a hint for the user about a possible typing error. The field is set only if the name of the pod or of its
	// namespace is similar to a resource type.
	typo string
}

// String returns the kind, the namespace and the name of the resource for messages.
func (r resource) String() string {
	text := terminal.ShortName(r.name)
	if r.namespace != "" {
		text = terminal.ShortName(r.namespace) + "/" + text
	}
	return strings.ToLower(r.kind) + " " + text
}

// resources parses the arguments. The method accepts the forms of kubectl: TYPE/NAME, TYPE NAME..., and the NAME of a
// pod without a type. If NAMESPACE is not a resource type, the method also accepts NAMESPACE/POD. If the result is
// empty, the arguments select all pods.
func (r agentAccess) resources(args []string) ([]resource, error) {
	if len(args) == 0 {
		return nil, nil
	}
	kind, isType := resourcetype.KindOf(args[0])
	var found []resource
	switch {
	case isType && len(args) == 1 && kind == kindPod:
		return nil, nil
	case isType && len(args) == 1:
		return nil, fmt.Errorf("a name is required after the type %s: use %s/NAME, or use \"pods\" to list all pods. "+
			"If %s is the name of a pod, use pod/%s", args[0], args[0], args[0], args[0])
	case isType:
		for _, name := range args[1:] {
			if strings.Contains(name, "/") {
				return nil, fmt.Errorf("invalid name %q after the type %s: use either TYPE NAME... or TYPE/NAME",
					terminal.ShortName(name), args[0])
			}
			found = append(found, resource{kind: kind, name: name})
		}
	default:
		for _, arg := range args {
			one, err := r.parseResource(arg)
			if err != nil {
				return nil, err
			}
			found = append(found, one)
		}
		if len(args) > 1 && !strings.Contains(strings.Join(args, ""), "/") {
			found[0].typo = typoIn(args[0], "a pod", " "+strings.Join(args[1:], " "))
		}
	}
	return r.withNamespaces(found)
}

// parseResource reads an argument of the form TYPE/NAME, NAMESPACE/POD or POD.
func (r agentAccess) parseResource(arg string) (resource, error) {
	first, name, hasSlash := strings.Cut(arg, "/")
	if !hasSlash {
		first, name = "pod", arg
	}
	if first == "" || name == "" || strings.Contains(name, "/") {
		return resource{}, fmt.Errorf("invalid resource %q: must be POD, TYPE/NAME or NAMESPACE/POD",
			terminal.ShortName(arg))
	}
	if kind, ok := resourcetype.KindOf(first); ok {
		return resource{kind: kind, name: name}, nil
	}
	dotted := strings.Contains(first, ".") // the name of a namespace contains no dot
	if dotted || slices.Contains(slices.Concat(otherTypes, namespaceType), strings.ToLower(first)) {
		first, name := terminal.ShortName(first), terminal.ShortName(name)
		text := fmt.Sprintf("resources of type %s have no start-ups: use one of %s", first, knownTypes)
		switch {
		case slices.Contains(namespaceType, strings.ToLower(first)):
			text += fmt.Sprintf(". To list the pods of namespace %s, use -n %s", name, name)
		case !dotted:
			text += fmt.Sprintf(". If %s is a namespace, use -n %s %s", first, first, name)
		}
		return resource{}, errors.New(text)
	}
	one := resource{kind: kindPod, namespace: first, name: name}
	if hasSlash {
		one.typo = typoIn(first, "a namespace", "/"+name)
	}
	if n := r.target.namespace; n != "" && n != first {
		text := fmt.Sprintf(
			"pod %s is in namespace %s, but -n specifies namespace %s: use only one of the two namespaces",
			terminal.ShortName(arg), terminal.ShortName(first), terminal.ShortName(n))
		if one.typo != "" {
			text += ". " + one.typo
		}
		return resource{}, errors.New(text)
	}
	return one, nil
}

// typoIn returns a hint if a word is similar to a resource type. If the word is not similar to a resource type, the
// result is empty. The argument "taken" is the command's interpretation of the word, for example "a namespace". The
// argument "rest" is the text after the word, for example "/web".
func typoIn(word, taken, rest string) string {
	similar := resourcetype.Similar(word)
	if similar == "" {
		return ""
	}
	return fmt.Sprintf("If %s is not %s, did you mean %s%s?", terminal.ShortName(word), taken, similar,
		terminal.ShortName(rest))
}

// withNamespaces adds the current namespace to resources that have no namespace.
func (r agentAccess) withNamespaces(found []resource) ([]resource, error) {
	if r.target.selector != "" && slices.ContainsFunc(found, func(f resource) bool { return f.kind != kindNode }) {
		return nil, errors.New("-l cannot be combined with the names of pods or workloads: remove -l, or remove " +
			"the names to list all pods that match -l")
	}
	for i := range found {
		f := &found[i]
		switch {
		case f.kind == kindNode || f.namespace != "":
			continue
		case r.target.allNamespaces:
			return nil, fmt.Errorf("the namespace of %s is required: replace -A with -n NAMESPACE", f)
		case r.namespace == "":
			return nil, fmt.Errorf("the namespace of %s is unknown: add -n NAMESPACE", f)
		}
		f.namespace = r.namespace
	}
	return found, nil
}
