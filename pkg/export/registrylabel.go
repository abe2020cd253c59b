package export

import "strings"

// maxRegistries bounds the label registry: anyone who may create a pod can invent host names.
const maxRegistries = 16

const (
	registryOther   = "other"   // came after the first maxRegistries
	registryUnknown = "unknown" // the image reference does not tell
)

// registryLabels gives the first registries to come a label value of their own. Not safe for
// concurrent use.
type registryLabels struct{ known map[string]struct{} }

func newRegistryLabels() *registryLabels {
	return &registryLabels{known: make(map[string]struct{}, maxRegistries)}
}

func (l *registryLabels) label(registry string) string {
	registry = strings.ToValidUTF8(registry, "") // a label value must be
	if registry == "" {
		return registryUnknown
	}
	if _, ok := l.known[registry]; ok {
		return registry
	}
	if len(l.known) == maxRegistries {
		return registryOther
	}
	l.known[registry] = struct{}{}
	return registry
}
