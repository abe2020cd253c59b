package manifests

import (
	"strings"
	"testing"
)

// Tests and the real API server use the same version of the kinds.
func TestDefinitionsAreOfTheVersionOfTheirTypes(t *testing.T) {
	for _, d := range definitions() {
		if strings.Contains(d.module, "prometheus-operator") &&
			!strings.Contains(string(read(t, "../../go.mod")), d.module+"/pkg/apis/monitoring "+d.version+"\n") {
			t.Errorf("go.mod has another version than %s", d.version)
		}
	}
}
