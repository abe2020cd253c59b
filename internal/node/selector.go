package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Selector selects the add-on pods. The zero Selector selects no pods.
type Selector struct {
	namespaces []string // selected namespaces; empty means all namespaces
	labels     labels.Selector
}

// DefaultSelector selects the namespace of Kubernetes' own add-ons.
const DefaultSelector = "kube-system"

// ParseSelector parses [NAMESPACE,…][:LABELS]. Without a namespace, the selector selects pods of all namespaces.
// LABELS has the syntax of kubectl get -l.
func ParseSelector(given string) (Selector, error) {
	names, wanted, labeled := strings.Cut(given, ":")
	s := Selector{labels: labels.Everything()}
	if names != "" {
		s.namespaces = strings.Split(names, ",")
	}
	for _, name := range s.namespaces {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return Selector{}, fmt.Errorf("invalid namespace %q: the selector must have the form "+
				"[NAMESPACE,…][:LABELS], for example kube-system or :app.kubernetes.io/part-of=platform", name)
		}
	}
	if labeled {
		var err error
		if s.labels, err = labels.Parse(wanted); err != nil {
			return Selector{}, fmt.Errorf("invalid label selector %q: must have the syntax of kubectl get -l, for "+
				"example k8s-app or tier=node: %w", wanted, err)
		}
	}
	if len(s.namespaces) == 0 && s.labels.Empty() {
		return Selector{}, errors.New("the selector selects all pods: add a namespace or a label, for example " +
			"kube-system or :app.kubernetes.io/part-of=platform")
	}
	return s, nil
}

// AnyNamespace reports whether the selector has labels but no namespaces. If AnyNamespace returns true, every user who
// can create pods in at least one namespace can create an add-on.
func (s Selector) AnyNamespace() bool { return s.labels != nil && len(s.namespaces) == 0 }

func (s Selector) matches(pod *corev1.Pod) bool {
	return s.labels != nil && (len(s.namespaces) == 0 || slices.Contains(s.namespaces, pod.Namespace)) &&
		s.labels.Matches(labels.Set(pod.Labels))
}
