// Package resourcetype lists resource types with their names in kubectl: pods, nodes, and the workloads that own pods.
// The package does no I/O and reads no clock. The command line and the agent's read API use the package.
package resourcetype

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Type is a resource type that a request or a command can name.
type Type struct {
	Kind  string   // as in owner references, for example Deployment
	Group string   // API group; empty for the core group
	Names []string // kubectl's names for the type; completion suggests the first name
}

// All returns the known resource types: pods, nodes, and the workloads that own pods.
func All() []Type {
	return []Type{
		{"Pod", "", []string{"pod", "pods", "po"}},
		{"Deployment", "apps", []string{"deploy", "deployment", "deployments"}},
		{"StatefulSet", "apps", []string{"sts", "statefulset", "statefulsets"}},
		{"DaemonSet", "apps", []string{"ds", "daemonset", "daemonsets"}},
		{"ReplicaSet", "apps", []string{"rs", "replicaset", "replicasets"}},
		{"ReplicationController", "", []string{"rc", "replicationcontroller", "replicationcontrollers"}},
		{"Job", "batch", []string{"job", "jobs"}},
		{"CronJob", "batch", []string{"cronjob", "cronjobs", "cj"}},
		{"Node", "", []string{"node", "nodes", "no"}},
	}
}

// apiVersion matches the version of an API group, such as v1 or v1beta1.
var apiVersion = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

// KindOf returns the kind of a resource type. The argument "word" names the type as in kubectl: TYPE, TYPE.GROUP or
// TYPE.VERSION.GROUP. For example, deploy, deployment.apps and deployments.v1.apps have the kind Deployment. KindOf
// ignores the case.
func KindOf(word string) (kind string, known bool) {
	name, rest, qualified := strings.Cut(strings.ToLower(word), ".")
	version, group, versioned := strings.Cut(rest, ".")
	for _, t := range All() {
		if slices.Contains(t.Names, name) && (!qualified || rest == t.Group && rest != "" ||
			versioned && apiVersion.MatchString(version) && group == t.Group) {
			return t.Kind, true
		}
	}
	return "", false
}

// Similar returns the name of a resource type that is most similar to the word. A name of four to seven letters can
// differ from the word in one letter, and a longer name in two letters. If no name is similar, the result is empty.
// Similar ignores names of up to three letters, because many words are similar to them. For example, prod is similar
// to pod, but is usually a namespace.
func Similar(word string) string {
	word = strings.ToLower(word)
	best, least := "", maxDistance+1
	for _, t := range All() {
		for _, name := range t.Names {
			if abs := max(len(word)-len(name), len(name)-len(word)); abs > maxDistance {
				continue // ComputeDistance would be slow for a long word
			}
			d := levenshtein.ComputeDistance(word, name)
			if d <= min(maxDistance, len(name)/4) && d < least {
				best, least = name, d
			}
		}
	}
	return best
}

// maxDistance is the largest edit distance between a word and a similar name.
const maxDistance = 2

// OwnerKind returns the kind of an owner. The argument "word" is the owner's resource type in a request. If KindOf
// does not know the word, OwnerKind returns the word unchanged, because custom resources can also own pods.
func OwnerKind(word string) string {
	if kind, known := KindOf(word); known {
		return kind
	}
	return word
}
