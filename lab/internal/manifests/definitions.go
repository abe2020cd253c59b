package manifests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// definition is the location of a CustomResourceDefinition. The CustomResourceDefinition is a file in a Go module. The
// project that defines the kind publishes this module.
type definition struct{ module, version, file string }

// definitions returns the locations of the CustomResourceDefinitions that the manifests need. The manifests need a
// CustomResourceDefinition for each kind that they use and that is not part of Kubernetes.
func definitions() []definition {
	const (
		operator        = "github.com/prometheus-operator/prometheus-operator"
		operatorVersion = "v0.91.0" // must equal the version of the operator's Go types in go.mod
		openshift       = "github.com/openshift/api"
		// The module openshift/api has no tagged versions.
		openshiftVersion = "v0.0.0-20240830023148-b7d0481c9094"
	)
	return []definition{
		{operator, operatorVersion, "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"},
		{operator, operatorVersion, "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
		{openshift, openshiftVersion,
			"security/v1/zz_generated.crd-manifests/0000_03_config-operator_01_securitycontextconstraints.crd.yaml"},
	}
}

// Definitions returns the CustomResourceDefinitions that the manifests need. If a module that contains one of these
// definitions is missing from Go's module cache, Definitions downloads the module.
func Definitions(ctx context.Context) ([][]byte, error) {
	all := definitions()
	arguments := []string{"mod", "download", "-json"}
	seen := map[string]bool{}
	for _, d := range all {
		if module := d.module + "@" + d.version; !seen[module] {
			seen[module] = true
			arguments = append(arguments, module)
		}
	}
	cmd := exec.CommandContext(ctx, "go", arguments...)
	// The command runs outside the lab's module, because the lab's go.mod does not list the downloaded modules.
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GO111MODULE=on")
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return nil, fmt.Errorf("download CustomResourceDefinitions: %w", err)
	}
	dirs := map[string]string{}
	for responses := json.NewDecoder(bytes.NewReader(out)); ; {
		var response struct{ Path, Dir, Error string }
		if err := responses.Decode(&response); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("download CustomResourceDefinitions: %w", err)
		}
		if response.Error != "" {
			return nil, fmt.Errorf("download CustomResourceDefinitions: %s", response.Error)
		}
		dirs[response.Path] = response.Dir
	}
	var texts [][]byte
	for _, d := range all {
		text, err := os.ReadFile(filepath.Join(dirs[d.module], d.file))
		if err != nil {
			return nil, fmt.Errorf("read CustomResourceDefinitions: %w", err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}
