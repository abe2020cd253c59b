package manifests

import (
	"strings"
	"testing"
)

// The tests and the lab's API server must use the same version of these kinds.
func TestDefinitionsMatchVersionOfGoTypes(t *testing.T) {
	for _, d := range definitions() {
		if strings.Contains(d.module, "prometheus-operator") &&
			!strings.Contains(string(read(t, "../../go.mod")), d.module+"/pkg/apis/monitoring "+d.version+"\n") {
			t.Errorf("go.mod does not have version %s of %s", d.version, d.module)
		}
	}
}
