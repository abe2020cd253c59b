package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/podlapse/podlapse/lab/internal/build"
)

// CreatePolicy creates the ValidatingAdmissionPolicy and its binding that a component of the manifests has in a file. They go
// with the bench.
func (b *Bench) CreatePolicy(ctx context.Context, component, file string) error {
	source, err := build.FindSource()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(source), "manifests", "components", component, file))
	if err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	documents := bytes.Split(text, []byte("\n---\n"))
	var policy admissionv1.ValidatingAdmissionPolicy
	var binding admissionv1.ValidatingAdmissionPolicyBinding
	if len(documents) != 2 {
		return fmt.Errorf("read the policy: %s has %d documents, want a policy and its binding", file, len(documents))
	}
	for i, into := range []any{&policy, &binding} {
		if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
	}
	meta, err := b.clusterMeta(ctx, policy.Name)
	if err != nil {
		return err
	}
	meta.Name = b.Namespace + "-" + policy.Name // which may have no colon
	policy.ObjectMeta, binding.ObjectMeta, binding.Spec.PolicyName = meta, meta, meta.Name
	const path = "/apis/admissionregistration.k8s.io/v1/"
	if err := b.Kube.Create(ctx, path+"validatingadmissionpolicies", policy); err != nil {
		return fmt.Errorf("create the policy: %w", err)
	}
	if err := b.Kube.Create(ctx, path+"validatingadmissionpolicybindings", binding); err != nil {
		return fmt.Errorf("bind the policy: %w", err)
	}
	return nil
}
